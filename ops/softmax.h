// The softmax family over any dims of any strided view (none: all), in the order of ops/reduction.h, with first and
// second derivatives. What is saved is (max, sum of exp(x - max)), never only their logsumexp, so that large shifts
// cost no digits. A list that is all -inf gives NaN, that list only, and +inf gives NaN in its place; integers throw
// DTypeError.
#pragma once

#include <tally/core/dims.h>
#include <tally/core/tensor.h>

namespace tally {

/// exp(x - m) / S, with m the maximum over the dims and S the sum of exp(x - m).
Tensor softmax(const Tensor& x, Dims dims, Where where = Where::here());
/// The same of x.to(dtype), as `dtype`: also for integers.
Tensor softmax(const Tensor& x, Dims dims, DType dtype, Where where = Where::here());

/// (x - m) - log S.
Tensor log_softmax(const Tensor& x, Dims dims, Where where = Where::here());
Tensor log_softmax(const Tensor& x, Dims dims, DType dtype, Where where = Where::here());

namespace detail {

/// m and S of softmax, with the reduced dims as size 1: views of one array of pairs.
struct ShiftedSums {
  Tensor max, sum;
};
ShiftedSums shifted_sums(const char* op, const Tensor& x, const Dims& dims, Where where);

}  // namespace detail
}  // namespace tally
