// The CUDA side of core/raw.h.
#pragma once

#include <tally/core/cuda/device.h>
#include <tally/core/tensor.h>

namespace tally::raw {

void fill(Cuda, const Tensor& target, Number value);
void copy(Cuda, const Tensor& target, const Tensor& source);
void add(Cuda, const Tensor& target, const Tensor& a, const Tensor& b);

}  // namespace tally::raw
