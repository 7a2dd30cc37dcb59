// A picture as SVG text: a few shapes in named classes, whose colours follow the reader's light or dark theme. Nothing
// in it refers to anything outside.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tally::examples {

using Points = std::vector<std::pair<double, double>>;

/// Text with &, <, >, " and control characters made harmless.
std::string svg_escape(const std::string& text);

class Svg {
 public:
  /// The title is read aloud by screen readers and shown on hover.
  Svg(double width, double height, const std::string& title);

  // `style` names classes of the style sheet: for strokes blue orange violet green grid axis with thin faint wide dash;
  // for areas blue-fill orange-fill violet-fill green-fill empty-fill; for text muted on small bold head.
  void line(double x1, double y1, double x2, double y2, const std::string& style);
  void rect(double x, double y, double width, double height, double radius, const std::string& style,
            double opacity = 1);
  void dot(double x, double y, double radius, const std::string& style);
  void polyline(const Points& points, const std::string& style);
  void polygon(const Points& points, const std::string& style, double opacity);
  /// `anchor` is start, middle or end; `angle` in degrees turns the text about its anchor.
  void text(double x, double y, const std::string& anchor, const std::string& style, const std::string& text,
            double angle = 0);

  /// The whole document.
  std::string str() const { return body_ + "</svg>\n"; }

 private:
  void shape(const std::string& head, const Points& points, const std::string& tail);
  std::string body_;
};

}  // namespace tally::examples
