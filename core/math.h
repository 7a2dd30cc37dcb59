// Tally's elementary functions: the same bits under every compiler and on every device (see math/bits.h for the terms).
#pragma once

#include <tally/core/math/activation.h>
#include <tally/core/math/bits.h>
#include <tally/core/math/erf.h>
#include <tally/core/math/exp.h>
#include <tally/core/math/log.h>
#include <tally/core/math/pow.h>
#include <tally/core/math/root.h>
#include <tally/core/math/scale.h>
#include <tally/core/math/trig.h>
