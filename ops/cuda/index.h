// The CUDA side of ops/index.h; the functions are those of ops/cpu/index.h. A position out of range goes to the status
// word, reads as 0 and adds nothing.
#pragma once

#include <tally/core/device.h>
#include <tally/core/tensor.h>

namespace tally::detail {

void gather(Cuda, const char* op, const Tensor& y, const Tensor& x, const Tensor& index, int dim, Where where);
void scatter_add(Cuda, const Tensor& out, const Tensor& grad, const Tensor& index, int dim);
void mark(Cuda, const char* op, const Tensor& y, const Tensor& labels, Where where);

}  // namespace tally::detail
