// What the tests of gradcheck check: a right op, and ops whose gradient is off as the test wants it.
#pragma once

#include <vector>

#include <tally/autograd/no_grad.h>
#include <tally/autograd/record.h>
#include <tally/ops/operators.h>

namespace tally::test {

inline Tensor cube(const Tensor& x) {
  Tensor y = no_grad([&] { return x * x * x; });
  return record("cube", {x}, y, saving(x),
                [](const Tensor& grad, const Tensor& x) { return std::vector{3 * grad * x * x}; });
}

// x² whose gradient is `wrong(grad, x)`.
template <class F> auto square_with(F wrong) {
  return [wrong](const Tensor& x) {
    Tensor y = no_grad([&] { return x * x; });
    return record("square_with", {x}, y, saving(x),
                  [wrong](const Tensor& grad, const Tensor& x) { return std::vector<Tensor>{wrong(grad, x)}; });
  };
}

// x with the gradient `factor`·g, behind f: its gradient is that of f, times `factor`.
template <class F> auto scaled_gradient(F f, double factor) {
  return [f, factor](const Tensor& x) {
    return f(record("scaled", {x}, x.detach(), [factor](const Tensor& g) { return std::vector{factor * g}; }));
  };
}

inline Tensor input() { return tensor({{0.5, -1.25, 2.0}, {1.5, 0.75, -0.3}}, {.dtype = float64}); }

}  // namespace tally::test
