// A recurrent cell that learns to add up a list, h = w·h + u·x over its elements: at w = u = 1 it does. Its gradient
// grows as w to the power of the length, so one step beyond w = 1 can throw it out of all bounds: the cliff of Pascanu,
// Mikolov, Bengio: On the difficulty of training recurrent neural networks, ICML 2013.
#pragma once

#include <vector>

#include <tally/core/tensor.h>

namespace tally::examples {

struct AdderOptions {
  Device device = Device::cpu;
  std::uint64_t seed = 0;
  std::int64_t steps = 500, length = 40, batch = 64;
  double learning_rate = 0.003;
  double w = 0.8, u = 0.5;  // where training starts
};

/// (h - sum of x)^2, the mean over the rows of x [batch, length].
Tensor adder_loss(const Tensor& w, const Tensor& u, const Tensor& x);

/// Uniform in [-1, 1): the lists of one step. Equal for equal seeds, on both devices.
Tensor adder_lists(const AdderOptions& options, std::int64_t step);

struct AdderStep {
  double w, u;                 // before the step
  double loss, gradient_norm;  // at (w, u), before clipping
};
/// Gradient descent, gradients clipped to `max_norm`, 0 for none. Ends early at a loss or norm that is not finite; that
/// step is the last in the list.
std::vector<AdderStep> train_adder(const AdderOptions& options, double max_norm);

}  // namespace tally::examples
