// exp and expm1.
//
// x = n ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite: ln 2 in two parts), then e^x = 2^n (1 + r + r^2 q(r)). In most
// functions n times the first part of ln 2 is exact, and r stays in two parts, so its rounding costs nothing. exp of
// floats, which softmax and logsumexp wait for, takes half as many instructions: each step is one fused multiply-add.
// No branches: a loop over exp vectorises.
#pragma once

#include <tally/core/math/fused.h>
#include <tally/core/math/polynomial.h>
#include <tally/core/math/scale.h>

namespace tally::math::inline TALLY_MATH_ISA {

namespace detail {

template <Real T> struct ExpConstants;

template <> struct ExpConstants<float> {
  static constexpr float kLn2High = 0x1.62e4p-1f;        // 15 bits
  static constexpr float kLn2Low = 0x1.7f7d1cp-20f;      // ln 2 - kLn2High
  static constexpr float kLowest = -105, kHighest = 89;  // beyond: 0 and infinity
  // For fused steps: n times the first part is subtracted before it is rounded.
  static constexpr float kLn2 = 0x1.62e43p-1f, kLn2Rest = -0x1.05c61p-29f, kLog2E = 0x1.715476p+0f;
};

template <> struct ExpConstants<double> {
  static constexpr double kLn2High = 0x1.62e42fefa3p-1;     // 41 bits
  static constexpr double kLn2Low = 0x1.3de6af278ece6p-42;  // ln 2 - kLn2High
  static constexpr double kLowest = -746, kHighest = 710;   // beyond: 0 and infinity
};

// q(r) with e^r = 1 + r + r^2 q(r) on |r| <= 0.3467, minimax for the relative error of e^r.
TALLY_HD constexpr float exp_tail(float r) {  // 2^-28.0
  return polynomial(r, 0.49999994f, 0.166665211f, 0.041668389f, 0.00836873613f, 0.00138145604f);
}
TALLY_HD constexpr double exp_tail(double r) {  // 2^-56.5
  return polynomial(r, 0.50000000000000111, 0.16666666666666413, 0.041666666666529878, 0.0083333333334948047,
                    0.0013888888943714855, 0.00019841269506032941, 2.4801493001298102e-05, 2.7557586673223431e-06,
                    2.7630286288760552e-07, 2.5000028332510362e-08);
}

/// Added and taken off again, it rounds to an integer, which then sits in the low bits of the sum.
template <Real T> inline constexpr T kShifter = static_cast<T>(Bits<T>{3} << (Ieee<T>::kMantissa - 1));

/// e^x as 2^n (1 + (head + rest)); head is exact.
template <Real T> struct ReducedExp { T n, head, rest; };

/// Reduces e^(x + tail), for a tail far below x.
template <Real T> TALLY_HD constexpr ReducedExp<T> reduce_exp(T x, T tail) {
  constexpr T kLog2E = static_cast<T>(1.4426950408889634);
  constexpr T kShift = kShifter<T>;
  const T n = (x * kLog2E + kShift) - kShift;
  const T head = x - n * ExpConstants<T>::kLn2High;
  const T low = n * ExpConstants<T>::kLn2Low - tail;
  const T r = head - low;
  return {n, head, r * r * exp_tail(r) - low};
}

/// e^r with fused steps, |r| <= 0.3467; times a power of two.
TALLY_HD constexpr float fused_exp_of_reduced(float r, float power = 1) {
  return fused_polynomial(r, power, power, power * 0.49999994f, power * 0.166665211f, power * 0.041668389f,
                          power * 0.00836873613f, power * 0.00138145604f);
}
/// x - n ln 2, for an integral n; exact up to the rest of ln 2.
TALLY_HD constexpr float fused_reduced(float x, float n) {
  return fused(-n, ExpConstants<float>::kLn2Rest, fused(-n, ExpConstants<float>::kLn2, x));
}

/// y * 2^n for an integral n of up to twice the exponent range: two factors, of which only the second can round.
template <Real T> TALLY_HD constexpr T times_power(T y, T n) {
  constexpr T kShift = kShifter<T>;
  const Bits<T> whole = to_bits(n + kShift) - to_bits(kShift);
  const Bits<T> half = ((whole + 4096) >> 1) - 2048;  // the offset makes a logical shift halve negative n too
  const Bits<T> bias = Ieee<T>::kBias;
  return y * bit_cast<T>((half + bias) << Ieee<T>::kMantissa) *
         bit_cast<T>((whole - half + bias) << Ieee<T>::kMantissa);
}

// NaN fails both comparisons and so passes through.
template <Real T> TALLY_HD constexpr T clamp_keeping_nan(T x, T low, T high) {
  x = select(high < x, high, x);
  return select(x < low, low, x);
}

/// e^(x + tail); the tail carries digits below x's last.
template <Real T> TALLY_HD constexpr T exp_of_sum(T x, T tail) {
  const auto e = reduce_exp(clamp_keeping_nan(x, ExpConstants<T>::kLowest, ExpConstants<T>::kHighest), tail);
  return times_power(1 + (e.head + e.rest), e.n);
}

}  // namespace detail

/// e^x, error below 1 ulp (of floats 0.895), subnormal results included; exp(-inf) = +0, exp(+inf) = inf.
template <Real T> TALLY_HD constexpr T exp(T x) { return detail::exp_of_sum(x, T{0}); }
template <> TALLY_HD constexpr float exp(float x) {
  using Constants = detail::ExpConstants<float>;
  x = detail::clamp_keeping_nan(x, Constants::kLowest, Constants::kHighest);
  const float n = detail::fused(x, Constants::kLog2E, detail::kShifter<float>) - detail::kShifter<float>;
  return detail::times_power(detail::fused_exp_of_reduced(detail::fused_reduced(x, n)), n);
}

/// e^x - 1 without cancellation, error below 1.3 ulp; keeps the sign of zero, expm1(-inf) = -1.
template <Real T> TALLY_HD constexpr T expm1(T x) {
  // 2^n (((1 - 2^-n) + head) + rest); from n = 64 on the power no longer counts, below -60 the result is -1.
  const auto e = detail::reduce_exp(detail::clamp_keeping_nan(x, T{-60}, detail::ExpConstants<T>::kHighest), T{0});
  const T one_less = 1 - detail::times_power(T{1}, select(e.n < 64, -e.n, T{-64}));
  return copysign(detail::times_power((one_less + e.head) + e.rest, e.n), x);
}

}  // namespace tally::math::inline TALLY_MATH_ISA
