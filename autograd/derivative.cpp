#include <tally/autograd/derivative.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

namespace tally {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kRows = 7;                                             // of the tableau: 2^6 between its steps
constexpr int kFirstStart = 4, kLastStart = 22, kBetweenStarts = 3;  // exponents: steps are scale·2^-k
constexpr int kKinkStep = 16;

// f around x, each point computed once.
class Differences {
 public:
  Differences(const std::function<double(double)>& f, double x, double scale) : f_(f), x_(x), scale_(scale) {}

  double step(int k) const { return std::ldexp(scale_, -k); }
  double central(int k) {
    const Pair& at = points(k);
    return (at.high - at.low) / ((x_ + step(k)) - (x_ - step(k)));
  }
  double left(int k) { return (middle() - points(k).low) / (x_ - (x_ - step(k))); }
  double right(int k) { return (points(k).high - middle()) / ((x_ + step(k)) - x_); }
  double gap(int k) { return right(k) - left(k); }

 private:
  struct Pair {
    double low, high;
  };
  const Pair& points(int k) {
    auto& pair = points_[static_cast<std::size_t>(k)];
    if (!pair) pair = Pair{f_(x_ - step(k)), f_(x_ + step(k))};
    return *pair;
  }
  double middle() {
    if (!middle_) middle_ = f_(x_);
    return *middle_;
  }

  const std::function<double(double)>& f_;
  double x_, scale_;
  std::array<std::optional<Pair>, kLastStart + kRows> points_;
  std::optional<double> middle_;
};

struct Extrapolated {
  double value = 0, estimate = std::numeric_limits<double>::infinity();
  double round_off = 0;
  int last = 0;  // the smallest step that was computed
  double tolerance() const { return 2 * estimate + 4 * round_off + 8 * kEpsilon * std::abs(value); }
  bool finite() const { return std::isfinite(value) && std::isfinite(estimate); }
};

// One tableau: row j starts at step k + j, column m has the errors up to h^(2m) taken out.
Extrapolated extrapolate(Differences& differences, int k, double noise) {
  std::array<std::array<double, kRows>, kRows> table{};
  Extrapolated best;
  for (int row = 0; row < kRows; ++row) {
    const double round_off = noise / differences.step(k + row);
    table[row][0] = differences.central(k + row);
    if (row == 0) best = {.value = table[0][0], .round_off = round_off, .last = k};
    double factor = 4;
    for (int column = 1; column <= row; ++column, factor *= 4) {
      table[row][column] = (factor * table[row][column - 1] - table[row - 1][column - 1]) / (factor - 1);
      const double estimate = std::max(std::abs(table[row][column] - table[row][column - 1]),
                                       std::abs(table[row][column] - table[row - 1][column - 1]));
      if (estimate + round_off < best.estimate + best.round_off)
        best = {.value = table[row][column], .estimate = estimate, .round_off = round_off, .last = k + row};
    }
    best.last = k + row;
    if (best.estimate <= best.round_off) break;
    if (row > 0 && std::abs(table[row][row] - table[row - 1][row - 1]) >= 2 * best.estimate) break;
  }
  return best;
}

// A smooth function's two slopes approach each other with the step; at a kink they stay apart.
bool stays_apart(Differences& differences, double noise) {
  const double wide = differences.gap(kKinkStep - 2), narrow = differences.gap(kKinkStep);
  return std::abs(narrow) > 0.6 * std::abs(wide) && std::abs(narrow) > 80 * noise / differences.step(kKinkStep);
}

using Samples = std::array<double, 9>;

Samples sample(const std::function<double(double)>& f, double scale) {
  Samples values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(std::ldexp(scale * static_cast<double>(i + 1), -20));
  return values;
}

double noise_in(Samples values) {
  constexpr std::size_t order = 4, left = std::tuple_size_v<Samples> - order;
  for (std::size_t k = 0; k < order; ++k)
    for (std::size_t i = 0; i + 1 < values.size() - k; ++i) values[i] = values[i + 1] - values[i];
  double squares = 0;
  for (std::size_t i = 0; i < left; ++i) squares += values[i] * values[i];
  // Independent errors of size s give fourth differences of size s·sqrt(70).
  return std::sqrt(squares / left / 70);
}

}  // namespace

NumericDerivative differentiate(const std::function<double(double)>& f, double x, double scale, double noise) {
  Differences differences(f, x, scale);
  NumericDerivative found;
  found.value = std::numeric_limits<double>::quiet_NaN();
  found.tolerance = std::numeric_limits<double>::infinity();
  Extrapolated before;
  int last = kFirstStart;
  for (int k = kFirstStart; k <= kLastStart; k += kBetweenStarts) {
    const Extrapolated now = extrapolate(differences, k, noise);
    if (!found.decided) last = now.last;
    const double apart = std::abs(now.value - before.value);
    if (now.finite() && before.finite() && apart <= now.tolerance() + before.tolerance()) {
      Extrapolated better = now.tolerance() < before.tolerance() ? now : before;
      better.estimate = std::max(better.estimate, apart);
      if (!found.decided || better.tolerance() < found.tolerance) {
        found = {.value = better.value, .estimate = better.estimate, .tolerance = better.tolerance(), .decided = true};
        last = std::max(now.last, before.last);
      }
      const double unit = std::max(std::abs(found.value), noise / (kEpsilon * scale));
      if (found.tolerance <= 1e-7 * unit) break;
    }
    before = now;
  }
  if (!found.decided) found.value = before.value;

  // Cheap first: the slopes at steps the value is from. Smaller ones may lie between x and a kink beside it.
  if (std::abs(differences.gap(last)) > 0.3 * std::abs(differences.gap(last - 1)) || !found.decided)
    found.kink = stays_apart(differences, noise);
  if (found.kink) {
    // At a kink the gap keeps its size, at a cusp as sqrt(abs(x)) has it doubles; across a jump it is four times as
    // wide.
    found.jump = std::abs(differences.gap(kKinkStep)) > 3 * std::abs(differences.gap(kKinkStep - 2));
    found.left = 2 * differences.left(kKinkStep) - differences.left(kKinkStep - 1);
    found.right = 2 * differences.right(kKinkStep) - differences.right(kKinkStep - 1);
  } else {
    found.left = found.right = found.value;
  }
  return found;
}

NumericDerivative differentiate_close(const std::function<double(double)>& f, double x, double scale, double noise,
                                      double within) {
  // Below `widest` the curvature of f is no matter, above `narrowest` the round-off of x is none.
  const double widest = std::ldexp(scale, -21), narrowest = std::ldexp(std::max(scale, std::abs(x)), -44);
  const double wanted = std::max(64 * noise / within, narrowest);
  NumericDerivative found;
  if (!(wanted <= widest)) return found;
  const double step = std::exp2(std::ceil(std::log2(wanted)));
  Differences differences(f, x, step);
  found.value = differences.central(0);
  found.left = differences.left(0);
  found.right = differences.right(0);
  found.estimate = found.tolerance = within / 16;
  const double narrow = std::abs(differences.gap(0));
  found.kink = narrow > within / 4 && narrow > 0.6 * std::abs(Differences(f, x, 4 * step).gap(0));
  found.decided = std::isfinite(found.left) && std::isfinite(found.right);
  return found;
}

double measure_noise(const std::function<double(double)>& f, double scale) { return noise_in(sample(f, scale)); }

double measure_noise_close(const std::function<double(double)>& f, double scale, double noise) {
  for (const int exponent : {8, 16, 24}) {
    const Samples values = sample(f, std::ldexp(scale, -exponent));
    if (std::adjacent_find(values.begin(), values.end()) != values.end()) break;
    noise = std::min(noise, noise_in(values));
  }
  return noise;
}

double measure_steps(const std::function<double(double)>& f, double scale) {
  constexpr int intervals = 16, halvings = 22, several = 4;
  int found = 0;
  double highest = 0;
  for (int i = 0; i < intervals; ++i) {
    double low = std::ldexp(scale * (i - intervals / 2), -7), high = low + std::ldexp(scale, -7);
    double below = f(low), above = f(high);
    const double whole = std::abs(above - below);
    // Towards the larger change: on a slope, smooth or with a kink, it halves each time; a step stays.
    for (int k = 0; k < halvings; ++k) {
      const double middle = (low + high) / 2, value = f(middle);
      const bool is_lower = std::abs(value - below) > std::abs(above - value);
      (is_lower ? high : low) = middle;
      (is_lower ? above : below) = value;
    }
    const double height = std::abs(above - below);
    if (!(height > whole / 65536)) continue;
    ++found;
    highest = std::max(highest, height);
  }
  return found < several ? 0 : highest;
}

}  // namespace tally
