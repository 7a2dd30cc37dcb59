// Whether a result is the expected one. The tolerance stands here and nowhere else.
#pragma once

#include <string>

#include <tally/core/tensor.h>

namespace tally::conformance {

inline constexpr double kRelative = 1e-9, kAbsolute = 1e-12;

/// Empty where `got` is `expected`, else what differs first: "at [0, 2]: got 1, expected 2". Floats agree within the
/// larger of kAbsolute and kRelative·|expected|, NaN with NaN and an infinity with itself; integers and bools exactly.
std::string difference(const Tensor& got, const Tensor& expected);

}  // namespace tally::conformance
