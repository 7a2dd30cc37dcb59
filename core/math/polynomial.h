// A polynomial with its coefficients written where it is used, by Horner's rule from the last one.
#pragma once

#include <tally/core/hd.h>
#include <tally/core/math/isa.h>

namespace tally::math::inline TALLY_MATH_ISA::detail {

template <class T> TALLY_HD constexpr T polynomial(T, T c) { return c; }

/// c0 + x * (c1 + x * (c2 + ...)).
template <class T, class... Rest> TALLY_HD constexpr T polynomial(T x, T c0, Rest... rest) {
  return c0 + x * polynomial(x, rest...);
}

}  // namespace tally::math::inline TALLY_MATH_ISA::detail
