// The gradients of the reductions as recorded ops, for create_graph: first derivatives that can be derived again.
#pragma once

#include <functional>

#include <tally/core/tensor.h>
#include <tally/ops/reductions.h>

namespace tally {

/// d loss / d x for the upstream gradient `grad`. `y` and `grad` have the reduced dims as size 1; n is the list length.
/// `fused` gives the same for any upstream gradient as plain values; where the derivative is piecewise constant they
/// are all there is.
Tensor recorded_gradient(const Reduction& op, const Tensor& x, const Tensor& y, const Tensor& grad, std::int64_t n,
                         const std::function<Tensor(const Tensor& grad)>& fused);

/// The same of prod; `value` is the result.
Tensor recorded_prod_gradient(const Tensor& x, const Tensor& grad, std::int64_t n, const Tensor& value);

}  // namespace tally
