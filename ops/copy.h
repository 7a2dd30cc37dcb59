// Copies as recorded ops: what Tensor::to, contiguous and clone are made of.
#pragma once

#include <tally/core/tensor.h>

namespace tally {

/// A dense copy of `x` with `dtype` on `device`. Its gradient is the copy back.
Tensor copy(const Tensor& x, DType dtype, Device device, Where where = Where::here());

}  // namespace tally
