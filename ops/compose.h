// Reductions made of others: their order, gradients and errors are those of what they are made of (ops/reduce.h).
#pragma once

#include <tally/core/dims.h>
#include <tally/core/tensor.h>

namespace tally {

/// The reduction of x.to(dtype), as `dtype`.
Tensor sum(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where = Where::here());
Tensor mean(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where = Where::here());
Tensor prod(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where = Where::here());
Tensor norm(const Tensor& x, double p, Dims dims, KeepDim keep, DType dtype, Where where = Where::here());

/// Sum of what is not NaN; a NaN counts as 0 and gets gradient 0.
Tensor nansum(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
Tensor nansum(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where = Where::here());
/// Mean of what is not NaN; of nothing NaN.
Tensor nanmean(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
Tensor nanmean(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where = Where::here());

/// Of aminmax.
struct MinAndMax {
  Tensor min, max;
};
/// amin and amax.
MinAndMax aminmax(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());

/// x / max(norm(x, p, dims), eps), so that each list has norm 1 (or less, below eps).
Tensor normalize(const Tensor& x, double p = 2, Dims dims = 1, double eps = 1e-12, Where where = Where::here());

/// norm(a - b, p) of all elements; shapes broadcast.
Tensor dist(const Tensor& a, const Tensor& b, double p = 2, Where where = Where::here());

/// Sum of the products of two vectors of one length and dtype, in the order of sum: equal bits on both devices, which a
/// matrix product does not promise.
Tensor dot(const Tensor& a, const Tensor& b, Where where = Where::here());

/// Sum of a matrix's diagonal.
Tensor trace(const Tensor& x, Where where = Where::here());

}  // namespace tally
