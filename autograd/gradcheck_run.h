// What gradcheck and gradgradcheck are made of.
#pragma once

#include <tally/autograd/gradcheck_probe.h>

namespace tally::detail {

/// ValueError where an input is undefined or none is floating.
void require_inputs(const char* op, const std::vector<Tensor>& inputs, Where where);

/// The whole check of one of an op's two gradients.
GradCheck check_gradients(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options,
                          Backward backward);

}  // namespace tally::detail
