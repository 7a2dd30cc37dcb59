// Comparison of tensors that say where they differ.
#pragma once

#include <string>
#include <vector>

#include <tally/core/tensor.h>

namespace tally::detail {

/// How far two values may be apart: |a - b| <= rtol·|b| + atol.
struct Near {
  double rtol, atol;
};

/// Empty where dtype, shape and bits are equal, any NaN for any NaN; else what differs and where. Undefined tensors
/// equal each other.
std::string bit_difference(const Tensor& a, const Tensor& b);
/// The same for values that may be `near` apart; infinities are only near themselves, NaN is near NaN.
std::string difference(const Tensor& a, const Tensor& b, Near near);

/// Of lists, as compare(a[i], b[i]) tells: "result 1: ..." of the first that differs.
template <class Compare>
std::string list_difference(const char* what, const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                            Compare compare) {
  if (a.size() != b.size())
    return std::to_string(a.size()) + " of " + what + "s where there are " + std::to_string(b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const std::string text = compare(a[i], b[i]); !text.empty())
      return std::string(what) + " " + std::to_string(i) + ": " + text;
  return "";
}

/// Coordinates of element i of the row-major order.
Shape coordinates(const Shape& shape, std::int64_t i);

}  // namespace tally::detail
