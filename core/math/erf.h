// The error function: an odd polynomial up to 0.9, beyond it 1 - erfc x with log erfc x as a polynomial.
#pragma once

#include <tally/core/math/exp.h>

namespace tally::math::inline TALLY_MATH_ISA {

namespace detail {

// P(w) with erf x = x + x P(w), w = x^2, on |x| <= 0.9, minimax for the relative error of erf x.
TALLY_HD constexpr float erf_tail(float w) {  // 2^-30.1
  return polynomial(w, 0.128379166f, -0.376126349f, 0.112837151f, -0.0268605091f, 0.00520385895f, -0.00081756385f,
                    8.51310178e-05f);
}
TALLY_HD constexpr double erf_tail(double w) {  // 2^-54.9
  return polynomial(w, 0.12837916709551259, -0.37612638903183726, 0.11283791670953704, -0.026866170644806654,
                    0.0052239776216033802, -0.00085483267549275269, 0.00012055321042434227, -1.4925299744181318e-05,
                    1.6455213991392939e-06, -1.6275476591715327e-07, 1.4046049521927256e-08, -8.4818545572070196e-10);
}

// log erfc x, minimax for the relative error of erf x; beyond the interval erf x rounds to 1.
TALLY_HD constexpr float log_erfc(float x) {  // on [0.9, 4], 2^-26.5
  return polynomial(x, -0.000166466198f, -1.12779713f, -0.636976242f, -0.104113504f, 0.0223151185f, -0.00306546362f,
                    0.0001982166f);
}
TALLY_HD constexpr double log_erfc(double x) {  // on [0.9, 6], 2^-55.2
  return polynomial(x, -2.4297325563399184e-07, -1.1283765746736829, -0.63663259621771384, -0.10273362234461611,
                    0.019047170208374941, 0.00033183072446928944, -0.0018333522238167166, 0.00070362195051166957,
                    -9.2427983067753912e-05, -4.162823445856674e-05, 3.1258955381169953e-05, -1.1277609929120421e-05,
                    2.7607480577185811e-06, -4.8669622443231259e-07, 6.1473054104878847e-08, -5.311454232981297e-09,
                    2.8207671416321501e-10, -6.9544477309718575e-12);
}

}  // namespace detail

/// 2/sqrt(pi) times the integral of e^-t^2 from 0 to x, error below 1.5 ulp; erf(+-inf) = +-1, keeps the sign of zero.
template <Real T> TALLY_HD constexpr T erf(T x) {
  constexpr T kOneFrom = sizeof(T) == sizeof(float) ? 4 : 6;
  const T a = abs(x);
  const T small = a + a * detail::erf_tail(a * a);
  const T large = 1 - exp(detail::log_erfc(select(kOneFrom < a, kOneFrom, a)));
  return copysign(select(a < T(0.9), small, large), x);
}

}  // namespace tally::math::inline TALLY_MATH_ISA
