// Checks that every op makes before it looks at its operands.
#pragma once

#include <tally/core/tensor.h>

namespace tally::detail {

/// ShapeError in the op's name unless `x` is defined.
void require_defined(const char* op, const Tensor& x, Where where);

}  // namespace tally::detail
