// One element of an optimizer's step, for both devices. The constants are found on the host in double and rounded once.
#pragma once

#include <cmath>

#include <tally/core/convert.h>

namespace tally::detail {

template <class T> struct SGDUpdate {
  using Element = T;
  using C = Compute<T>;
  static constexpr int arrays = 2;
  C weight_decay, learning_rate;
  TALLY_HD void operator()(T& parameter, const T& gradient) const {
    const C p = convert<C>(parameter), g = convert<C>(gradient);
    const C d = weight_decay == 0 ? g : g + weight_decay * p;
    parameter = convert<T>(p - learning_rate * d);
  }
};

template <class T> struct MomentumUpdate {
  using Element = T;
  using C = Compute<T>;
  static constexpr int arrays = 3;
  C weight_decay, learning_rate, momentum, undamped;  // undamped: 1 - dampening
  bool nesterov, first;
  TALLY_HD void operator()(T& parameter, const T& gradient, T& buffer) const {
    const C p = convert<C>(parameter), g = convert<C>(gradient);
    const C d = weight_decay == 0 ? g : g + weight_decay * p;
    const C b = first ? d : convert<C>(buffer) * momentum + d * undamped;
    buffer = convert<T>(b);
    parameter = convert<T>(p - learning_rate * (nesterov ? d + momentum * b : b));
  }
};

template <class T> struct AdamUpdate {
  using Element = T;
  using C = Compute<T>;
  static constexpr int arrays = 4;
  C weight_decay, shrink;         // added to the gradient; factor of the parameter (decoupled)
  C weight1, beta2, weight2;      // 1 - beta1; beta2, 1 - beta2
  C step_size, correction2, eps;  // lr / (1 - beta1^t); sqrt(1 - beta2^t)
  TALLY_HD void operator()(T& parameter, const T& gradient, T& first, T& second) const {
    const C p = convert<C>(parameter) * shrink;
    C g = convert<C>(gradient);
    if (weight_decay != 0) g = g + weight_decay * p;
    C m = convert<C>(first), v = convert<C>(second);
    m = m + weight1 * (g - m);
    v = v * beta2 + weight2 * g * g;
    first = convert<T>(m);
    second = convert<T>(v);
    const C root = static_cast<C>(std::sqrt(v));
    parameter = convert<T>(p - step_size * m / (root / correction2 + eps));
  }
};

}  // namespace tally::detail
