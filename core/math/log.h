// log and log1p.
//
// x = 2^k (1 + f) with 1 + f in [sqrt 1/2, sqrt 2), then log x = k ln 2 + f + (log(1 + f) - f). The first two are added
// with their rounding error kept. No branches: a loop over log vectorises.
#pragma once

#include <tally/core/math/exp.h>

namespace tally::math::inline TALLY_MATH_ISA {

namespace detail {

// log(1 + f) - f on [sqrt(1/2) - 1, sqrt(2) - 1], minimax for the relative error of log(1 + f).
TALLY_HD constexpr float log_tail(float f) {  // 2^-27.5
  return f * f *
         polynomial(f, -0.499999881f, 0.333333254f, -0.250015825f, 0.200019747f, -0.166090816f, 0.141818151f,
                    -0.132429913f, 0.12904498f, -0.0762184933f);
}
TALLY_HD constexpr double log_tail(double f) {  // 2^-59.3
  // log(1 + f) = 2 atanh z = 2z + z w Q(w), with z = f / (2 + f), w = z^2, and 2z = f - f^2/2 + z f^2/2.
  const double z = f / (2 + f), w = z * z, half_square = 0.5 * f * f;
  const double q = polynomial(w, 0.6666666666666734, 0.39999999999416325, 0.28571428742028637, 0.22222198609286772,
                              0.18183562488590685, 0.15314096582029857, 0.14795498748363684);
  return z * (half_square + w * q) - half_square;
}

/// x = 2^k (1 + f).
template <Real T> struct ReducedLog { T k, f; };

/// Reduces a positive normal x.
template <Real T> TALLY_HD constexpr ReducedLog<T> reduce_log(T x) {
  constexpr T kSqrtHalf = static_cast<T>(0.70710678118654752);
  constexpr int kM = Ieee<T>::kMantissa;
  const Bits<T> one = to_bits(T{1});
  const Bits<T> biased = (to_bits(x) + (one - to_bits(kSqrtHalf))) >> kM;
  const T mantissa = bit_cast<T>(to_bits(x) - ((biased - Ieee<T>::kBias) << kM));
  // The biased exponent in the low bits of 2^kM is 2^kM + biased: a conversion that every vector unit has.
  constexpr T kTwoM = static_cast<T>(Bits<T>{1} << kM);
  const T k = bit_cast<T>(to_bits(kTwoM) | biased) - (kTwoM + Ieee<T>::kBias);
  return {k, mantissa - 1};
}

/// k ln 2 + log(1 + f) + extra.
template <Real T> TALLY_HD constexpr T finish_log(T k, T f, T extra) {
  const T whole = k * ExpConstants<T>::kLn2High;  // exact
  const T sum = whole + f;
  const T lost = f - (sum - whole);  // exact: whole is 0 or the larger
  return sum + (log_tail(f) + (k * ExpConstants<T>::kLn2Low + (lost + extra)));
}

/// y where the argument of the logarithm is positive and finite, else what log gives there.
template <Real T> TALLY_HD constexpr T with_special_logs(T argument, T y) {
  y = select(argument < infinity<T>(), y, argument);
  return select(argument > 0, y, select(argument == 0, -infinity<T>(), nan<T>()));
}

}  // namespace detail

/// The natural logarithm, error below 1 ulp; log(0) = -inf, log(x < 0) = NaN, log(inf) = inf.
template <Real T> TALLY_HD constexpr T log(T x) {
  constexpr int kUp = Ieee<T>::kMantissa + 2;
  const bool subnormal = x < detail::power_of_two<T>(1 - Ieee<T>::kBias);
  const auto r = detail::reduce_log(x * select(subnormal, detail::power_of_two<T>(kUp), T{1}));
  return detail::with_special_logs(x, detail::finish_log(r.k - select(subnormal, T{kUp}, T{0}), r.f, T{0}));
}

/// log(1 + x) without cancellation, error below 1 ulp; keeps the sign of zero, log1p(-1) = -inf.
template <Real T> TALLY_HD constexpr T log1p(T x) {
  const T sum = 1 + x;
  const T part = sum - 1;
  const T lost = (1 - (sum - part)) + (x - part);  // 1 + x = sum + lost exactly
  const auto r = detail::reduce_log(sum);
  const bool near_one = r.k == 0;  // there x itself is f
  const T y = detail::finish_log(r.k, select(near_one, x, r.f), select(near_one, T{0}, lost / sum));
  return copysign(detail::with_special_logs(sum, y), x);
}

}  // namespace tally::math::inline TALLY_MATH_ISA
