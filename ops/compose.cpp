#include <tally/ops/compose.h>

#include <limits>

#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

namespace tally {

Tensor sum(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where) {
  return sum(x.to(dtype, where), dims, keep, where).to(dtype, where);
}
Tensor mean(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where) {
  return mean(x.to(dtype, where), dims, keep, where).to(dtype, where);
}
Tensor prod(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where) {
  return prod(x.to(dtype, where), dims, keep, where).to(dtype, where);
}
Tensor norm(const Tensor& x, double p, Dims dims, KeepDim keep, DType dtype, Where where) {
  return norm(x.to(dtype, where), p, dims, keep, where);
}
Tensor nansum(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where) {
  return nansum(x.to(dtype, where), dims, keep, where).to(dtype, where);
}
Tensor nanmean(const Tensor& x, Dims dims, KeepDim keep, DType dtype, Where where) {
  return nanmean(x.to(dtype, where), dims, keep, where).to(dtype, where);
}

Tensor nansum(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  return sum(is_floating(x.dtype()) ? masked_fill(x, isnan(x, where), 0, where) : x, dims, keep, where);
}

Tensor nanmean(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  if (!is_floating(x.dtype())) return mean(x, dims, keep, where);
  // The count stays apart from halves, which hold integers to 2048 only.
  const DType dtype = x.dtype() == float64 ? float64 : float32;
  const Tensor count = count_nonzero(logical_not(isnan(x, where), where), dims, keep, where);
  return (nansum(x.to(dtype, where), dims, keep, where) / count.to(dtype, where)).to(x.dtype(), where);
}

MinAndMax aminmax(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  return {amin(x, dims, keep, where), amax(x, dims, keep, where)};
}

Tensor normalize(const Tensor& x, double p, Dims dims, double eps, Where where) {
  const Tensor size = norm(x, p, dims, keepdim, where);
  return x / clamp(size, eps, std::numeric_limits<double>::infinity(), where);
}

Tensor dist(const Tensor& a, const Tensor& b, double p, Where where) { return norm(a - b, p, {}, {}, where); }

Tensor dot(const Tensor& a, const Tensor& b, Where where) {
  const auto operands = [&] { return describe(a) + " and " + describe(b); };
  if (a.dim() != 1 || a.shape() != b.shape())
    throw ShapeError("dot", operands() + " are not vectors of one length", where);
  if (a.dtype() != b.dtype()) throw DTypeError("dot", operands() + " differ in dtype", where);
  return sum(a * b, {}, {}, where);
}

Tensor trace(const Tensor& x, Where where) {
  if (x.dim() != 2) throw ShapeError("trace", describe(x) + " is not a matrix", where);
  return sum(diagonal(x, 0, 0, 1, where), {}, {}, where);
}

}  // namespace tally
