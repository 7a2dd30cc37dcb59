#include <tally/autograd/bits.h>

#include <cmath>
#include <cstdio>
#include <cstring>

namespace tally::detail {
namespace {

std::string digits(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}
std::string digits(std::int64_t x) { return std::to_string(x); }

// "3 of 12 elements differ, first at [0, 1]: 0.5 and 0.25".
template <class T, class Same>
std::string first_difference(const Shape& shape, const std::vector<T>& a, const std::vector<T>& b, Same same) {
  std::int64_t count = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (same(a[i], b[i])) continue;
    if (count++ == 0) first = static_cast<std::int64_t>(i);
  }
  if (count == 0) return "";
  const auto at = static_cast<std::size_t>(first);
  return std::to_string(count) + " of " + std::to_string(a.size()) + " elements differ, first at " +
         to_string(coordinates(shape, first)) + ": " + digits(a[at]) + " and " + digits(b[at]);
}

std::string kind_difference(const Tensor& a, const Tensor& b) {
  if (a.defined() && b.defined() && a.shape() == b.shape() && a.dtype() == b.dtype()) return "";
  return describe(a) + " and " + describe(b);
}

}  // namespace

Shape coordinates(const Shape& shape, std::int64_t i) {
  Shape at = shape;
  for (int d = shape.size() - 1; d >= 0; --d) {
    at[d] = i % shape[d];
    i /= shape[d];
  }
  return at;
}

std::string bit_difference(const Tensor& a, const Tensor& b) {
  if (!a.defined() && !b.defined()) return "";
  if (std::string kind = kind_difference(a, b); !kind.empty()) return kind;
  if (!is_floating(a.dtype()))
    return first_difference(a.shape(), a.to_vector<std::int64_t>(), b.to_vector<std::int64_t>(), std::equal_to<>());
  return first_difference(a.shape(), a.to_vector<double>(), b.to_vector<double>(), [](double x, double y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));  // widening keeps all bits
  });
}

std::string difference(const Tensor& a, const Tensor& b, Near near) {
  if (!a.defined() && !b.defined()) return "";
  if (std::string kind = kind_difference(a, b); !kind.empty()) return kind;
  return first_difference(a.shape(), a.to_vector<double>(), b.to_vector<double>(), [near](double x, double y) {
    if (x == y || (std::isnan(x) && std::isnan(y))) return true;
    return std::isfinite(x) && std::isfinite(y) && std::abs(x - y) <= near.rtol * std::abs(y) + near.atol;
  });
}

}  // namespace tally::detail
