// The gradients of the reductions as recorded ops, for create_graph: first derivatives that can be derived again.
#pragma once

#include <functional>

#include <tally/core/tensor.h>
#include <tally/ops/reductions.h>

namespace tally {

/// d loss / d x for the upstream gradient `grad`. `y` and `grad` have the reduced dims as size 1; n is the list length.
/// `slope` gives dy/dx as plain values, for ops whose derivative is piecewise constant.
Tensor recorded_gradient(const Reduction& op, const Tensor& x, const Tensor& y, const Tensor& grad, std::int64_t n,
                         const std::function<Tensor()>& slope);

}  // namespace tally
