// Square roots, IEEE's own.
#pragma once

#include <cmath>

#include <tally/core/math/bits.h>

namespace tally::math::inline TALLY_MATH_ISA {
/// Rounded once.
template <Real T> TALLY_HD inline T sqrt(T x) { return std::sqrt(x); }

/// 1 / sqrt(x): two roundings, not the device's approximation.
template <Real T> TALLY_HD inline T rsqrt(T x) { return 1 / std::sqrt(x); }

}  // namespace tally::math::inline TALLY_MATH_ISA
