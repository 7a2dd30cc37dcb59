// A derivative from values alone, with an error it estimates of itself: what gradcheck measures gradients against.
//
// Ridders' extrapolation of central differences (Ridders: Accurate computation of F'(x) and F'(x)F''(x), Advances in
// Engineering Software 4, 1982) from two start steps that must agree, and one-sided slopes to tell a kink. The
// round-off of the function is measured, not assumed (More and Wild: Estimating computational noise, SIAM J. Sci.
// Comput. 33, 2011).
#pragma once

#include <functional>

namespace tally {

/// What values say about f'(x).
struct NumericDerivative {
  double value = 0;
  double estimate = 0;   // of |value - f'(x)|, from the extrapolation and from the other start step
  double tolerance = 0;  // 2·estimate + 4·noise / step + 8·epsilon·|value|: how far a right derivative may be away
  double left = 0, right = 0;  // one-sided slopes
  bool kink = false;           // the two differ, however small the step
  bool jump = false;           // and the more, the smaller: f is not continuous there
  bool decided = false;        // two start steps agree
};

/// f'(x). Steps are powers of two times `scale`, the length on which f is expected to change; `noise` is the absolute
/// round-off of a value of f near x.
NumericDerivative differentiate(const std::function<double(double)>& f, double x, double scale, double noise);

/// f'(x) to about `within` / 16, from the smallest step whose round-off allows that: what lies beyond it, a kink close
/// to x or the next wave of a fast f, does not count. Undecided where the step is none of the small ones.
NumericDerivative differentiate_close(const std::function<double(double)>& f, double x, double scale, double noise,
                                      double within);

/// The round-off of f(t) for small t > 0 in units of f: a smooth function's fourth differences vanish there, noise
/// stays. `scale` is the length on which f changes.
double measure_noise(const std::function<double(double)>& f, double scale);

/// The same of a fast f, whose waves are noise at first sight: `noise`, or less where f is smooth closer to 0. Values
/// that repeat there are what rounding inside f leaves: that is noise.
double measure_noise_close(const std::function<double(double)>& f, double scale, double noise);

/// The height of the steps in f(t), |t| <= scale / 16, where it has several: what rounding to few digits inside a
/// smooth function looks like. Kinks are no steps, and fewer than four are f's own; 0 then.
double measure_steps(const std::function<double(double)>& f, double scale);

}  // namespace tally
