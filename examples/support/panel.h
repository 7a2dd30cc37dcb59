// One chart in a picture: title, legend, grid and the series in it. Values that are not finite are gaps.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include <tally/examples/support/axis.h>
#include <tally/examples/support/svg.h>

namespace tally::examples {

struct Box {
  double x, y, width, height;
};

/// What a chart has to show of one axis: the range of all finite values.
struct Range {
  void cover(double value);
  void cover(const Points& points);
  bool empty() const { return low > high; }
  /// As axis_for; from 0 to 1 where there is nothing.
  Axis axis(int ticks) const;

  double low = std::numeric_limits<double>::infinity(), high = -low;
};

struct LegendEntry {
  std::string text, colour;
};

class Panel {
 public:
  /// `unit` stands behind each label of the y axis.
  Panel(Svg& svg, Box box, Axis x, Axis y, std::string unit);

  void frame(const std::string& title, std::span<const LegendEntry> legend);

  double px(double x) const { return box_.x + x_.at(x) * box_.width; }
  double py(double y) const { return box_.y + (1 - y_.at(y)) * box_.height; }

  void line(const Points& values, const std::string& colour);
  void dots(const Points& values, const std::string& colour);
  /// The range of each run of neighbouring values as a band, their mean as a line (thin or faint) in it.
  void band(const Points& values, const std::string& colour, const std::string& line_style);
  void bars(const Points& values, double width, const std::string& colour);
  void level(double y, const std::string& text);
  /// The last value of each series, written at its end, moved apart where they would overlap.
  void end_labels(const std::vector<std::pair<double, std::string>>& labels);
  void note(const std::string& text);

 private:
  Svg& svg_;
  Box box_;
  Axis x_, y_;
  std::string unit_;
};

}  // namespace tally::examples
