// A chart's axis: a range that ends at round numbers, with round ticks.
#pragma once

#include <string>
#include <vector>

namespace tally::examples {

struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<double> ticks;

  /// Place of a value: 0 at `low`, 1 at `high`, kept to that range.
  double at(double value) const;
};

/// Covers low to high with about `ticks` steps of 1, 2 or 5 times a power of ten.
Axis linear_axis(double low, double high, int ticks);

/// The same for 0 < low <= high on a logarithmic scale: ticks at 1, 2 and 5 times powers of ten, or the powers alone.
Axis log_axis(double low, double high);

/// Logarithmic where the values are positive and the largest is 20 times the smallest.
Axis axis_for(double low, double high, int ticks);

/// A tick as short as it can be: "0.05", "2", "1e-5".
std::string tick_label(double value);

}  // namespace tally::examples
