// Batch normalisation. Ioffe, Szegedy: Batch Normalization, ICML 2015.
#pragma once

#include <tally/core/tensor.h>

namespace tally {

/// What evaluation normalises by. In training batch_norm moves them on, in place, and counts the batch; any may be
/// undefined then.
struct RunningStatistics {
  Tensor mean, var;  // [C]
  Tensor batches;    // int64, 0-d
};

/// Of batch_norm.
struct BatchNormOptions {
  bool training = true;   // batch statistics, or the running ones
  double momentum = 0.1;  // weight of the new value
  double eps = 1e-5;
};

/// y = ((x - mean) · rstd) · weight + bias with rstd = 1 / sqrt(var + eps), for each channel of x [N, C, ...]; weight
/// and bias [C] may be undefined. In training mean and var are the batch's, var the biased one, while the running
/// variance takes the unbiased one; the gradient goes through both. Throws, with the running statistics as they were:
/// ShapeError for a shape that does not fit or, in training, a single value a channel (it has no variance); DTypeError,
/// DeviceError.
Tensor batch_norm(const Tensor& x, const RunningStatistics& running, const Tensor& weight = {}, const Tensor& bias = {},
                  BatchNormOptions options = {}, Where where = Where::here());

}  // namespace tally
