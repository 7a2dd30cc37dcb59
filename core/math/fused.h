// a * b + c rounded once.
#pragma once

#include <type_traits>

#include <tally/core/math/bits.h>

namespace tally::math::inline TALLY_MATH_ISA::detail {

/// In constant expressions: the product is exact in double. The sum is rounded to odd, so that rounding once more, to
/// float, does no harm (Boldo and Melquiond, 2008).
TALLY_HD constexpr float fused_in_double(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, sum = product + c;
  const double of_c = sum - product, lost = (product - (sum - of_c)) + (c - of_c);
  if (lost == 0 || lost != lost || (to_bits(sum) & 1) != 0) return static_cast<float>(sum);
  const bool away = (lost > 0) == (sum > 0);
  return static_cast<float>(bit_cast<double>(to_bits(sum) + (away ? 1 : -Bits<double>{1})));
}
/// An instruction on GPUs and on x86-64 since 2013, a call of libm's for code that is compiled for older ones.
TALLY_HD constexpr float fused(float a, float b, float c) {
  return std::is_constant_evaluated() ? fused_in_double(a, b, c) : __builtin_fmaf(a, b, c);
}

/// c0 + x * (c1 + x * (c2 + ...)), each step rounded once.
TALLY_HD constexpr float fused_polynomial(float, float c) { return c; }
template <class... Rest> TALLY_HD constexpr float fused_polynomial(float x, float c0, Rest... rest) {
  return fused(x, fused_polynomial(x, rest...), c0);
}

}  // namespace tally::math::inline TALLY_MATH_ISA::detail
