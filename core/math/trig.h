// sin and cos, for arguments of any size. A float's are computed in double and rounded once.
#pragma once

#include <tally/core/math/angle.h>
#include <tally/core/math/polynomial.h>

namespace tally::math::inline TALLY_MATH_ISA {

namespace detail {

/// sin(r.high + r.low) on |r| <= pi/4 + 1e-6; minimax for the relative error, 2^-56.4.
TALLY_HD constexpr double sin_reduced(DoubleDouble r) {
  const double w = r.high * r.high;
  const double s = polynomial(w, -0.1666666666666663, 0.0083333333333221182, -0.00019841269829589775,
                              2.755731362145321e-06, -2.5050747771792376e-08, 1.5896230599542888e-10);
  return r.high + (r.high * (w * s) + r.low * (1 - 0.5 * w));
}

/// cos(r.high + r.low) on |r| <= pi/4 + 1e-6; minimax for the relative error, 2^-59.7.
TALLY_HD constexpr double cos_reduced(DoubleDouble r) {
  const double w = r.high * r.high;
  const double c = polynomial(w, 0.041666666666666595, -0.0013888888888873056, 2.4801587288851555e-05,
                              -2.7557314179255611e-07, 2.0875700836558777e-09, -1.1358536246172606e-11);
  const auto sum = add_ordered(1, -0.5 * w);
  return sum.high + (sum.low + (w * w * c - r.high * r.low));
}

TALLY_HD inline double sin_of_quadrant(unsigned quadrant, DoubleDouble r) {
  const double y = (quadrant & 1) != 0 ? cos_reduced(r) : sin_reduced(r);
  return (quadrant & 2) != 0 ? -y : y;
}

}  // namespace detail

/// The sine of x radians, error below 1 ulp; keeps the sign of zero, NaN for infinities.
TALLY_HD inline double sin(double x) {
  if (x == 0) return x;
  if (!isfinite(x)) return nan<double>();
  const auto angle = detail::reduce_angle(x);
  return detail::sin_of_quadrant(angle.quadrant, angle.r);
}

/// The cosine of x radians, error below 1 ulp; NaN for infinities.
TALLY_HD inline double cos(double x) {
  if (!isfinite(x)) return nan<double>();
  const auto angle = detail::reduce_angle(x);
  return detail::sin_of_quadrant(angle.quadrant + 1, angle.r);
}
/// By way of double.
TALLY_HD inline float sin(float x) { return static_cast<float>(sin(static_cast<double>(x))); }
TALLY_HD inline float cos(float x) { return static_cast<float>(cos(static_cast<double>(x))); }

}  // namespace tally::math::inline TALLY_MATH_ISA
