#include <algorithm>
#include <cmath>

#include <tally/examples/support/confusion.h>
#include <tally/examples/support/svg.h>
#include <tally/examples/support/text.h>

namespace tally::examples {

namespace {

constexpr double kTop = 112, kBarWidth = 96, kCharacter = 6.6;

// Right and wrong have a colour each, and their strengths follow the share of the true class: a few mistakes among many
// right answers stay visible because the strength grows with the square root.
double strength(double share) { return std::clamp(0.06 + 0.9 * std::sqrt(share), 0.1, 0.96); }

class Picture {
 public:
  Picture(const Confusion& confusion, const std::string& title)
      : confusion_(confusion),
        classes_(static_cast<double>(confusion.classes())),
        cell_(std::clamp(440 / classes_, 9.0, 44.0)),
        names_(static_cast<double>(longest_name()) * kCharacter),
        left_(std::max(64.0, names_ + 52)),
        side_(cell_ * classes_),
        recall_(std::max(left_ + side_ + 24, left_ + 160)),  // clear of the legend
        turned_(names_ > cell_ - 4),
        svg_(recall_ + kBarWidth + 68, kTop + side_ + (turned_ ? names_ * 0.72 : 0) + 68, title) {
    svg_.text(left_, 40, "start", "head", title);
  }

  std::string draw() {
    summary();
    if (dense()) svg_.rect(left_, kTop, side_, side_, 2, "empty-fill");
    for (std::int64_t truth = 0; truth < confusion_.classes(); ++truth) {
      for (std::int64_t predicted = 0; predicted < confusion_.classes(); ++predicted) cell(truth, predicted);
      names(truth);
      recall(truth);
    }
    axes();
    return svg_.str();
  }

 private:
  std::size_t longest_name() const {
    std::size_t longest = 0;
    for (std::int64_t i = 0; i < confusion_.classes(); ++i)
      longest = std::max(longest, display_width(confusion_.name(i)));
    return longest;
  }
  double x_of(std::int64_t predicted) const { return left_ + static_cast<double>(predicted) * cell_; }
  double y_of(std::int64_t truth) const { return kTop + static_cast<double>(truth) * cell_; }
  // Many small cells share one ground.
  bool dense() const { return cell_ < 20; }
  // With very many classes every label would lie on the next.
  bool labelled(std::int64_t i) const { return cell_ >= 12 || i % 2 == 0; }

  void summary() {
    const std::int64_t total = confusion_.total(), wrong = total - confusion_.correct();
    if (total == 0) return svg_.text(left_, 62, "start", "muted", "nothing counted");
    svg_.text(left_, 62, "start", "muted",
              print("%.2f %%", 100 * confusion_.accuracy()) + " of " + std::to_string(total) + " right, " +
                  std::to_string(wrong) + " wrong");
  }

  void cell(std::int64_t truth, std::int64_t predicted) {
    const double x = x_of(predicted), y = y_of(truth), gap = dense() ? 1 : 2, radius = dense() ? 1 : 4;
    const std::int64_t n = confusion_.count(truth, predicted);
    if (!dense()) svg_.rect(x + gap / 2, y + gap / 2, cell_ - gap, cell_ - gap, radius, "empty-fill");
    if (n == 0) return;
    const double shade = strength(static_cast<double>(n) / static_cast<double>(confusion_.total_of(truth)));
    svg_.rect(x + gap / 2, y + gap / 2, cell_ - gap, cell_ - gap, radius,
              truth == predicted ? "blue-fill" : "orange-fill", shade);
    const std::string digits = std::to_string(n);
    if (static_cast<double>(digits.size()) * kCharacter + 4 <= cell_)
      svg_.text(x + cell_ / 2, y + cell_ / 2 + 4, "middle", shade > 0.6 ? "on small" : "small", digits);
  }

  void names(std::int64_t i) {
    if (!labelled(i)) return;
    const double below = kTop + side_;
    svg_.text(left_ - 8, y_of(i) + cell_ / 2 + 4, "end", "small", confusion_.name(i));
    if (turned_)
      svg_.text(x_of(i) + cell_ / 2 + 4, below + 14, "end", "small", confusion_.name(i), -45);
    else
      svg_.text(x_of(i) + cell_ / 2, below + 16, "middle", "small", confusion_.name(i));
  }

  void recall(std::int64_t truth) {
    if (confusion_.total_of(truth) == 0) return;
    const double x = recall_, y = y_of(truth) + cell_ / 2, thick = std::min(10.0, cell_ * 0.6);
    const double share = confusion_.recall(truth);
    svg_.rect(x, y - thick / 2, kBarWidth, thick, thick / 2, "empty-fill");
    if (share > 0) svg_.rect(x, y - thick / 2, std::max(share * kBarWidth, thick), thick, thick / 2, "blue-fill");
    if (labelled(truth)) svg_.text(x + kBarWidth + 8, y + 4, "start", "small", print("%.1f %%", 100 * share));
  }

  void axes() {
    svg_.text(left_ + side_ / 2, kTop + side_ + (turned_ ? names_ * 0.72 : 0) + 44, "middle", "muted",
              "predicted class");
    svg_.text(left_ - names_ - 26, kTop + side_ / 2, "middle", "muted", "true class", -90);
    svg_.text(recall_, kTop - 14, "start", "muted", "recall");
    svg_.rect(left_, kTop - 23, 12, 8, 2, "blue-fill");
    svg_.text(left_ + 18, kTop - 14, "start", "muted", "right");
    svg_.rect(left_ + 64, kTop - 23, 12, 8, 2, "orange-fill");
    svg_.text(left_ + 82, kTop - 14, "start", "muted", "mistaken");
  }

  const Confusion& confusion_;
  double classes_, cell_, names_, left_, side_, recall_;
  bool turned_;
  Svg svg_;
};

}  // namespace

std::string Confusion::svg(const std::string& title) const { return Picture(*this, title).draw(); }

}  // namespace tally::examples
