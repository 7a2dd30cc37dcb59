// The rule for changes in place, for all methods with a trailing underscore.
#pragma once

#include <tally/core/tensor.h>

namespace tally::detail {

/// AutogradError for a tensor with a node, or for a leaf that requires grad outside no_grad: a node would silently go
/// stale.
void require_in_place(const char* op, const Tensor& tensor, Where where);

}  // namespace tally::detail
