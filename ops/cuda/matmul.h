// The CUDA side of matrix products: cuBLAS (vendor/matmul.cpp), or Eigen where the device is emulated
// (simt/matmul.cpp).
#pragma once

#include <tally/core/device.h>
#include <tally/core/tensor.h>

namespace tally::detail {

/// out = a · b over [..., m, k] and [..., k, n] of the same leading dims and one floating dtype; `out` is dense.
void matmul(Cuda, const Tensor& out, const Tensor& a, const Tensor& b);

}  // namespace tally::detail
