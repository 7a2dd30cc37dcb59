// Choice by a condition.
#pragma once

#include <tally/ops/elementwise_op.h>

namespace tally {

/// `a` where `condition` is not 0, else `b`. All three broadcast; dtypes and numbers as in binary.h. The gradient of a
/// side not chosen is 0, whatever comes from above.
Tensor where(const Tensor& condition, const Operand& a, const Operand& b, Where where = Where::here());

/// `x` with `value` where `mask` is not 0; `mask` broadcasts to x.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value, Where where = Where::here());

}  // namespace tally
