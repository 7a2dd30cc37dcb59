// The quick units: plain float arithmetic that gives the bits of the op's own, as long as every value is where `Wide`
// keeps its exponent at zero (or differs from it by exact powers of two) and no NaN asks to be found. What does not
// hold becomes NaN, which every merge hands on, so nothing is counted on the way and `holds` is asked once, at the end.
#pragma once

#include <tally/ops/cuda/reduce_quick_exp.cuh>
#include <tally/ops/cuda/reduce_quick_extremes.cuh>
#include <tally/ops/cuda/reduce_quick_moments.cuh>
#include <tally/ops/cuda/reduce_quick_prod.cuh>
