// Powers of two: taking the exponent off a number and putting it back.
#pragma once

#include <tally/core/math/bits.h>

namespace tally::math::inline TALLY_MATH_ISA {

namespace detail {

TALLY_HD constexpr int clamp(int e, int low, int high) { return e < low ? low : (high < e ? high : e); }

/// 2^e for an e whose power is a normal number.
template <Real T> TALLY_HD constexpr T power_of_two(int e) {
  return bit_cast<T>(static_cast<Bits<T>>(e + Ieee<T>::kBias) << Ieee<T>::kMantissa);
}

}  // namespace detail

/// x * 2^e, rounded once: exact unless the result is subnormal or overflows to infinity.
TALLY_HD constexpr float scale(float x, int e) {
  // No product of a float with these powers leaves double's normal range, so only the conversion rounds.
  return static_cast<float>(static_cast<double>(x) * detail::power_of_two<double>(detail::clamp(e, -300, 300)));
}

/// x * 2^e, rounded once: exact unless the result is subnormal or overflows to infinity.
TALLY_HD constexpr double scale(double x, int e) {
  // Three factors reach every e. Going down, steps of 2^-969 = 2^(53 - 1022) leave an intermediate inexact only where
  // the result is zero anyway, so that the last factor does the one rounding.
  int rest = detail::clamp(e, -2200, 2200);
  for (int step = 0; step < 2; ++step) {
    const int part = rest < -1022 ? -969 : (rest > 1023 ? 1023 : 0);
    x *= detail::power_of_two<double>(part);
    rest -= part;
  }
  return x * detail::power_of_two<double>(detail::clamp(rest, -1022, 1023));
}

/// The e for which |x| * 2^-e lies in [0.5, 1), also for subnormal x; 0 for zero, infinity and NaN.
template <Real T> TALLY_HD constexpr int exponent(T x) {
  if (x == 0 || !isfinite(x)) return 0;
  const Bits<T> smallest_normal = Bits<T>{1} << Ieee<T>::kMantissa;
  const bool subnormal = (to_bits(x) & ~Masks<T>::kSign) < smallest_normal;
  constexpr int kUp = Ieee<T>::kMantissa + 1;
  const T normal = subnormal ? x * detail::power_of_two<T>(kUp) : x;
  const int biased = static_cast<int>((to_bits(normal) & ~Masks<T>::kSign) >> Ieee<T>::kMantissa);
  return biased - (Ieee<T>::kBias - 1) - (subnormal ? kUp : 0);
}

}  // namespace tally::math::inline TALLY_MATH_ISA
