#include <tally/examples/clip/picture.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <tally/examples/support/panel.h>
#include <tally/examples/support/text.h>

namespace tally::examples {
namespace {

using Steps = std::vector<AdderStep>;

constexpr double kWidth = 980, kHeight = 640, kPanelWidth = 390, kPanelHeight = 190;
constexpr double kBeyond = 100;  // how far above the clipped run's values the frame reaches
const std::array kLegend{LegendEntry{"without clipping", "orange"}, LegendEntry{"clipped", "blue"}};

// The first `count` values as a curve; a value that is not finite ends it.
Points curve(const Steps& steps, double AdderStep::*value, std::size_t count) {
  Points points;
  for (std::size_t i = 0; i < std::min(count, steps.size()); ++i)
    points.emplace_back(static_cast<double>(i), steps[i].*value);
  return points;
}

Axis step_axis(std::size_t count) {
  const double last = std::max(1.0, static_cast<double>(count) - 1);
  Axis axis = linear_axis(0, last, 5);
  axis.high = last;
  std::erase_if(axis.ticks, [&](double tick) { return tick > last; });
  return axis;
}

Panel draw(Svg& svg, Box box, const std::string& title, const Steps& unclipped, const Steps& clipped,
           double AdderStep::*value, std::size_t count, std::span<const LegendEntry> legend, double limit) {
  Range range;
  if (limit > 0) range.cover(limit);
  for (const auto& [x, y] : curve(clipped, value, clipped.size())) range.cover(y);
  if (!range.empty()) range.high *= kBeyond;
  Panel panel(svg, box, step_axis(count), range.axis(5), "");
  panel.frame(title, legend);
  panel.line(curve(clipped, value, count), "blue");
  panel.line(curve(unclipped, value, count), "orange");
  if (unclipped.size() <= 40) panel.dots(curve(unclipped, value, count), "orange");
  return panel;
}

}  // namespace

std::string clip_svg(const Steps& unclipped, const Steps& clipped, double max_norm) {
  const std::string title = "An exploding loss, with and without gradient clipping";
  Svg svg(kWidth, kHeight, title);
  svg.text(64, 40, "start", "head", title);
  const bool finite = std::isfinite(unclipped.back().loss) && std::isfinite(unclipped.back().gradient_norm);
  svg.text(64, 62, "start", "muted",
           std::string("h = w·h + u·x learns to add up a list; the run without clipping ") +
               (finite ? "stays finite for " : "ends after ") + std::to_string(unclipped.size()) + " steps; limit " +
               print("%g", max_norm));
  const std::size_t first = std::min(clipped.size(), 3 * unclipped.size()), all = clipped.size();
  const auto row = [&](double y, const std::string& what, double AdderStep::*value, double limit) {
    for (const bool whole : {false, true}) {
      const Box box{whole ? 540.0 : 64.0, y, kPanelWidth, kPanelHeight};
      Panel panel =
          draw(svg, box, what + (whole ? "" : ", first steps"), unclipped, clipped, value, whole ? all : first,
               whole ? std::span<const LegendEntry>(kLegend) : std::span<const LegendEntry>(), limit);
      if (limit > 0) {
        panel.level(limit, "limit");
        svg.text(box.x + box.width / 2, box.y + box.height + 40, "middle", "muted", "step");
      }
    }
  };
  row(112, "Loss", &AdderStep::loss, 0);
  row(386, "Gradient norm", &AdderStep::gradient_norm, max_norm);
  return svg.str();
}

}  // namespace tally::examples
