// Matrix products. Equal from run to run and for any number of threads, but not between devices: the order inside a
// product belongs to Eigen and cuBLAS. No TF32; float16 and bfloat16 accumulate in float32 and round once.
//
// Mixed floats promote. Errors: ShapeError for sizes that do not fit, DTypeError for integers, DeviceError.
#pragma once

#include <tally/core/tensor.h>

namespace tally {

/// a · b over the last two dims, [..., m, k] and [..., k, n]; the leading dims broadcast. A 1-d `a` is a row, a 1-d `b`
/// a column, and that dim is not in the result: two vectors give their 0-d inner product.
Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::here());

/// y = x · Wᵀ + b for x [..., in], weight [out, in] and, if given, bias [out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Where where = Where::here());

}  // namespace tally
