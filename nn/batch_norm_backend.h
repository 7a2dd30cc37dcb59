// What batch_norm asks of a device. All tensors are dense and of one floating dtype, float32 or float64; x and its like
// are [outer, channels, inner].
#pragma once

#include <tally/core/device.h>
#include <tally/nn/batch_norm.h>

namespace tally::detail {

/// rstd from the biased `var`; then the running statistics, if defined, from mean and var of lists of `count`.
struct BatchStatistics {
  Tensor mean, var, rstd;
  RunningStatistics running;
  std::int64_t count = 0;
  double momentum = 0.1, eps = 1e-5;
};
void batch_statistics(Cpu, const BatchStatistics& call);
void batch_statistics(Cuda, const BatchStatistics& call);

/// weight and bias may be undefined: 1 and 0.
struct Normalise {
  Tensor x, mean, rstd, weight, bias, y;
};
void normalise(Cpu, const Normalise& call);
void normalise(Cuda, const Normalise& call);

/// product = ((x - mean) · rstd) · grad
struct NormalisedTimes {
  Tensor x, mean, rstd, grad, product;
};
void normalised_times(Cpu, const NormalisedTimes& call);
void normalised_times(Cuda, const NormalisedTimes& call);

/// gx = (rstd · weight) · ((grad - mean of grad) - xhat · mean of (xhat · grad)), where the two sums over the channel's
/// `count` elements are given; without them gx = (rstd · weight) · grad.
struct NormaliseBackward {
  Tensor x, mean, rstd, weight, grad, sum_grad, sum_product, gx;
  std::int64_t count = 0;
};
void normalise_backward(Cpu, const NormaliseBackward& call);
void normalise_backward(Cuda, const NormaliseBackward& call);

// One element of each, for both devices.
template <class C> TALLY_HD C normalised(C x, C mean, C rstd) { return (x - mean) * rstd; }
template <class C> TALLY_HD C centred_pull(C grad, C mean_grad, C xhat, C mean_product, C slope) {
  return slope * ((grad - mean_grad) - xhat * mean_product);
}
template <class C> TALLY_HD C moved_on(C running, C value, C momentum) {
  return (C(1) - momentum) * running + momentum * value;
}

}  // namespace tally::detail
