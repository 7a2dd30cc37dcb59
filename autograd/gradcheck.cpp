#include <tally/autograd/gradcheck.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <tally/autograd/backward.h>
#include <tally/autograd/derivative.h>
#include <tally/autograd/gradcheck_cause.h>
#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/core/random.h>
#include <tally/core/raw.h>

namespace tally {
namespace {

using Values = std::vector<double>;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

Shape coordinates(const Shape& shape, std::int64_t i) {
  Shape at = shape;
  for (int d = shape.size() - 1; d >= 0; i /= shape[d], --d) at[d] = i % shape[d];
  return at;
}

// Equal bits, where any NaN equals any NaN. Halves widen to float64 exactly.
bool same_bits(const Values& a, const Values& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
  });
}

// A power of two about the length on which f changes around x: its own size, or that of the whole input.
double scale_at(double x, double rms) {
  const double size = std::max(std::abs(x), std::min(rms, 1.0));
  return size > 0 && std::isfinite(size) ? std::exp2(std::floor(std::log2(size))) : 1;
}

// Positions to check: all, or a sample without repetition.
std::vector<std::int64_t> pick(std::int64_t count, const GradCheckOptions& options) {
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(std::min(count, options.max_entries)));
  const double stride = static_cast<double>(count) / static_cast<double>(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const double jitter = count > options.max_entries ? uniform_of(philox(options.seed, i).word[0]) : 0;
    chosen[i] = std::min(count - 1, static_cast<std::int64_t>((static_cast<double>(i) + jitter) * stride));
  }
  return chosen;
}

class Checker {
 public:
  Checker(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options)
      : f_(f), options_(options) {
    for (const Tensor& input : inputs) {
      const bool floating = is_floating(input.dtype());
      if (input.numel() > 1 && has_shared_elements(input))
        result.notes.push_back("input " + std::to_string(inputs_.size()) +
                               " has elements that share memory; a dense copy is checked");
      Tensor copy = empty(input.shape(), {.dtype = floating ? float64 : input.dtype(), .device = input.device()});
      raw::copy(copy, input);
      inputs_.push_back(copy);
      values_.push_back(floating ? input.to_vector<double>() : Values());
    }
  }

  void run() {
    forward();
    if (!result.failure.empty() || !backward()) return;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (is_floating(inputs_[i].dtype())) check_input(i);
    check_ties();
    finish();
  }

  GradCheck result;

 private:
  static bool has_shared_elements(const Tensor& tensor) {
    for (int d = 0; d < tensor.dim(); ++d)
      if (tensor.strides()[d] == 0 && tensor.shape()[d] > 1) return true;
    return false;
  }

  void forward() {
    for (const Tensor& input : inputs_) {
      Tensor leaf = input.detach();
      if (is_floating(input.dtype())) leaf.requires_grad_();
      leaves_.push_back(leaf);
    }
    outputs_ = f_(leaves_);
    std::uint64_t word = 0;
    for (const Tensor& output : outputs_) {
      Values weights;
      if (output.defined() && is_floating(output.dtype())) {
        // Never near zero, of both signs, and exact in every float type.
        for (std::int64_t i = 0; i < output.numel(); ++i) {
          const std::uint32_t bits = philox(options_.seed, ~word++).word[0];
          weights.push_back((bits & 1 ? 1.0 : -1.0) * (0.5 + static_cast<double>(bits >> 25) / 128));
        }
        const Values values = output.to_vector<double>();
        for (std::size_t i = 0; i < values.size(); ++i) magnitude_ += std::abs(weights[i] * values[i]);
        if (output.dtype() != float64) result.notes.push_back(std::string("f gives ") + name_of(output.dtype()));
      }
      cotangents_.push_back(std::move(weights));
    }
    if (!std::isfinite(magnitude_)) magnitude_ = 0;
    const std::vector<Tensor> again = f_(leaves_);
    bool equal = again.size() == outputs_.size();
    for (std::size_t i = 0; equal && i < again.size(); ++i)
      equal = again[i].shape() == outputs_[i].shape() &&
              same_bits(again[i].to_vector<double>(), outputs_[i].to_vector<double>());
    if (!equal) fail(Cause::nondeterminism, "two forward runs on the same inputs differ");
  }

  bool backward() {
    std::vector<Tensor> reached, cotangents, wanted;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Tensor& output = outputs_[i];
      if (!output.defined() || !output.requires_grad()) continue;
      reached.push_back(output);
      cotangents.push_back(weights_of(output, cotangents_[i]));
    }
    for (const Tensor& leaf : leaves_)
      if (leaf.requires_grad()) wanted.push_back(leaf);
    std::vector<Tensor> first(wanted.size()), second(wanted.size());
    try {
      if (!reached.empty()) {
        first = grad(reached, wanted, cotangents, {.retain_graph = true});
        second = grad(reached, wanted, cotangents, {.retain_graph = true});
      }
    } catch (const AutogradError& error) {
      fail(Cause::unknown, error.what());
      return false;
    }
    std::size_t next = 0;
    for (const Tensor& leaf : leaves_) {
      gradients_.emplace_back();
      if (!leaf.requires_grad()) continue;
      const std::size_t i = next++;
      unreached_.push_back(!first[i].defined());
      gradients_.back() =
          first[i].defined() ? first[i].to_vector<double>() : Values(values_[gradients_.size() - 1].size());
      if (first[i].defined() && !same_bits(gradients_.back(), second[i].to_vector<double>()))
        fail(Cause::nondeterminism, "two backward walks of one graph differ in the gradient of input " +
                                        std::to_string(gradients_.size() - 1));
    }
    return result.failure.empty();
  }

  static Tensor weights_of(const Tensor& output, const Values& weights) {
    Tensor cotangent = empty(output.shape(), {.dtype = output.dtype(), .device = output.device()});
    raw::copy(cotangent, tensor(weights, output.shape()));
    return cotangent;
  }

  // f with other values in one input.
  std::vector<Tensor> outputs_at(std::size_t input, const Values& values) {
    std::vector<Tensor> inputs = inputs_;
    inputs[input] = tensor(values, inputs_[input].shape(), inputs_[input].device());
    return f_(inputs);
  }
  double weighted(const std::vector<Tensor>& outputs) const {
    long double sum = 0;
    for (std::size_t i = 0; i < cotangents_.size(); ++i) {
      if (cotangents_[i].empty()) continue;
      const Values values = outputs[i].to_vector<double>();
      for (std::size_t j = 0; j < values.size(); ++j) sum += static_cast<long double>(cotangents_[i][j]) * values[j];
    }
    return static_cast<double>(sum);
  }

  // The weighted outputs at inputs + t·direction; an empty direction is zero.
  double along(const std::vector<Values>& direction, double t) {
    std::vector<Tensor> inputs = inputs_;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (direction[i].empty()) continue;
      Values values = values_[i];
      for (std::size_t j = 0; j < values.size(); ++j) values[j] += t * direction[i][j];
      inputs[i] = tensor(values, inputs_[i].shape(), inputs_[i].device());
    }
    return weighted(f_(inputs));
  }

  void check_input(std::size_t input) {
    Values values = values_[input];
    const std::int64_t count = inputs_[input].numel();
    result.entries += count;
    if (count == 0) return;
    double squares = 0, largest = 0;
    for (double x : values) squares += std::isfinite(x) ? x * x : 0;
    const double rms = std::sqrt(squares / static_cast<double>(count));
    for (double g : gradients_[input]) largest = std::max(largest, std::abs(g));
    noise_ = noise_of(input, rms);

    for (std::int64_t i : pick(count, options_)) {
      const auto at = static_cast<std::size_t>(i);
      const double x = values[at], scale = scale_at(x, rms);
      const auto f = [&](double moved) {
        values[at] = moved;
        const double y = weighted(outputs_at(input, values));
        values[at] = x;
        return y;
      };
      const NumericDerivative numeric = differentiate(f, x, scale, noise_);
      GradCheckEntry entry{.input = static_cast<int>(input),
                           .element = coordinates(inputs_[input].shape(), i),
                           .analytic = gradients_[input][at],
                           .numeric = numeric.value,
                           .estimate = numeric.estimate,
                           .tolerance = numeric.tolerance,
                           .left = numeric.left,
                           .right = numeric.right};
      judge(entry, numeric, std::max({largest, magnitude_ / scale, std::numeric_limits<double>::min()}));
      if (entry.verdict == Verdict::wrong && !reached(input)) entry.cause = Cause::no_gradient;
      entries_.push_back(entry);
      places_.push_back(at);
    }
  }

  bool reached(std::size_t input) const {
    std::size_t floating = 0;
    for (std::size_t i = 0; i < input; ++i) floating += leaves_[i].requires_grad();
    return !unreached_[floating];
  }

  // The round-off of a value of f, measured along a line that no kink at the inputs themselves crosses.
  double noise_of(std::size_t input, double rms) {
    std::vector<Values> direction(inputs_.size());
    for (std::size_t i = 0; i < values_[input].size(); ++i)
      direction[input].push_back((philox(options_.seed + 1, i).word[0] & 1 ? 1 : -1) *
                                 scale_at(values_[input][i], rms));
    const double measured = measure_noise([&](double t) { return along(direction, t); }, 1);
    const double least = kEpsilon * std::max(magnitude_, std::numeric_limits<double>::min());
    if (!(measured > least)) return least;
    if (measured > 0x1p-33 * magnitude_)
      result.notes.push_back("around input " + std::to_string(input) + " f rounds to about " +
                             std::to_string(static_cast<int>(-std::log10(measured / magnitude_))) +
                             " digits: float32 inside it?");
    return measured;
  }

  // `unit` is the size a derivative of this input has: what cannot be told apart from zero in it is not decided.
  static void judge(GradCheckEntry& entry, const NumericDerivative& numeric, double unit) {
    const auto is = [&](Verdict verdict, Cause cause) {
      entry.verdict = verdict;
      entry.cause = cause;
    };
    const double error = entry.error(), slack = 1e-3 * std::abs(entry.right - entry.left);
    if (numeric.kink) {
      const bool between = entry.analytic >= std::min(entry.left, entry.right) - slack &&
                           entry.analytic <= std::max(entry.left, entry.right) + slack;
      return between ? is(Verdict::inconclusive, Cause::kink) : is(Verdict::wrong, Cause::unknown);
    }
    if (!numeric.decided) return is(Verdict::inconclusive, Cause::noise);
    if (!std::isfinite(entry.analytic)) return is(Verdict::wrong, Cause::not_finite);
    // A numeric derivative without a digit accuses nobody.
    const bool blunt = entry.tolerance > 0.1 * std::max(std::abs(entry.analytic), std::abs(entry.numeric));
    if (error > entry.tolerance)
      return blunt ? is(Verdict::inconclusive, Cause::noise) : is(Verdict::wrong, Cause::unknown);
    if (entry.tolerance > 1e-3 * std::max(unit, std::abs(entry.numeric))) is(Verdict::inconclusive, Cause::noise);
  }

  // Moves all entries at kinks together: ties stay ties, and along such a line f is often smooth.
  void check_ties() {
    std::vector<std::size_t> kinked;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].cause == Cause::kink) kinked.push_back(i);
    if (kinked.size() < 2) return;
    for (const bool by_sign : {false, true}) {
      std::vector<Values> direction(inputs_.size());
      double expected = 0, scale = std::numeric_limits<double>::infinity();
      for (std::size_t i : kinked) {
        const GradCheckEntry& entry = entries_[i];
        Values& line = direction[static_cast<std::size_t>(entry.input)];
        line.resize(values_[static_cast<std::size_t>(entry.input)].size());
        line[places_[i]] = by_sign && entry.analytic < 0 ? -1 : 1;
        expected += line[places_[i]] * entry.analytic;
        scale = std::min(scale, scale_at(values_[static_cast<std::size_t>(entry.input)][places_[i]], 0));
      }
      const NumericDerivative numeric = differentiate([&](double t) { return along(direction, t); }, 0, scale, noise_);
      if (!numeric.decided || numeric.kink || std::abs(numeric.value - expected) <= numeric.tolerance) continue;
      for (std::size_t i : kinked) {
        entries_[i].verdict = Verdict::wrong;
        entries_[i].cause = Cause::tie_rule;
      }
      result.notes.push_back("moved together, the entries at kinks have the derivative " +
                             detail::number(numeric.value) + ", but their gradients add up to " +
                             detail::number(expected));
      return;
    }
  }

  void finish() {
    for (const GradCheckEntry& entry : entries_) {
      if (entry.verdict == Verdict::right) ++result.right;
      if (entry.verdict == Verdict::wrong) ++result.wrong;
      if (entry.verdict == Verdict::inconclusive) ++result.inconclusive;
    }
    for (std::size_t input = 0; input < inputs_.size(); ++input) find_cause(static_cast<int>(input));
    std::erase_if(entries_, [](const GradCheckEntry& entry) { return entry.verdict == Verdict::right; });
    std::stable_sort(entries_.begin(), entries_.end(), detail::is_worse);
    entries_.resize(std::min(entries_.size(), options_.report));
    result.worst = std::move(entries_);
  }

  void find_cause(int input) {
    std::vector<std::size_t> all, wrong;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].input != input) continue;
      all.push_back(i);
      if (entries_[i].verdict == Verdict::wrong && entries_[i].cause == Cause::unknown) wrong.push_back(i);
    }
    if (wrong.empty()) return;
    const std::size_t worst = *std::min_element(
        wrong.begin(), wrong.end(), [&](auto a, auto b) { return detail::is_worse(entries_[a], entries_[b]); });
    const bool missing = compare_outputs(entries_[worst], places_[worst]);
    std::vector<GradCheckEntry> checked;
    for (std::size_t i : all) checked.push_back(entries_[i]);
    const auto [cause, factor] = detail::suspect(checked, missing);
    for (std::size_t i : wrong) {
      entries_[i].cause = cause;
      entries_[i].factor = factor;
    }
  }

  // Takes a wrong entry apart by output element: where the difference sits, and whether contributions are missing.
  bool compare_outputs(GradCheckEntry& entry, std::size_t at) {
    constexpr std::int64_t kMost = 256;
    const auto input = static_cast<std::size_t>(entry.input);
    const double x = values_[input][at], step = std::ldexp(scale_at(x, 0), -12);
    Values values = values_[input];
    values[at] = x + step;
    const std::vector<Tensor> high = outputs_at(input, values);
    values[at] = x - step;
    const std::vector<Tensor> low = outputs_at(input, values);
    struct Part {
      double analytic, numeric;
      int output;
      Shape element;
    };
    std::vector<Part> parts;
    double unit = 0;
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      const Tensor& output = outputs_[o];
      if (!output.defined() || !output.requires_grad()) continue;
      if (output.numel() > kMost) return false;
      const Values up = high[o].to_vector<double>(), down = low[o].to_vector<double>();
      for (std::size_t j = 0; j < up.size(); ++j) {
        Values one_hot(up.size());
        one_hot[j] = 1;
        const Tensor g = grad({output}, {leaves_[input]}, {weights_of(output, one_hot)}, {.retain_graph = true})[0];
        parts.push_back({g.defined() ? g.to_vector<double>()[at] : 0, (up[j] - down[j]) / (2 * step),
                         static_cast<int>(o), coordinates(output.shape(), static_cast<std::int64_t>(j))});
        unit = std::max(unit, std::abs(parts.back().numeric));
      }
    }
    bool any_present = false, only_missing = true;
    double largest = 0;
    for (const Part& part : parts) {
      const double error = std::abs(part.analytic - part.numeric);
      if (error <= 1e-4 * unit) {
        any_present |= std::abs(part.analytic) > 1e-3 * unit;
        continue;
      }
      only_missing &= part.analytic == 0;
      if (error <= largest) continue;
      largest = error;
      entry.output = part.output;
      entry.output_element = part.element;
    }
    return largest > 0 && only_missing && any_present;
  }

  void fail(Cause cause, std::string text) {
    result.failure = std::move(text);
    result.failure_cause = cause;
  }

  const TensorFunction& f_;
  GradCheckOptions options_;
  std::vector<Tensor> inputs_, leaves_, outputs_;
  std::vector<Values> values_, cotangents_, gradients_;
  std::vector<bool> unreached_;  // of the floating inputs
  std::vector<GradCheckEntry> entries_;
  std::vector<std::size_t> places_;  // of the entries, as positions in their input
  double magnitude_ = 0, noise_ = 0;
};

void require_inputs(const char* op, const std::vector<Tensor>& inputs, Where where) {
  bool floating = false;
  for (const Tensor& input : inputs) {
    if (!input.defined()) throw ValueError(op, "an input is undefined", where);
    floating |= is_floating(input.dtype());
  }
  if (!floating) throw ValueError(op, "no input is floating, so there is no gradient to check", where);
}

}  // namespace

void detail::throw_argument_count(std::size_t inputs) {
  throw ValueError("gradcheck", "the function does not take " + std::to_string(inputs) + " tensors", {});
}

GradCheck gradcheck_function(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options,
                             Where where) {
  require_inputs("gradcheck", inputs, where);
  GradMode recording(true);
  Checker checker(f, inputs, options);
  checker.run();
  return std::move(checker.result);
}

GradCheck gradgradcheck_function(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options,
                                 Where where) {
  require_inputs("gradgradcheck", inputs, where);
  GradMode recording(true);
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
