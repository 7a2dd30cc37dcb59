// What an op recorded from tensors can be like: several results, arguments that are no tensors, integer results.
#pragma once

#include <tally/tally.h>

namespace tally::examples {

/// Several results: values and gradients are vectors, in the same order. `output[i]` in `saving` hands backward the
/// results themselves, so nothing else is kept. A result that nobody used has an upstream gradient of zeros.
inline std::vector<Tensor> sin_and_cos(const Tensor& x) {
  std::vector<Tensor> values = no_grad([&] { return std::vector{sin(x), cos(x)}; });
  return record("sin_and_cos", {x}, values, saving(output[0], output[1]),
                [](const std::vector<Tensor>& grads, const Tensor& sine, const Tensor& cosine) {
                  return std::vector{grads[0] * cosine - grads[1] * sine};
                });
}

/// Arguments that are no tensors: the closure captures them by value.
inline Tensor leaky_relu(const Tensor& x, double slope) {
  Tensor y = no_grad([&] { return where(x < 0, slope * x, x); });
  return record("leaky_relu", {x}, y, saving(x),
                [slope](const Tensor& grad, const Tensor& x) { return std::vector{where(x < 0, slope * grad, grad)}; });
}

struct Largest {
  Tensor values;  // [rows]
  Tensor places;  // [rows], int64
};
/// An integer result: it carries no gradient, and its place among the upstream gradients is zeros to ignore. A second
/// input that the op does not differentiate gets none: an undefined tensor.
inline Largest largest_of_rows(const Tensor& x, const Tensor& bias) {
  const ValuesAndIndices found = no_grad([&] { return max_with_index(x + bias, 1); });
  const Tensor values = no_grad([&] { return reshape(gather(x, 1, unsqueeze(found.indices, 1)), {-1}); });
  const auto results = record("largest_of_rows", {x, bias}, std::vector{values, found.indices}, saving(x, output[1]),
                              [](const std::vector<Tensor>& grads, const Tensor& x, const Tensor& places) {
                                const Tensor chosen = one_hot(places, x.size(1), x.dtype());
                                return std::vector{chosen * unsqueeze(grads[0], 1), Tensor()};
                              });
  return {results[0], results[1]};
}

}  // namespace tally::examples
