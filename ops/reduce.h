// The reductions. Each takes any dims of any strided view (none: all), in the order of ops/reduction.h, on both
// devices, with gradient. A reduced dim stays as size 1 under `keepdim`.
//
// Errors: IndexError for a dim out of range, ShapeError for one listed twice or, in max, min, argmax and argmin, for an
// empty reduced dim; DTypeError where an integer tensor has no meaningful result (mean, var, std, norm, logsumexp).
#pragma once

#include <tally/core/dims.h>
#include <tally/core/tensor.h>

namespace tally {

/// Sum; of nothing 0. Integers and bool give int64. Gradient: the upstream one, spread out (a view).
Tensor sum(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
/// Sum / n; of nothing NaN. Overflows in float32 and float64 where the sum does.
Tensor mean(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
/// Product, with unbounded exponent in between; of nothing 1. Integers and bool give int64 (wrapping). The gradient is
/// the product of the others, never P / x: exact at zeros. Only results can leave the range, of second derivatives too.
Tensor prod(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
/// Largest value; NaN if one is in the list. The gradient goes to the first index in row-major order.
Tensor max(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
Tensor min(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
/// Largest value; the gradient is shared evenly between all that tie. -0 orders below +0.
Tensor amax(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
Tensor amin(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
/// int64 place of the first largest (smallest) element in the row-major list of the reduced dims; the first NaN counts
/// as the extreme. No gradient.
Tensor argmax(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
Tensor argmin(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());

/// Values of the input's dtype and the int64 places where they stood.
struct ValuesAndIndices {
  Tensor values, indices;
};
/// max(x, dim) and argmax(x, dim) in one read.
ValuesAndIndices max_with_index(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
ValuesAndIndices min_with_index(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());

/// Whether any (every) element is not 0; bool. Of nothing false (true). No gradient.
Tensor any(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
Tensor all(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());
/// How many elements are not 0; int64. No gradient.
Tensor count_nonzero(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());

/// (sum |x|^p)^(1/p) for any real p, also 0 (how many are not 0), negative and +-inf (largest, smallest magnitude); of
/// nothing 0. Neither overflows nor underflows in between. The gradient at the zero vector is 0.
Tensor norm(const Tensor& x, double p = 2, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());

/// Variance with divisor n - correction. The default is `population` (0), as in NumPy and the array API; PyTorch's is
/// `sample` (1). Of fewer than correction + 1 elements: NaN. Merged as Chan, Golub and LeVeque do (Algorithms for
/// computing the sample variance, 1983).
Tensor var(const Tensor& x, Dims dims = {}, Correction correction = population, KeepDim keep = {},
           Where where = Where::here());
/// Square root of var, same default: `population`. The gradient at zero spread is 0.
Tensor std(const Tensor& x, Dims dims = {}, Correction correction = population, KeepDim keep = {},
           Where where = Where::here());
/// Both of one dtype and shape.
struct VarAndMean {
  Tensor var, mean;
};
/// var(x) and mean(x) in one read; the mean by way of the deviations from the first element.
VarAndMean var_mean(const Tensor& x, Dims dims = {}, Correction correction = population, KeepDim keep = {},
                    Where where = Where::here());

/// log(sum exp(x)), the maximum taken out first; of nothing -inf. +inf where one is in the list; the gradient is then
/// shared among the infinities. Blanchard, Higham, Higham: Accurately computing the log-sum-exp and softmax functions,
/// 2021.
Tensor logsumexp(const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here());

/// `x` summed over the dims in which it was broadcast from `shape`: the backward of broadcasting.
Tensor sum_to(const Tensor& x, const Shape& shape, Where where = Where::here());

}  // namespace tally
