// Learning rates as a function of the step, in double.
#pragma once

#include <cstdint>

namespace tally::nn {

/// The same rate at every step.
struct ConstantSchedule {
  double learning_rate = 1e-3;
  /// The rate at a step, counted from 0.
  double operator()(std::int64_t) const { return learning_rate; }
};

/// Half a cosine from `base` at step 0 to `min` at `total_steps` and from then on.
/// Loshchilov, Hutter: SGDR, ICLR 2017, without restarts.
struct CosineSchedule {
  double base = 1e-3;
  std::int64_t total_steps = 1;
  double min = 0;
  /// The rate at a step, counted from 0.
  double operator()(std::int64_t step) const;
};

}  // namespace tally::nn
