// Tensors put side by side. The results are copies; the gradients are the parts of the result's, as views.
//
// Mixed dtypes promote. Errors: ShapeError for an empty list or shapes that do not fit, DeviceError, IndexError.
#pragma once

#include <vector>

#include <tally/core/tensor.h>

namespace tally {

/// One after the other along `dim`; all other sizes are equal. A 1-d tensor of no elements fits anywhere and adds
/// nothing, as in PyTorch.
Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim = 0, Where where = Where::here());

/// Along a new dim before `dim` (-1: at the end); all shapes are equal.
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim = 0, Where where = Where::here());

}  // namespace tally
