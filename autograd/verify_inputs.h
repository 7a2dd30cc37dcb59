// The inputs at which verify_op tries an op, made of those it was given.
#pragma once

#include <string>
#include <vector>

#include <tally/autograd/verify_parts.h>

namespace tally::detail {

/// The least positive value of a floating dtype.
double smallest_subnormal(DType dtype);

/// Inputs that loops are often wrong at.
struct EdgeCase {
  std::string name;
  List inputs;
};
/// Nothing, one element, no dims; special values in one input, as the first element and everywhere.
std::vector<EdgeCase> edge_inputs(const List& inputs);

/// Repeated along the first dim until several threads share the work.
List enlarged(const List& inputs);

/// Floating ones in `dtype`, scaled until most values are subnormal.
List subnormal(const List& inputs, DType dtype);

}  // namespace tally::detail
