// What every reduction should give: plain loops in long double, written from the definitions alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <tally/core/shape.h>

namespace tally::test::reference {

using List = std::vector<double>;
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

/// The lists that reducing `dims` (true: reduced) of row-major `values` makes, in row-major order of the kept dims.
inline std::vector<List> lists_of(const List& values, const Shape& shape, const std::vector<bool>& reduced) {
  std::int64_t outputs = 1;
  for (int d = 0; d < shape.size(); ++d)
    if (!reduced[static_cast<std::size_t>(d)]) outputs *= shape[d];
  std::vector<List> lists(static_cast<std::size_t>(outputs));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), output = 0, weight = 1;
    for (int d = shape.size() - 1; d >= 0; rest /= shape[d], --d)
      if (!reduced[static_cast<std::size_t>(d)]) {
        output += rest % shape[d] * weight;
        weight *= shape[d];
      }
    lists[static_cast<std::size_t>(output)].push_back(values[i]);
  }
  return lists;
}

inline double sum(const List& x) {
  long double s = 0;
  for (double v : x) s += v;
  return static_cast<double>(s);
}
inline double sum_of_magnitudes(const List& x) {
  long double s = 0;
  for (double v : x) s += std::abs(v);
  return static_cast<double>(s);
}
inline double mean(const List& x) {
  return x.empty() ? kNan : static_cast<double>(sum(x) / static_cast<long double>(x.size()));
}
inline double prod(const List& x) {
  long double p = 1;
  for (double v : x) p *= v;
  return static_cast<double>(p);
}
/// Where the first extreme stands; the first NaN counts as the extreme.
inline std::size_t place(const List& x, bool largest) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::isnan(x[i])) return i;
  std::size_t at = 0;
  for (std::size_t i = 1; i < x.size(); ++i)
    if (largest ? x[i] > x[at] : x[i] < x[at]) at = i;
  return at;
}
inline double max(const List& x) { return x[place(x, true)]; }
inline double min(const List& x) { return x[place(x, false)]; }
inline double argmax(const List& x) { return static_cast<double>(place(x, true)); }
inline double argmin(const List& x) { return static_cast<double>(place(x, false)); }
inline double count_nonzero(const List& x) {
  std::int64_t count = 0;
  for (double v : x) count += v != 0;
  return static_cast<double>(count);
}
inline double any(const List& x) { return count_nonzero(x) > 0; }
inline double all(const List& x) { return count_nonzero(x) == static_cast<double>(x.size()); }

inline double norm(const List& x, double p) {
  if (x.empty()) return 0;
  if (p == 0) return count_nonzero(x);
  List size = x;
  for (double& v : size) v = std::abs(v);
  if (std::isinf(p)) return p > 0 ? max(size) : min(size);
  long double s = 0;
  for (double v : size) s += std::pow(static_cast<long double>(v), static_cast<long double>(p));
  return static_cast<double>(std::pow(s, 1.0L / p));
}
inline double var(const List& x, double correction) {
  const double divisor = static_cast<double>(x.size()) - correction;
  if (!(divisor > 0)) return kNan;
  long double total = 0, squares = 0;
  for (double v : x) total += v;
  const long double mean = total / static_cast<long double>(x.size());
  for (double v : x) squares += (v - mean) * (v - mean);
  return static_cast<double>(squares / divisor);
}
inline double std(const List& x, double correction) { return ::std::sqrt(var(x, correction)); }
inline double logsumexp(const List& x) {
  if (x.empty()) return -kInf;
  const double m = max(x);
  if (std::isnan(m) || std::isinf(m)) return m;
  long double s = 0;
  for (double v : x) s += std::exp(static_cast<long double>(v) - m);
  return static_cast<double>(m + std::log(s));
}

}  // namespace tally::test::reference
