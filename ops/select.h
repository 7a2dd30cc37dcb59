// Elements chosen by their rank. NaN wins: a list with NaN has the median and the quantiles NaN, and NaN is the largest
// in topk. Ties go to the first index; the gradient goes to the chosen elements alone.
//
// Dims as in ops/reduce.h: none means all, several form one row-major list. Errors: IndexError, ShapeError for an empty
// list, DTypeError, ValueError.
#pragma once

#include <vector>

#include <tally/core/dims.h>
#include <tally/core/tensor.h>
#include <tally/ops/sort.h>

namespace tally {

/// The middle value; the lower of the two of an even count.
Tensor median(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
/// With the place of the first element of that value in the list of the reduced dims.
ValuesAndIndices median_with_index(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());

/// The value below which a share `q` of [0, 1] lies, linear between the two elements around q·(n - 1): Hyndman and
/// Fan's definition 7 (Sample Quantiles in Statistical Packages, 1996). Floating only.
Tensor quantile(const Tensor& x, double q, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
/// One for each of `qs`, along a new first dim.
Tensor quantile(const Tensor& x, const std::vector<double>& qs, Dims dims = {}, KeepDim keep = {},
                Where where = Where::here());

/// The `k` largest (smallest: Order::ascending) elements along `dim`, in order, with their positions.
ValuesAndIndices topk(const Tensor& x, std::int64_t k, std::int64_t dim = -1, Order order = Order::descending,
                      Where where = Where::here());

}  // namespace tally
