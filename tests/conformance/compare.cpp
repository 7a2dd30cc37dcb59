#include "compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tally::conformance {
namespace {

bool agree(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected) || !std::isfinite(got)) return got == expected;
  return std::abs(got - expected) <= std::max(kAbsolute, kRelative * std::abs(expected));
}
bool agree(std::int64_t got, std::int64_t expected) { return got == expected; }

std::string text(double x) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", x);
  return buffer;
}
std::string text(std::int64_t x) { return std::to_string(x); }

std::string place(const Shape& shape, std::int64_t i) {
  Shape coordinates = shape;
  for (int d = shape.size() - 1; d >= 0; --d) {
    coordinates[d] = i % shape[d];
    i /= shape[d];
  }
  return to_string(coordinates);
}

template <class T> std::string first_difference(const Tensor& got, const Tensor& expected) {
  const std::vector<T> a = got.to_vector<T>(), b = expected.to_vector<T>();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!agree(a[i], b[i]))
      return "at " + place(expected.shape(), static_cast<std::int64_t>(i)) + ": got " + text(a[i]) + ", expected " +
             text(b[i]);
  return "";
}

}  // namespace

std::string difference(const Tensor& got, const Tensor& expected) {
  if (got.shape() != expected.shape())
    return "shape: got " + to_string(got.shape()) + ", expected " + to_string(expected.shape());
  if (got.dtype() != expected.dtype())
    return std::string("dtype: got ") + name_of(got.dtype()) + ", expected " + name_of(expected.dtype());
  return is_floating(expected.dtype()) ? first_difference<double>(got, expected)
                                       : first_difference<std::int64_t>(got, expected);
}

}  // namespace tally::conformance
