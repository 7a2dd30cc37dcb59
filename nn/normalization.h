// Normalisation of each row by itself. Batch norm, which normalises each channel over the batch, is in batch_norm.h.
#pragma once

#include <optional>

#include <tally/core/tensor.h>

namespace tally {

/// Of layer_norm.
struct LayerNormOptions {
  Tensor weight = {}, bias = {};  // of the normalised shape; undefined: 1 and 0
  double eps = 1e-5;
};

/// y = ((x - mean)·rstd)·weight + bias over the last dims, whose sizes are `normalized`; rstd = 1 / sqrt(var + eps)
/// with the biased variance. Halves are computed in float32. Ba, Kiros, Hinton: Layer Normalization, 2016. Throws
/// ShapeError for shapes that do not fit, DTypeError for integers.
Tensor layer_norm(const Tensor& x, const Shape& normalized, const LayerNormOptions& options = {},
                  Where where = Where::here());

/// Of rms_norm; weight of the normalised shape, undefined: 1.
struct RmsNormOptions {
  Tensor weight = {};
  std::optional<double> eps = {};  // none: the dtype's machine epsilon
};

/// y = (x·rstd)·weight with rstd = 1 / sqrt(mean of x² + eps). Zhang, Sennrich: Root Mean Square Layer Normalization,
/// NeurIPS 2019.
Tensor rms_norm(const Tensor& x, const Shape& normalized, const RmsNormOptions& options = {},
                Where where = Where::here());

}  // namespace tally
