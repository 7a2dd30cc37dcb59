#include <tally/examples/support/panel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace tally::examples {

namespace {

bool finite(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

// Calls `f` with each longest run of finite points.
template <class F> void for_each_run(const Points& values, F&& f) {
  for (auto begin = values.begin(); begin != values.end();) {
    begin = std::find_if(begin, values.end(), finite);
    const auto end = std::find_if_not(begin, values.end(), finite);
    if (begin != end) f(Points(begin, end));
    begin = end;
  }
}

struct Summary {
  Points low, high, mean;
};

// At most 160 groups of neighbours, each reduced to its finite values' range and mean.
Summary summarise(const Points& values) {
  constexpr std::size_t kGroups = 160;
  const std::size_t size = (values.size() + kGroups - 1) / kGroups;
  Summary summary;
  for (std::size_t i = 0; i < values.size(); i += size) {
    double low = std::numeric_limits<double>::infinity(), high = -low, x = 0, y = 0, count = 0;
    for (std::size_t j = i; j < std::min(i + size, values.size()); ++j) {
      if (!finite(values[j])) continue;
      low = std::min(low, values[j].second);
      high = std::max(high, values[j].second);
      x += values[j].first;
      y += values[j].second;
      ++count;
    }
    x /= count;  // not a number where the group has no value: a gap
    summary.low.emplace_back(x, low);
    summary.high.emplace_back(x, high);
    summary.mean.emplace_back(x, y / count);
  }
  return summary;
}

}  // namespace

void Range::cover(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

void Range::cover(const Points& points) {
  for (const auto& [x, y] : points) cover(y);
}

Axis Range::axis(int ticks) const { return empty() ? linear_axis(0, 1, ticks) : axis_for(low, high, ticks); }

Panel::Panel(Svg& svg, Box box, Axis x, Axis y, std::string unit)
    : svg_(svg), box_(box), x_(std::move(x)), y_(std::move(y)), unit_(std::move(unit)) {}

void Panel::frame(const std::string& title, std::span<const LegendEntry> legend) {
  svg_.text(box_.x, box_.y - 14, "start", "bold", title);
  double right = box_.x + box_.width;
  for (auto entry = legend.rbegin(); entry != legend.rend(); ++entry) {
    svg_.text(right, box_.y - 14, "end", "muted", entry->text);
    right -= 6.2 * static_cast<double>(entry->text.size()) + 8;
    svg_.rect(right - 12, box_.y - 22, 12, 8, 2, entry->colour + "-fill");
    right -= 12 + 16;
  }
  for (const double tick : y_.ticks) {
    svg_.line(box_.x, py(tick), box_.x + box_.width, py(tick), tick == y_.low ? "axis" : "grid");
    svg_.text(box_.x - 8, py(tick) + 4, "end", "small muted", tick_label(tick) + unit_);
  }
  for (const double tick : x_.ticks) {
    svg_.line(px(tick), box_.y + box_.height, px(tick), box_.y + box_.height + 4, "axis");
    svg_.text(px(tick), box_.y + box_.height + 18, "middle", "small muted", tick_label(tick));
  }
}

void Panel::line(const Points& values, const std::string& colour) {
  for_each_run(values, [&](Points run) {
    for (auto& [x, y] : run) std::tie(x, y) = std::pair(px(x), py(y));
    if (run.size() == 1) svg_.dot(run[0].first, run[0].second, 2.5, colour + "-fill");
    svg_.polyline(run, colour + " wide");
  });
}

void Panel::dots(const Points& values, const std::string& colour) {
  for (const auto& [x, y] : values)
    if (std::isfinite(y)) svg_.dot(px(x), py(y), 2.5, colour + "-fill");
}

void Panel::band(const Points& values, const std::string& colour, const std::string& line_style) {
  const Summary summary = summarise(values);
  Points low, high, mean;
  for (std::size_t i = 0; i <= summary.mean.size(); ++i) {
    if (i < summary.mean.size() && finite(summary.mean[i])) {
      const double x = px(summary.mean[i].first);
      low.emplace_back(x, py(summary.low[i].second));
      high.emplace_back(x, py(summary.high[i].second));
      mean.emplace_back(x, py(summary.mean[i].second));
      continue;
    }
    if (mean.empty()) continue;
    Points outline = high;
    outline.insert(outline.end(), low.rbegin(), low.rend());
    svg_.polygon(outline, colour + "-fill", 0.16);
    svg_.polyline(mean, colour + " " + line_style);
    low.clear(), high.clear(), mean.clear();
  }
}

void Panel::bars(const Points& values, double width, const std::string& colour) {
  const double wide = std::clamp(px(width) - px(0), 1.0, 36.0), base = box_.y + box_.height;
  for (const auto& [x, y] : values)
    if (std::isfinite(y) && base - py(y) > 0)
      svg_.rect(px(x) - wide / 2, py(y), wide, base - py(y), std::min(2.0, wide / 4), colour + "-fill", 0.85);
}

void Panel::level(double y, const std::string& text) {
  svg_.line(box_.x, py(y), box_.x + box_.width, py(y), "orange dash");
  svg_.text(box_.x + box_.width + 6, py(y) + 4, "start", "small", text);
}

void Panel::end_labels(const std::vector<std::pair<double, std::string>>& labels) {
  constexpr double kApart = 14;
  std::vector<std::pair<double, std::string>> placed;
  for (const auto& [value, text] : labels)
    if (std::isfinite(value)) placed.emplace_back(py(value), text);
  std::sort(placed.begin(), placed.end());
  for (std::size_t i = 1; i < placed.size(); ++i) {
    const double overlap = kApart - (placed[i].first - placed[i - 1].first);
    if (overlap <= 0) continue;
    placed[i - 1].first -= overlap / 2;
    placed[i].first += overlap / 2;
  }
  for (const auto& [y, text] : placed) svg_.text(box_.x + box_.width + 6, y + 4, "start", "small", text);
}

void Panel::note(const std::string& text) {
  svg_.text(box_.x + box_.width / 2, box_.y + box_.height / 2, "middle", "muted", text);
}

}  // namespace tally::examples
