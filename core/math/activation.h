// tanh, sigmoid and softplus, from exp, expm1 and log1p. No branches: loops over them vectorise.
#pragma once

#include <tally/core/math/exp.h>
#include <tally/core/math/log.h>

namespace tally::math::inline TALLY_MATH_ISA {

namespace detail {

// P(w) with tanh x = x + x w P(w), w = x^2, on |x| <= 0.625, minimax for the relative error of tanh x.
TALLY_HD constexpr float tanh_tail(float w) {  // 2^-26.8
  return polynomial(w, -0.333332807f, 0.133314416f, -0.0537397079f, 0.0206390638f, -0.00570496172f);
}
TALLY_HD constexpr double tanh_tail(double w) {  // 2^-55.9
  return polynomial(w, -0.33333333333332854, 0.13333333333262093, -0.05396825393126857, 0.021869487576112942,
                    -0.0088632210028502332, 0.0035919891754443208, -0.0014549588857365153, 0.00058631656397984094,
                    -0.00022856425578519351, 7.7144414149485057e-05, -1.6072591390779759e-05);
}

}  // namespace detail

/// The hyperbolic tangent, error below 1.4 ulp; tanh(+-inf) = +-1, keeps the sign of zero.
template <Real T> TALLY_HD constexpr T tanh(T x) {
  const T a = abs(x), w = x * x;
  const T small = a + a * (w * detail::tanh_tail(w));
  const T large = 1 - 2 / (exp(2 * a) + 1);
  return copysign(select(a < T{0.625}, small, large), x);
}

/// 1 / (1 + e^-x) = e^x / (1 + e^x), by the one that cannot overflow; the plain formula's error grows to 2.3 ulp, so
/// the digits that e and 1 + e lost correct the quotient to 1.4.
template <Real T> TALLY_HD constexpr T sigmoid(T x) {
  const auto r = detail::reduce_exp(detail::clamp_keeping_nan(-abs(x), detail::ExpConstants<T>::kLowest, T{0}), T{0});
  const T part = r.head + r.rest, rounded = 1 + part;
  const T e = detail::times_power(rounded, r.n), e_lost = detail::times_power((1 - rounded) + part, r.n);
  const T sum = 1 + e, sum_lost = ((1 - sum) + e) + e_lost;
  const bool negative = x < 0;
  const T quotient = select(negative, e, T{1}) / sum;
  const T remainder = select(negative, e_lost, T{0}) - quotient * sum_lost;
  return quotient + remainder * (T(1.457) - T{0.5} * sum);  // 1 / sum to 5 % is enough here
}

/// log(1 + e^x), error below 1.8 ulp, by the form that neither overflows nor cancels.
template <Real T> TALLY_HD constexpr T softplus(T x) { return select(x > 0, x, T{0}) + log1p(exp(-abs(x))); }

}  // namespace tally::math::inline TALLY_MATH_ISA
