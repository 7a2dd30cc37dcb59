// The rule for changes in place, for all methods with a trailing underscore.
#pragma once

#include <tally/core/tensor.h>

namespace tally::detail {

/// AutogradError for a tensor with a node, or for a leaf that requires grad outside no_grad: a node would silently go
/// stale.
void require_in_place(const char* op, const Tensor& tensor, Where where);

/// AutogradError outside no_grad for a source that requires grad: nothing is recorded, so its gradient would silently
/// miss this use.
void require_no_gradient(const char* op, const Tensor& source, Where where);

/// ShapeError for an expanded tensor: written twice, an element would keep one of the results.
void require_own_elements(const char* op, const Tensor& tensor, Where where);

/// Whether writing `target` element by element may change what is still to be read of `other`.
bool reads_what_is_written(const Tensor& target, const Tensor& other);

}  // namespace tally::detail
