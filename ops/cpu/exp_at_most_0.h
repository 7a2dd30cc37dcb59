// The exponential of softmax's loops on the CPU.
#pragma once

#include <tally/core/math/exp.h>

namespace tally::detail::inline TALLY_MATH_ISA {

/// math::exp of a number that is at most 0, or NaN: its bits, without the care for large results.
template <class C> [[gnu::always_inline]] inline C exp_at_most_0(C x) {
  using Constants = math::detail::ExpConstants<C>;
  // Raised by 2^64 no result is subnormal, so that taking it off again rounds once. The low bits of `power` are n + 64.
  constexpr C kShift = math::detail::kShifter<C> + 64;
  const C clamped = x < Constants::kLowest ? Constants::kLowest : x;
  const C power = clamped * static_cast<C>(1.4426950408889634) + kShift, n = power - kShift;
  const C head = clamped - n * Constants::kLn2High, low = n * Constants::kLn2Low, r = head - low;
  const C y = 1 + (head + (r * r * math::detail::exp_tail(r) - low));
  constexpr int kMantissa = math::Ieee<C>::kMantissa;
  using Bits = math::Bits<C>;
  const Bits raised = (math::to_bits(power) << kMantissa) + (static_cast<Bits>(math::Ieee<C>::kBias) << kMantissa);
  return y * math::bit_cast<C>(raised) * C(0x1p-64);
}

}  // namespace tally::detail::inline TALLY_MATH_ISA
