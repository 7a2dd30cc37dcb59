#include <tally/autograd/gradcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <tally/autograd/backward.h>
#include <tally/autograd/derivative.h>
#include <tally/autograd/gradcheck_cause.h>
#include <tally/autograd/gradcheck_probe.h>
#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/core/random.h>

namespace tally {
namespace {

using detail::Values;

// A power of two about the length on which f changes around x: its own size, or that of the whole input.
double scale_at(double x, double rms) {
  const double size = std::max(std::abs(x), std::min(rms, 1.0));
  return size > 0 && std::isfinite(size) ? std::exp2(std::floor(std::log2(size))) : 1;
}

double rms_of(const Values& values) {
  double squares = 0;
  for (const double x : values) squares += std::isfinite(x) ? x * x : 0;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// Positions to check: all, or a sample without repetition.
std::vector<std::size_t> pick(std::size_t count, const GradCheckOptions& options) {
  const std::size_t most = std::min(count, static_cast<std::size_t>(options.max_entries));
  const double stride = static_cast<double>(count) / static_cast<double>(most);
  std::vector<std::size_t> chosen(most);
  for (std::size_t i = 0; i < most; ++i) {
    const double jitter = count > most ? uniform_of(philox(options.seed, i).word[0]) : 0;
    chosen[i] = std::min(count - 1, static_cast<std::size_t>((static_cast<double>(i) + jitter) * stride));
  }
  return chosen;
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
    return between ? is(Verdict::inconclusive, Cause::kink) : is(Verdict::wrong, Cause::unknown);
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

class Checker {
 public:
  Checker(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options,
          detail::Backward backward = detail::Backward::plain)
      : options_(options), probe_(f, inputs, options.seed, backward) {}

  GradCheck run() {
    const bool ran = probe_.run();
    result_.failure = probe_.failure;
    result_.failure_cause = probe_.failure_cause;
    result_.notes = probe_.notes;
    if (!ran) return std::move(result_);
    for (std::size_t i = 0; i < probe_.count(); ++i)
      if (probe_.is_checked(i)) check_input(i);
    check_ties();
    for (std::size_t i = 0; i < probe_.count(); ++i) find_cause(static_cast<int>(i));
    summarize();
    return std::move(result_);
  }

 private:
  // An entry with its position in the input's row-major order.
  struct Placed {
    GradCheckEntry entry;
    std::size_t place;
    std::size_t input() const { return static_cast<std::size_t>(entry.input); }
  };

  void check_input(std::size_t input) {
    Values values = probe_.values(input);
    result_.entries += static_cast<std::int64_t>(values.size());
    if (values.empty()) return;
    const double rms = rms_of(values);
    noise_ = noise_of(input, rms);
    // What a derivative of this input is measured by; without any, one that moves f as much as the others do.
    const double own = largest_of(input), others = own > 0 ? 0 : response();
    // For steps, where a gradient seems wrong or f kinked; they cost more than a derivative.
    int looks = 4, kink_looks = 4;
    double line = -1;

    for (const std::size_t place : pick(values.size(), options_)) {
      const double x = values[place], scale = scale_at(x, rms);
      const auto f = [&](double moved) {
        values[place] = moved;
        const double y = probe_.at(input, values);
        values[place] = x;
        return y;
      };
      const auto judged = [&](double noise) {
        const NumericDerivative numeric = differentiate(f, x, scale, noise);
        GradCheckEntry entry{
            .input = static_cast<int>(input),
            .element = detail::coordinates(probe_.shape(input), static_cast<std::int64_t>(place)),
            .analytic = probe_.gradient(input)[place],
            .numeric = numeric.value,
            .estimate = numeric.estimate,
            .tolerance = numeric.tolerance,
            .left = numeric.left,
            .right = numeric.right,
        };
        judge(entry, numeric, own > 0 ? own : others / scale);
        return entry;
      };
      double noise = noise_;
      GradCheckEntry entry = judged(noise);
      int& budget = entry.cause == Cause::kink ? kink_looks : looks;
      if (entry.verdict != Verdict::right && entry.cause != Cause::noise && budget > 0) {
        double steps = measure_steps([&](double t) { return f(x + t); }, scale);
        // Steps may be too wide for one element to reach the next.
        if (entry.numeric == 0) steps = std::max(steps, line < 0 ? line = steps_along(input, rms) : line);
        if (steps > 2 * noise_) {
          note_digits(input, steps);
          entry = judged(noise = steps / 2);
        } else {
          --budget;
        }
      }
      if (entry.verdict == Verdict::wrong) look_closer(entry, f, x, scale, noise);
      if (entry.verdict == Verdict::wrong && !probe_.is_reached(input)) entry.cause = Cause::no_gradient;
      entries_.push_back({entry, place});
    }
  }

  double least_noise() const {
    return std::numeric_limits<double>::epsilon() * std::max(probe_.magnitude(), std::numeric_limits<double>::min());
  }

  // f'(x) from steps so small that they just show the difference `within`.
  NumericDerivative close_to(const std::function<double(double)>& f, double x, double scale, double noise,
                             double within) const {
    const auto moved = [&](double t) { return f(x + t); };
    if (noise > least_noise()) noise = std::max(least_noise(), measure_noise_close(moved, scale, noise));
    return differentiate_close(f, x, scale, noise, within);
  }

  // Acquits where only far steps accuse: a kink lies beside x, or f has turned before the next one.
  void look_closer(GradCheckEntry& entry, const std::function<double(double)>& f, double x, double scale,
                   double noise) const {
    const double error = entry.error();
    if (!std::isfinite(error)) return;
    const NumericDerivative close = close_to(f, x, scale, noise, error);
    if (!close.decided) return;
    const auto differ = [&](double a, double b) { return std::abs(a - b) > error / 4; };
    const bool is_fast = noise > 0x1p10 * least_noise();
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

  // The largest that backward gives.
  double largest_of(std::size_t input) const {
    double largest = 0;
    for (const double g : probe_.gradient(input))
      if (std::isfinite(g)) largest = std::max(largest, std::abs(g));
    return largest;
  }
  // By how much f changes where an input moves by its own size; its value, where it moves with none.
  double response() const {
    double moved = 0;
    for (std::size_t i = 0; i < probe_.count(); ++i)
      if (probe_.is_checked(i)) moved = std::max(moved, largest_of(i) * scale_at(rms_of(probe_.values(i)), 1));
    return std::max(moved > 0 ? moved : probe_.magnitude(), std::numeric_limits<double>::min());
  }

  // Steps where all elements are moved together, each as its gradient says.
  double steps_along(std::size_t input, double rms) const {
    std::vector<Values> direction(probe_.count());
    for (std::size_t i = 0; i < probe_.values(input).size(); ++i)
      direction[input].push_back(std::copysign(scale_at(probe_.values(input)[i], rms), probe_.gradient(input)[i]));
    return measure_steps([&](double t) { return probe_.along(direction, t); }, 1);
  }

  // The round-off of a value of f, measured along a line that no kink at the inputs themselves crosses.
  double noise_of(std::size_t input, double rms) {
    std::vector<Values> direction(probe_.count());
    for (const double x : probe_.values(input)) {
      const bool up = philox(options_.seed + 1, direction[input].size()).word[0] & 1;
      direction[input].push_back((up ? 1 : -1) * scale_at(x, rms));
    }
    const double size = std::max(probe_.magnitude(), std::numeric_limits<double>::min()), least = least_noise();
    const auto measured_to = [&](double reach) {
      return measure_noise([&](double t) { return probe_.along(direction, reach * t); }, 1);
    };
    double measured = measured_to(1);
    // A kink beside the inputs may lie on the line: not on both sides, nor within every reach. Noise does.
    if (measured > 16 * least)
      for (const double reach : {-1.0, 0.25, -0.25})
        if (const double other = measured_to(reach); other < measured / 8) measured = other;
    if (!(measured > least)) return least;
    if (measured > 0x1p-33 * size) note_digits(input, measured);
    return measured;
  }

  void note_digits(std::size_t input, double noise) {
    const double size = std::max(probe_.magnitude(), std::numeric_limits<double>::min());
    const int digits = std::max(0, static_cast<int>(-std::log10(noise / size)));
    const std::string note = "around input " + std::to_string(input) + " f rounds to about " + std::to_string(digits) +
                             " digits: " + (digits > 4 ? "float32" : "float16 or bfloat16") + " inside it?";
    const auto begins_so = [&](const std::string& other) {
      return other.starts_with(note.substr(0, note.find(" to ")));
    };
    if (std::none_of(result_.notes.begin(), result_.notes.end(), begins_so)) result_.notes.push_back(note);
  }

  // Moves all entries at kinks together: ties stay ties, and along such a line f is often smooth.
  void check_ties() {
    std::vector<Placed*> kinked;
    for (Placed& one : entries_)
      if (one.entry.cause == Cause::kink) kinked.push_back(&one);
    if (kinked.size() < 2) return;
    for (const bool by_sign : {false, true}) {
      std::vector<Values> direction(probe_.count());
      double expected = 0, widest = 0, scale = std::numeric_limits<double>::infinity();
      for (const Placed* one : kinked) {
        const Values& values = probe_.values(one->input());
        Values& line = direction[one->input()];
        line.resize(values.size());
        line[one->place] = by_sign && one->entry.analytic < 0 ? -1 : 1;
        expected += line[one->place] * one->entry.analytic;
        scale = std::min(scale, scale_at(values[one->place], 0));
        widest = std::max(widest, scale_at(values[one->place], 0));
      }
      const auto f = [&](double t) { return probe_.along(direction, t); };
      const NumericDerivative numeric = differentiate(f, 0, scale, noise_);
      const double error = std::abs(numeric.value - expected);
      if (!numeric.decided || numeric.kink || error <= numeric.tolerance) continue;
      const NumericDerivative close = close_to(f, 0, widest, noise_, error);
      if (close.decided && (close.kink || std::abs(close.value - numeric.value) > error / 4)) continue;
      for (Placed* one : kinked) {
        one->entry.verdict = Verdict::wrong;
        one->entry.cause = Cause::tie_rule;
      }
      result_.notes.push_back("moved together, the entries at kinks have the derivative " +
                              detail::number(numeric.value) + ", but their gradients add up to " +
                              detail::number(expected));
      return;
    }
  }

  void find_cause(int input) {
    std::vector<GradCheckEntry> checked;
    Placed* worst = nullptr;
    for (Placed& one : entries_) {
      if (one.entry.input != input) continue;
      checked.push_back(one.entry);
      if (is_unexplained(one.entry) && (!worst || detail::is_worse(one.entry, worst->entry))) worst = &one;
    }
    if (!worst) return;
    const double step = std::ldexp(scale_at(probe_.values(worst->input())[worst->place], 0), -12);
    const bool missing = detail::locate(worst->entry, probe_.parts(worst->input(), worst->place, step));
    const auto [cause, factor] = detail::suspect(checked, missing);
    for (Placed& one : entries_) {
      if (one.entry.input != input || !is_unexplained(one.entry)) continue;
      one.entry.cause = cause;
      one.entry.factor = factor;
    }
  }
  static bool is_unexplained(const GradCheckEntry& entry) {
    return entry.verdict == Verdict::wrong && entry.cause == Cause::unknown;
  }

  void summarize() {
    for (const Placed& one : entries_) {
      if (one.entry.verdict == Verdict::right)
        ++result_.right;
      else
        result_.worst.push_back(one.entry);
      if (one.entry.verdict == Verdict::wrong) ++result_.wrong;
      if (one.entry.verdict == Verdict::inconclusive) ++result_.inconclusive;
    }
    std::stable_sort(result_.worst.begin(), result_.worst.end(), detail::is_worse);
    result_.worst.resize(std::min(result_.worst.size(), options_.report));
  }

  GradCheckOptions options_;
  detail::Probe probe_;
  std::vector<Placed> entries_;
  double noise_ = 0;
  GradCheck result_;
};

void require_inputs(const char* op, const std::vector<Tensor>& inputs, Where where) {
  bool floating = false;
  for (const Tensor& input : inputs) {
    if (!input.defined()) throw ValueError(op, "an input is undefined", where);
    floating |= is_floating(input.dtype());
  }
  if (!floating) throw ValueError(op, "no input is floating, so there is no gradient to check", where);
}

// Whether the gradient recorded under create_graph has other values than the plain one, by more than round-off. False
// where one of them throws or f has none: what that means is for the checks themselves to say.
bool recorded_differs(const TensorFunction& f, const std::vector<Tensor>& inputs, std::uint64_t seed) {
  detail::Probe plain(f, inputs, seed), recorded(f, inputs, seed, detail::Backward::recorded);
  if (!plain.run() || !recorded.run()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!plain.is_checked(i)) continue;
    const Values &a = plain.gradient(i), &b = recorded.gradient(i);
    double largest = 0;
    for (const double g : a) largest = std::isfinite(g) ? std::max(largest, std::abs(g)) : largest;
    for (std::size_t j = 0; j < a.size(); ++j)
      if (a[j] != b[j] && !(std::abs(a[j] - b[j]) <= 1e-9 * largest) && !(std::isnan(a[j]) && std::isnan(b[j])))
        return true;
  }
  return false;
}

}  // namespace

void detail::throw_argument_count(std::size_t inputs) {
  throw ValueError("gradcheck", "the function does not take " + std::to_string(inputs) + " tensors", {});
}

GradCheck gradcheck_function(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options,
                             Where where) {
  require_inputs("gradcheck", inputs, where);
  GradMode recording(true);
  return Checker(f, inputs, options).run();
}

GradCheck gradgradcheck_function(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options,
                                 Where where) {
  require_inputs("gradgradcheck", inputs, where);
  GradMode recording(true);
  // A wrong gradient may have a right derivative: where an op writes its gradient twice, the second has to be one.
  if (recorded_differs(f, inputs, options.seed)) {
    GradCheck first = Checker(f, inputs, options, detail::Backward::recorded).run();
    if (first.verdict() == Verdict::wrong) {
      first.notes.push_back("of first order: under create_graph backward gives another gradient than without it");
      return first;
    }
  }
  // Inputs of the gradient: those of f, then a cotangent for each floating output.
  std::vector<Tensor> both = inputs;
  std::uint64_t word = 0;
  for (const Tensor& output : f(inputs)) {
    if (!output.defined() || !is_floating(output.dtype())) continue;
    Values weights(static_cast<std::size_t>(output.numel()));
    for (double& weight : weights) weight = 0.5 + uniform_of(philox(options.seed + 2, word++).word[0]);
    both.push_back(tensor(weights, output.shape(), output.device()));
  }
  const std::size_t count = inputs.size();
  return gradcheck_function(
      [&f, count](const std::vector<Tensor>& both) {
        std::vector<Tensor> inputs(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(count));
        std::vector<Tensor> wanted, outputs, cotangents;
        for (Tensor& input : inputs) {
          if (!is_floating(input.dtype())) continue;
          if (!input.requires_grad()) input = input.detach().requires_grad_();
          wanted.push_back(input);
        }
        std::size_t next = count;
        for (const Tensor& output : f(inputs)) {
          if (!output.defined() || !is_floating(output.dtype())) continue;
          const Tensor& cotangent = both[next++];
          if (!output.requires_grad()) continue;
          outputs.push_back(output);
          cotangents.push_back(cotangent.to(output.dtype()));
        }
        std::vector<Tensor> gradients(wanted.size());
        if (!outputs.empty()) gradients = grad(outputs, wanted, cotangents, {.create_graph = true});
        return gradients;
      },
      both, options, where);
}

}  // namespace tally
