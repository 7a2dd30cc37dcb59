#include <tally/examples/support/svg.h>

#include <array>
#include <cstdio>

namespace tally::examples {

namespace {

constexpr const char* kStyle = R"(<style>
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; font-size: 12px; font-variant-numeric: tabular-nums; fill: #1f2328 }
text.muted { fill: #656d76 }
text.on { fill: #ffffff }
text.small { font-size: 11px }
text.bold { font-size: 14px; font-weight: 600 }
text.head { font-size: 18px; font-weight: 600 }
.ground { fill: #ffffff }
.grid { stroke: #e4e7eb; stroke-width: 1 }
.axis { stroke: #8c959f; stroke-width: 1 }
.blue { stroke: #2563c9 } .orange { stroke: #d9590b } .violet { stroke: #7a4cc2 } .green { stroke: #12805f }
.blue-fill { fill: #2563c9 } .orange-fill { fill: #d9590b } .violet-fill { fill: #7a4cc2 } .green-fill { fill: #12805f }
.empty-fill { fill: #f3f5f7 }
.thin { stroke-width: 1.4 } .faint { stroke-width: 1.2; stroke-opacity: 0.5 } .wide { stroke-width: 2.2 } .dash { stroke-width: 1.4; stroke-dasharray: 5 4 }
polyline { fill: none; stroke-linejoin: round; stroke-linecap: round }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
text.muted { fill: #98a2ad }
text.on { fill: #0d1117 }
.ground { fill: #0d1117 }
.grid { stroke: #262d36 }
.axis { stroke: #6e7681 }
.blue { stroke: #6ea8ff } .orange { stroke: #ff9a52 } .violet { stroke: #b99bff } .green { stroke: #4fcf9f }
.blue-fill { fill: #6ea8ff } .orange-fill { fill: #ff9a52 } .violet-fill { fill: #b99bff } .green-fill { fill: #4fcf9f }
.empty-fill { fill: #161b22 }
}
</style>
)";

// A tenth of a pixel is finer than the eye, and keeps the files small.
std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  std::string digits = text.data();
  if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
  return digits == "-0" ? "0" : digits;
}

std::string attribute(const char* name, double value) { return std::string(" ") + name + "=\"" + number(value) + "\""; }

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + svg_escape(value) + "\"";
}

std::string opacity_of(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), " fill-opacity=\"%.3g\"", value);
  return value == 1 ? "" : text.data();
}

}  // namespace

std::string svg_escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

Svg::Svg(double width, double height, const std::string& title) {
  body_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 " + number(width) + " " +
          number(height) + "\"" + attribute("width", width) + attribute("height", height) + ">\n<title>" +
          svg_escape(title) + "</title>\n" + kStyle;
  rect(0, 0, width, height, 0, "ground");
}

void Svg::line(double x1, double y1, double x2, double y2, const std::string& style) {
  body_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) +
           attribute("class", style) + "/>\n";
}

void Svg::rect(double x, double y, double width, double height, double radius, const std::string& style,
               double opacity) {
  body_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) + attribute("height", height) +
           (radius > 0 ? attribute("rx", radius) : "") + attribute("class", style) + opacity_of(opacity) + "/>\n";
}

void Svg::dot(double x, double y, double radius, const std::string& style) {
  body_ +=
      "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) + attribute("class", style) + "/>\n";
}

void Svg::shape(const std::string& head, const Points& points, const std::string& tail) {
  body_ += head + " points=\"";
  for (const auto& [x, y] : points) body_ += number(x) + "," + number(y) + " ";
  if (!points.empty()) body_.pop_back();
  body_ += "\"" + tail + "/>\n";
}

void Svg::polyline(const Points& points, const std::string& style) {
  shape("<polyline", points, attribute("class", style));
}

void Svg::polygon(const Points& points, const std::string& style, double opacity) {
  shape("<polygon", points, attribute("class", style) + opacity_of(opacity));
}

void Svg::text(double x, double y, const std::string& anchor, const std::string& style, const std::string& text,
               double angle) {
  body_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("text-anchor", anchor) +
           (style.empty() ? "" : attribute("class", style));
  if (angle != 0) body_ += attribute("transform", "rotate(" + number(angle) + " " + number(x) + " " + number(y) + ")");
  body_ += ">" + svg_escape(text) + "</text>\n";
}

}  // namespace tally::examples
