#include <tally/ops/select.h>

#include <cmath>
#include <limits>
#include <string>

#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/core/require.h>
#include <tally/ops/binary.h>
#include <tally/ops/index.h>
#include <tally/ops/join.h>
#include <tally/ops/operators.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

namespace tally {
namespace {

/// The reduced dims as one last dim, and the shape of a result.
struct Rows {
  Rows(const char* op, const Tensor& x, const Dims& dims, KeepDim keep, Where where) {
    detail::require_defined(op, x, where);
    const DimSet reduced(op, dims, x.dim(), where);
    std::vector<std::int64_t> order, last;
    std::int64_t length = 1;
    Shape kept;
    for (int d = 0; d < x.dim(); ++d) {
      const bool goes = reduced.contains(d);
      (goes ? last : order).push_back(d);
      if (goes) length *= x.shape()[d];
      if (!goes) kept.push_back(x.shape()[d]);
      if (!goes || keep.value) shape.push_back(goes ? 1 : x.shape()[d]);
    }
    if (length == 0)
      throw ShapeError(op,
                       describe(x) + " has no elements along the reduced dims, and " + op +
                           " of none has no value; test numel() first, or reduce other dims",
                       where);
    order.insert(order.end(), last.begin(), last.end());
    kept.push_back(length);
    rows = reshape(x.dim() > 0 ? permute(x, order, where) : x, kept, where);
  }
  std::int64_t length() const { return rows.size(-1); }

  Tensor rows;  // [..., length]
  Shape shape;
};

/// For each row the place, in sorted order, of `rank`, or of the first NaN.
Tensor place_of(const Tensor& rows, std::int64_t rank, Where where) {
  const std::int64_t n = rows.size(-1);
  const Tensor nans = count_nonzero(isnan(rows, where), -1, keepdim, where);
  return tally::where(nans > 0, n - nans, rank, where);
}

}  // namespace

ValuesAndIndices median_with_index(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  const Rows list("median", x, dims, keep, where);
  const Tensor indices = no_grad([&] {
    const Tensor order = argsort(list.rows, -1, Order::ascending, where);
    const Tensor middle = gather(order, -1, place_of(list.rows, (list.length() - 1) / 2, where), where);
    const Tensor value = gather(list.rows, -1, middle, where);
    return argmax(tally::where(isnan(value, where), isnan(list.rows, where), list.rows == value, where), -1, keepdim,
                  where);
  });
  return {reshape(gather(list.rows, -1, indices, where), list.shape, where), reshape(indices, list.shape, where)};
}

Tensor median(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  return median_with_index(x, dims, keep, where).values;
}

Tensor quantile(const Tensor& x, const std::vector<double>& qs, Dims dims, KeepDim keep, Where where) {
  if (!is_floating(x.dtype())) throw DTypeError("quantile", describe(x) + " is not floating; use .to(float32)", where);
  for (double q : qs)
    if (!(q >= 0 && q <= 1)) throw ValueError("quantile", std::to_string(q) + " is not in [0, 1]", where);
  const Rows list("quantile", x, dims, keep, where);
  const Tensor order = argsort(list.rows, -1, Order::ascending, where);
  const auto at = [&](double rank) {
    const Tensor place = place_of(list.rows, static_cast<std::int64_t>(rank), where);
    return gather(list.rows, -1, gather(order, -1, place, where), where);
  };
  std::vector<Tensor> results;
  for (double q : qs) {
    const double rank = q * static_cast<double>(list.length() - 1), weight = rank - std::floor(rank);
    const Tensor low = at(std::floor(rank));
    Tensor y = low;
    if (weight != 0) {  // an element without weight is not read: 0 times an infinity is NaN
      const Tensor high = at(std::ceil(rank));
      y = low * (1 - weight) + high * weight;
      // Between equal elements lies nothing else, whatever the two products round to.
      y = y + no_grad([&] {
            const Tensor equal = logical_and(low == high, isfinite(low, where), where);
            return tally::where(logical_and(equal, y != low, where), low - y, -0.0, where);
          });
    }
    results.push_back(reshape(y, list.shape, where));
  }
  return stack(results, 0, where);
}

Tensor quantile(const Tensor& x, double q, Dims dims, KeepDim keep, Where where) {
  return select(quantile(x, std::vector{q}, dims, keep, where), 0, 0, where);
}

ValuesAndIndices topk(const Tensor& x, std::int64_t k, std::int64_t dim, Order order, Where where) {
  const int d = normalize_dim("topk", dim, x.dim(), where);
  const std::int64_t n = x.dim() > 0 ? x.shape()[d] : 1;
  if (k < 0 || k > n)
    throw ValueError(
        "topk", "k = " + std::to_string(k) + " of " + describe(x) + " (valid: 0 to " + std::to_string(n) + ")", where);
  if (x.dim() == 0) {
    const ValuesAndIndices one = topk(reshape(x, {1}, where), k, 0, order, where);
    if (k == 1) return {reshape(one.values, {}, where), reshape(one.indices, {}, where)};
    return one;
  }
  const Tensor indices = narrow(argsort(x, d, order, where), d, 0, k, where).contiguous(where);
  return {gather(x, d, indices, where), indices};
}

}  // namespace tally
