// pow: e^(y log x), the logarithm with enough digits that the product's error stays far below the result's last place.
#pragma once

#include <cstdint>

#include <tally/core/math/double_double.h>
#include <tally/core/math/exp.h>
#include <tally/core/math/log.h>

namespace tally::math::inline TALLY_MATH_ISA {

namespace detail {

/// log x to about 2^-66, for a positive finite x.
TALLY_HD constexpr DoubleDouble precise_log(double x) {
  const bool subnormal = x < power_of_two<double>(-1022);
  const auto [k, f] = reduce_log(subnormal ? x * 0x1p54 : x);

  // z = f / (2 + f) and its powers; 2 + f = high + low.
  const auto sum = add_ordered(2, f);
  const double quotient = f / sum.high;
  const auto back = multiply(quotient, sum.high);
  const DoubleDouble z = {quotient, ((f - back.high) - back.low - quotient * sum.low) / sum.high};
  const DoubleDouble w = multiply(z, z);

  // log(1 + f) = 2 atanh z = 2z + z w (2/3 + w P(w)), P minimax on w <= 0.02944: 2^-66.0 of the logarithm.
  const double p = polynomial(w.high, 0.40000000000002256, 0.2857142857010001, 0.2222222251983583, 0.18181784375444859,
                              0.15386756919361991, 0.13256827930140838, 0.13196229217423522);
  DoubleDouble third = add_ordered(0x1.5555555555555p-1, w.high * p);
  third.low += 0x1.5555555555555p-55;
  const DoubleDouble term = multiply(multiply(z, w), third);

  const double whole = k - (subnormal ? 54 : 0);
  const auto a = add(whole * ExpConstants<double>::kLn2High, 2 * z.high);
  const auto b = add(a.high, term.high);
  return add_ordered(b.high, (a.low + b.low) + (2 * z.low + term.low + whole * ExpConstants<double>::kLn2Low));
}

/// x^y for x >= 0.
TALLY_HD constexpr double positive_pow(double x, double y) {
  const double rough = y * log(x);
  // Zeros, infinities, NaN, and results sure to be 0 or infinity: no digits needed.
  if (!(abs(rough) < 800)) return exp(rough);
  const DoubleDouble l = precise_log(x);
  const auto product = multiply(y, l.high);
  return exp_of_sum(product.high, product.low + y * l.low);
}

/// A double's 53 bits of y log x leave a float's result right to 2^-20 of its last place.
TALLY_HD constexpr float positive_pow(float x, float y) {
  return static_cast<float>(exp(static_cast<double>(y) * log(static_cast<double>(x))));
}

struct Parity {
  bool integer, odd;
};

TALLY_HD constexpr Parity parity(double y) {
  if (!(abs(y) < 0x1p53)) return {!isnan(y), false};  // too large for a fraction or a last odd bit; so is infinity
  const auto i = static_cast<std::int64_t>(y);
  return {static_cast<double>(i) == y, static_cast<double>(i) == y && (i & 1) != 0};
}

}  // namespace detail

/// x to the power y, error below 1 ulp, with C's special cases: pow(x, 0) = pow(1, y) = 1 even for NaN,
/// pow(-1, +-inf) = 1, a negative x with a fractional y gives NaN.
template <Real T> TALLY_HD constexpr T pow(T x, T y) {
  if (y == 0 || x == 1) return 1;
  if (isnan(x) || isnan(y)) return nan<T>();
  const T a = abs(x);
  const T magnitude = a == 1 ? T{1} : detail::positive_pow(a, y);
  if (!signbit(x)) return magnitude;
  const auto [integer, odd] = detail::parity(y);
  if (!integer && x != 0 && isfinite(x)) return nan<T>();
  return odd ? -magnitude : magnitude;
}

}  // namespace tally::math::inline TALLY_MATH_ISA
