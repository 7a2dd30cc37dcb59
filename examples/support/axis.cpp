#include <tally/examples/support/axis.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tally::examples {

namespace {

double round_step(double rough) {
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power * 1.0001) return factor * power;
  return 10 * power;
}

}  // namespace

double Axis::at(double value) const {
  const double place = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(place, 0.0, 1.0);
}

Axis linear_axis(double low, double high, int ticks) {
  if (!(high - low > 1e-9 * std::max(std::abs(low), std::abs(high)))) {  // a single value gets room around it
    const double room = low == 0 ? 1 : std::abs(low) / 10;
    low -= room;
    high += room;
  }
  const double step = round_step((high - low) / ticks);
  const double first = std::floor(low / step + 1e-6), last = std::ceil(high / step - 1e-6);
  Axis axis{first * step, last * step, false, {}};
  for (double i = first; i <= last; ++i) axis.ticks.push_back(i * step);
  return axis;
}

Axis log_axis(double low, double high) {
  std::vector<double> marks;
  const int first = static_cast<int>(std::floor(std::log10(low))),
            last = static_cast<int>(std::floor(std::log10(high)));
  const bool powers_only = std::log10(high / low) > 2.5;
  for (int power = first; power <= last + 1; ++power)
    for (const double factor : {1.0, 2.0, 5.0})
      if (factor == 1 || !powers_only) marks.push_back(factor * std::pow(10.0, power));
  // From the last mark at or below `low` to the first at or above `high`.
  const auto begin = std::upper_bound(marks.begin(), marks.end(), low * 1.0001) - 1;
  auto end = std::lower_bound(begin, marks.end(), high * 0.9999) + 1;
  if (end - begin < 2) ++end;
  return {*begin, *(end - 1), true, {begin, end}};
}

Axis axis_for(double low, double high, int ticks) {
  return low > 0 && high >= 20 * low ? log_axis(low, high) : linear_axis(low, high, ticks);
}

std::string tick_label(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", std::abs(value) < 1e-12 ? 0.0 : value);
  std::string label = text.data();
  if (const auto zero = label.find("e-0"); zero != std::string::npos) label.erase(zero + 2, 1);
  if (const auto zero = label.find("e+0"); zero != std::string::npos) label.erase(zero + 1, 2);
  return label;
}

}  // namespace tally::examples
