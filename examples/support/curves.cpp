#include <tally/examples/support/curves.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <tally/examples/support/panel.h>
#include <tally/examples/support/text.h>

namespace tally::examples {

namespace {

constexpr double kWidth = 980, kHeight = 640, kPanelWidth = 370, kPanelHeight = 190;
constexpr Box kLoss{64, 112, kPanelWidth, kPanelHeight}, kAccuracy{544, 112, kPanelWidth, kPanelHeight};
constexpr Box kNorm{64, 386, kPanelWidth, kPanelHeight}, kClipped{544, 386, kPanelWidth, kPanelHeight};

Points epochs_of(const History& history, double EpochMetrics::*value, double scale = 1) {
  Points points;
  for (const EpochMetrics& epoch : history.epochs)
    points.emplace_back(static_cast<double>(epoch.epoch), epoch.*value * scale);
  return points;
}

Points steps_of(const History& history, double StepMetrics::*value) {
  Points points;
  for (const StepMetrics& step : history.steps) points.emplace_back(step.epoch, step.*value);
  return points;
}

Axis epoch_axis(const History& history) {
  double last = 1;
  for (const EpochMetrics& epoch : history.epochs) last = std::max(last, static_cast<double>(epoch.epoch));
  for (const StepMetrics& step : history.steps) last = std::max(last, step.epoch);
  Axis axis = linear_axis(0, last, last < 6 ? static_cast<int>(std::ceil(last)) : 6);
  axis.high = last;  // the curves end where the panel does
  std::erase_if(axis.ticks, [&](double tick) { return tick > last || tick != std::floor(tick); });
  return axis;
}

double last_of(const Points& points) { return points.empty() ? kNotMeasured : points.back().second; }

void lines(Panel& panel, const Points& train, const Points& test, const char* format) {
  panel.line(train, "blue");
  panel.line(test, "orange");
  if (train.size() <= 40) {
    panel.dots(train, "blue");
    panel.dots(test, "orange");
  }
  panel.end_labels({{last_of(train), print(format, last_of(train))}, {last_of(test), print(format, last_of(test))}});
}

const std::array kTrainTest{LegendEntry{"train", "blue"}, LegendEntry{"test", "orange"}};

void draw_loss(Svg& svg, const History& history, const Axis& x) {
  const Points train = epochs_of(history, &EpochMetrics::train_loss),
               test = epochs_of(history, &EpochMetrics::test_loss);
  const Points steps = steps_of(history, &StepMetrics::loss);
  Range range;
  for (const Points* points : {&train, &test, &steps}) range.cover(*points);
  Panel panel(svg, kLoss, x, range.axis(5), "");
  panel.frame("Loss", kTrainTest);
  if (range.empty()) return panel.note("not measured");
  panel.band(steps, "blue", "faint");
  lines(panel, train, test, "%.3g");
}

void draw_accuracy(Svg& svg, const History& history, const Axis& x) {
  const Points train = epochs_of(history, &EpochMetrics::train_accuracy, 100);
  const Points test = epochs_of(history, &EpochMetrics::test_accuracy, 100);
  Range range;
  range.cover(train);
  range.cover(test);
  Axis y = linear_axis(range.empty() ? 0 : range.low, range.empty() ? 100 : range.high, 5);
  y.high = std::min(y.high, 100.0);
  std::erase_if(y.ticks, [&](double tick) { return tick > y.high; });
  Panel panel(svg, kAccuracy, x, y, " %");
  panel.frame("Accuracy", kTrainTest);
  if (range.empty()) return panel.note("not measured");
  lines(panel, train, test, "%.2f %%");
}

void draw_norm(Svg& svg, const History& history, const Axis& x, double max_norm) {
  const Points steps = steps_of(history, &StepMetrics::gradient_norm);
  const Points epochs = epochs_of(history, &EpochMetrics::gradient_norm);
  Range range;
  range.cover(steps);
  range.cover(epochs);
  const bool measured = !range.empty();
  if (measured && max_norm > 0) range.cover(max_norm);
  Panel panel(svg, kNorm, x, range.axis(5), "");
  const std::array legend{LegendEntry{"step", "violet"}};
  panel.frame("Gradient norm before clipping", legend);
  if (!measured) return panel.note("not measured");
  if (steps.empty())
    panel.line(epochs, "violet");
  else
    panel.band(steps, "violet", "thin");
  if (max_norm > 0) panel.level(max_norm, "limit " + tick_label(max_norm));
}

void draw_clipped(Svg& svg, const History& history, const Axis& x) {
  const Points shares = epochs_of(history, &EpochMetrics::clipped_share, 100);
  Range range;
  range.cover(shares);
  Axis y = linear_axis(0, range.empty() ? 100 : std::max(range.high, 5.0), 5);
  y.high = std::min(y.high, 100.0);
  std::erase_if(y.ticks, [&](double tick) { return tick > y.high; });
  // A bar stands in the middle of its epoch.
  Points middles = shares;
  for (auto& [epoch, share] : middles) epoch -= 0.5;
  Panel panel(svg, kClipped, x, y, " %");
  panel.frame("Share of steps clipped", {});
  if (range.empty()) return panel.note("not measured");
  panel.bars(middles, 0.7, "green");
}

// Losses and norms that were measured and are not finite.
std::int64_t not_finite(const History& history) {
  std::int64_t count = 0;
  for (const StepMetrics& step : history.steps) count += !std::isfinite(step.loss) + !std::isfinite(step.gradient_norm);
  return count;
}

}  // namespace

std::string curves_svg(const History& history, const std::string& title, double max_norm) {
  Svg svg(kWidth, kHeight, title);
  svg.text(64, 40, "start", "head", title);
  std::string summary = std::to_string(history.epochs.size()) + (history.epochs.size() == 1 ? " epoch" : " epochs");
  if (!history.epochs.empty() && std::isfinite(history.epochs.back().test_accuracy))
    summary += print(", test accuracy %.2f %%", 100 * history.epochs.back().test_accuracy);
  if (const std::int64_t count = not_finite(history); count > 0)
    summary += ", " + std::to_string(count) + " values not finite";
  svg.text(64, 62, "start", "muted", summary);
  const Axis x = epoch_axis(history);
  draw_loss(svg, history, x);
  draw_accuracy(svg, history, x);
  draw_norm(svg, history, x, max_norm);
  draw_clipped(svg, history, x);
  for (const Box& box : {kNorm, kClipped})
    svg.text(box.x + box.width / 2, box.y + box.height + 40, "middle", "muted", "epoch");
  return svg.str();
}

}  // namespace tally::examples
