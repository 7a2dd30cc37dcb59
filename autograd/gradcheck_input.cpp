#include <tally/autograd/gradcheck_input.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/autograd/gradcheck_cause.h>
#include <tally/core/random.h>

namespace tally::detail {
namespace {

double rms_of(const Values& values) {
  double squares = 0;
  for (const double x : values) squares += std::isfinite(x) ? x * x : 0;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

double size_of_values(const Probe& probe) { return std::max(probe.magnitude(), std::numeric_limits<double>::min()); }
double least_noise(const Probe& probe) { return std::numeric_limits<double>::epsilon() * size_of_values(probe); }

// The largest that backward gives.
double largest_of(const Values& gradient) {
  double largest = 0;
  for (const double g : gradient)
    if (std::isfinite(g)) largest = std::max(largest, std::abs(g));
  return largest;
}

// By how much f changes where an input moves by its own size; its value, where it moves with none.
double response_of(const Probe& probe) {
  double moved = 0;
  for (std::size_t i = 0; i < probe.count(); ++i)
    if (probe.is_checked(i) && !probe.values(i).empty())
      moved = std::max(moved, largest_of(probe.gradient(i)) * scale_at(rms_of(probe.values(i)), 1));
  return std::max(moved > 0 ? moved : probe.magnitude(), std::numeric_limits<double>::min());
}

// `unit` is the size a derivative of this input has: numbers that could not tell it from zero decide nothing.
void judge(GradCheckEntry& entry, const NumericDerivative& numeric, double unit) {
  const auto is = [&](Verdict verdict, Cause cause) {
    entry.verdict = verdict;
    entry.cause = cause;
  };
  if (numeric.kink) {
    const double slack = 1e-3 * std::abs(entry.right - entry.left);
    const bool between = entry.analytic >= std::min(entry.left, entry.right) - slack &&
                         entry.analytic <= std::max(entry.left, entry.right) + slack;
    // Steps of another size than the slopes' agree on it: f jumps between the two.
    const bool elsewhere = numeric.decided && entry.error() <= entry.tolerance;
    if (between) return is(Verdict::inconclusive, numeric.jump ? Cause::jump : Cause::kink);
    return elsewhere ? is(Verdict::inconclusive, Cause::jump) : is(Verdict::wrong, Cause::unknown);
  }
  if (!numeric.decided) return is(Verdict::inconclusive, Cause::noise);
  if (!std::isfinite(entry.analytic)) return is(Verdict::wrong, Cause::not_finite);
  if (entry.error() > entry.tolerance) {
    // A numeric derivative without a digit accuses nobody.
    const bool blunt = entry.tolerance > 0.1 * std::max(std::abs(entry.analytic), std::abs(entry.numeric));
    return blunt ? is(Verdict::inconclusive, Cause::noise) : is(Verdict::wrong, Cause::unknown);
  }
  if (entry.tolerance > 1e-3 * std::max(unit, std::abs(entry.numeric))) is(Verdict::inconclusive, Cause::noise);
}

// Whether on one side of x f changes as the gradient says, from the smallest lengths that show it up to one between
// that of float16's digits and that of float32's: it lies between two steps of f itself, as floor has them. Rounding to
// float32 inside f leaves narrower ones, and beside a kink the smallest lengths see one slope only.
bool is_right_beside(const std::function<double(double)>& f, double x, double scale, const GradCheckEntry& entry,
                     double noise) {
  const double length = std::ldexp(scale, -16), shortest = 32 * noise / entry.error(), middle = f(x);
  const auto along = [&](double side) {
    int followed = 0;
    for (double t = length; t > shortest && followed < 10; t /= 4, ++followed)
      if (!(std::abs(f(x + side * t) - middle - entry.analytic * side * t) <= entry.error() * t / 8)) return false;
    return followed > 2;
  };
  return along(1) || along(-1);
}

}  // namespace

double scale_at(double x, double rms) {
  const double size = std::max(std::abs(x), std::min(rms, 1.0));
  return size > 0 && std::isfinite(size) ? std::exp2(std::floor(std::log2(size))) : 1;
}

NumericDerivative derivative_close_to(const Probe& probe, const std::function<double(double)>& f, double x,
                                      double scale, double noise, double within) {
  const double least = least_noise(probe);
  if (noise > least)
    for (const double side : {1.0, -1.0})  // a jump beside x is on one of them
      noise = std::max(least, measure_noise_close([&](double t) { return f(x + side * t); }, scale, noise));
  return differentiate_close(f, x, scale, noise, within);
}

InputCheck::InputCheck(const Probe& probe, std::size_t input, std::uint64_t seed, std::vector<std::string>& notes)
    : probe_(probe),
      input_(input),
      notes_(notes),
      values_(probe.values(input)),
      rms_(rms_of(values_)),
      own_(largest_of(probe.gradient(input))),
      response_(own_ > 0 ? 0 : response_of(probe)) {
  noise_ = measured_noise(seed);
}

GradCheckEntry InputCheck::entry_at(std::size_t place) {
  const double x = values_[place], scale = scale_at(x, rms_);
  if (probe_.is_outside(input_, place))
    return {.input = static_cast<int>(input_),
            .element = coordinates(probe_.shape(input_), static_cast<std::int64_t>(place)),
            .analytic = probe_.gradient(input_)[place],
            .numeric = std::numeric_limits<double>::quiet_NaN(),
            .verdict = Verdict::inconclusive,
            .cause = Cause::domain};
  const Function f = [&](double moved) {
    values_[place] = moved;
    const double y = probe_.at(input_, values_);
    values_[place] = x;
    return y;
  };
  double noise = noise_;
  GradCheckEntry entry = judged(f, place, noise);
  int& budget = entry.verdict == Verdict::inconclusive ? kink_looks_ : looks_;
  const bool suspicious = entry.verdict != Verdict::right && entry.cause != Cause::noise;
  // Between steps a gradient of zero seems right, a lost one too.
  const double near = std::ldexp(scale, -4);
  const bool flat = entry.verdict == Verdict::right && entry.analytic == 0 && f(x + near) != f(x - near);
  if ((suspicious || flat) && budget > 0) {
    double steps = measure_steps([&](double t) { return f(x + t); }, scale);
    // Steps may be too wide for one element to reach the next.
    if (entry.numeric == 0 && suspicious) {
      if (steps_along_ < 0) steps_along_ = steps_along();
      steps = std::max(steps, steps_along_);
    }
    if (steps > 2 * noise_) {
      note_digits(steps);
      entry = judged(f, place, noise = steps / 2);
    } else {
      --budget;
    }
  }
  if (entry.verdict == Verdict::wrong) look_closer(entry, f, x, scale, noise);
  if (entry.cause == Cause::noise) look_at_edge(entry, f, x, scale);
  if (entry.cause == Cause::jump) entry.left = entry.right = entry.numeric;  // across a jump a slope is only its width
  if (entry.verdict == Verdict::wrong && !probe_.is_reached(input_)) entry.cause = Cause::no_gradient;
  only_kinks_ &= entry.cause == Cause::kink || entry.cause == Cause::jump || entry.cause == Cause::domain;
  return entry;
}

GradCheckEntry InputCheck::judged(const Function& f, std::size_t place, double noise) const {
  const double x = values_[place], scale = scale_at(x, rms_);
  const NumericDerivative numeric = differentiate(f, x, scale, noise);
  GradCheckEntry entry{
      .input = static_cast<int>(input_),
      .element = coordinates(probe_.shape(input_), static_cast<std::int64_t>(place)),
      .analytic = probe_.gradient(input_)[place],
      .numeric = numeric.value,
      .estimate = numeric.estimate,
      .tolerance = numeric.tolerance,
      .left = numeric.left,
      .right = numeric.right,
  };
  // What a derivative of this input is measured by; without any, one that moves f as much as the others do.
  judge(entry, numeric, own_ > 0 ? own_ : response_ / scale);
  return entry;
}

// Acquits where only far steps accuse: a kink or a jump lies beside x, or f has turned before the next one.
void InputCheck::look_closer(GradCheckEntry& entry, const Function& f, double x, double scale, double noise) const {
  const double error = entry.error();
  if (!std::isfinite(error)) return;
  if (probe_.is_reached(input_) && is_right_beside(f, x, scale, entry, noise_)) {
    entry.verdict = Verdict::inconclusive;
    entry.cause = Cause::jump;
    return;
  }
  const NumericDerivative close = derivative_close_to(probe_, f, x, scale, noise, error);
  if (!close.decided) return;
  const auto differ = [&](double a, double b) { return std::abs(a - b) > error / 4; };
  const bool is_fast = noise > 0x1p10 * least_noise(probe_);
  const auto [low, high] = std::minmax(close.left, close.right);
  const bool outside = entry.analytic < low - error / 8 || entry.analytic > high + error / 8;
  if (close.kink ? outside : !differ(close.value, entry.numeric)) return;
  entry.numeric = close.value;
  entry.estimate = close.estimate;
  entry.tolerance = close.tolerance;
  entry.left = close.left;
  entry.right = close.right;
  if (!is_fast && !close.kink && differ(close.value, entry.analytic)) return;
  entry.verdict = Verdict::inconclusive;
  entry.cause = is_fast ? Cause::noise : Cause::kink;
}

// Where f is not finite beside x, its other side may still tell that the derivative is.
void InputCheck::look_at_edge(GradCheckEntry& entry, const Function& f, double x, double scale) const {
  const double here = f(x), wide = std::ldexp(scale, -16), narrow = std::ldexp(scale, -20);
  bool is_edge = false;
  for (const double side : {1.0, -1.0}) {
    const double far = (f(x + side * wide) - here) / wide, close = (f(x + side * narrow) - here) / narrow;
    const double apart = std::abs(far - close), enough = 1e-3 * std::abs(far) + 8 * noise_ / narrow;
    is_edge |= !std::isfinite(apart);
    if (!(apart <= enough) || std::isfinite(entry.analytic)) continue;
    entry.verdict = Verdict::wrong;
    entry.cause = Cause::not_finite;
    entry.numeric = entry.left = entry.right = side * close;
    entry.estimate = apart;
    entry.tolerance = enough;
    return;
  }
  if (is_edge) entry.cause = Cause::domain;
}

// Steps where all elements are moved together, each as its gradient says.
double InputCheck::steps_along() const {
  std::vector<Values> direction(probe_.count());
  for (std::size_t i = 0; i < values_.size(); ++i)
    direction[input_].push_back(std::copysign(scale_at(values_[i], rms_), probe_.gradient(input_)[i]));
  return measure_steps([&](double t) { return probe_.along(direction, t); }, 1);
}

// Measured along a line that no kink at the inputs themselves crosses.
double InputCheck::measured_noise(std::uint64_t seed) {
  std::vector<Values> direction(probe_.count());
  for (const double x : values_) {
    const bool up = philox(seed + 1, direction[input_].size()).word[0] & 1;
    direction[input_].push_back((up ? 1 : -1) * scale_at(x, rms_));
  }
  const double least = least_noise(probe_);
  size_ = size_of_values(probe_);
  for (const double t : {0x1p-4, -0x1p-4})  // f may be 0 at the inputs themselves
    if (const double beside = std::abs(probe_.along(direction, t)); std::isfinite(beside))
      size_ = std::max(size_, beside);
  // At places of powers of two, float32 inputs stay among numbers that float32 has: rounding to it inside f would not
  // show there.
  constexpr double kOffGrid = 1.4142135623730951;
  const auto measured_to = [&](double reach) {
    const Function line = [&](double t) { return probe_.along(direction, reach * t); };
    return std::max(measure_noise(line, 1), measure_noise(line, kOffGrid));
  };
  double measured = measured_to(1);
  // A kink beside the inputs may lie on the line: not on both sides, nor within every reach. Noise does.
  if (measured > 16 * least)
    for (const double reach : {-1.0, 0.25, -0.25})
      if (const double other = measured_to(reach); other < measured / 8) measured = other;
  if (!(measured > least)) return least;
  return measured;
}

void InputCheck::note_noise() {
  if (!only_kinks_ && noise_ > 0x1p-33 * size_) note_digits(noise_);
}

void InputCheck::note_digits(double noise) {
  const int digits = std::max(0, static_cast<int>(-std::log10(noise / size_)));
  const std::string note = "around input " + std::to_string(input_) + " f rounds to about " + std::to_string(digits) +
                           " digits: " + (digits > 4 ? "float32" : "float16 or bfloat16") + " inside it?";
  const auto begins_so = [&](const std::string& other) { return other.starts_with(note.substr(0, note.find(" to "))); };
  if (std::none_of(notes_.begin(), notes_.end(), begins_so)) notes_.push_back(note);
}

}  // namespace tally::detail
