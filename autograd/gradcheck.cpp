#include <tally/autograd/gradcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/autograd/derivative.h>
#include <tally/autograd/gradcheck_cause.h>
#include <tally/autograd/gradcheck_input.h>
#include <tally/autograd/gradcheck_run.h>
#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/core/random.h>

namespace tally {
namespace detail {
namespace {

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

class Checker {
 public:
  Checker(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options, Backward backward)
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
    for (std::size_t i = 0; i < probe_.count(); ++i) find_alike(static_cast<int>(i));
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
    const std::size_t count = probe_.values(input).size();
    result_.entries += static_cast<std::int64_t>(count);
    if (count == 0) return;
    InputCheck check(probe_, input, options_.seed, result_.notes);
    noise_ = std::max(noise_, check.noise());
    for (const std::size_t place : pick(count, options_)) entries_.push_back({check.entry_at(place), place});
    check.note_noise();
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
      const NumericDerivative close = derivative_close_to(probe_, f, 0, widest, noise_, error);
      if (close.decided && (close.kink || std::abs(close.value - numeric.value) > error / 4)) continue;
      for (Placed* one : kinked) {
        one->entry.verdict = Verdict::wrong;
        one->entry.cause = Cause::tie_rule;
      }
      result_.notes.push_back("moved together, the entries at kinks have the derivative " + number(numeric.value) +
                              ", but their gradients add up to " + number(expected));
      return;
    }
  }

  void find_cause(int input) {
    std::vector<GradCheckEntry> checked;
    Placed* worst = nullptr;
    for (Placed& one : entries_) {
      if (one.entry.input != input) continue;
      checked.push_back(one.entry);
      if (is_unexplained(one.entry) && (!worst || is_worse(one.entry, worst->entry))) worst = &one;
    }
    if (!worst) return;
    const double step = std::ldexp(scale_at(probe_.values(worst->input())[worst->place], 0), -12);
    const bool missing = locate(worst->entry, probe_.parts(worst->input(), worst->place, step));
    const auto [cause, factor] = suspect(checked, missing);
    for (Placed& one : entries_) {
      if (one.entry.input != input || !is_unexplained(one.entry)) continue;
      one.entry.cause = cause;
      one.entry.factor = factor;
    }
  }
  static bool is_unexplained(const GradCheckEntry& entry) {
    return entry.verdict == Verdict::wrong && entry.cause == Cause::unknown;
  }

  // One word for all, where the entries of an input have one fault.
  void find_alike(int input) {
    std::vector<GradCheckEntry*> all;
    for (Placed& one : entries_)
      if (one.entry.input == input) all.push_back(&one.entry);
    const bool alike = std::all_of(all.begin(), all.end(), [&](const GradCheckEntry* entry) {
      return entry->verdict == all[0]->verdict && entry->cause == all[0]->cause && entry->cause != Cause::unknown;
    });
    for (GradCheckEntry* entry : all) entry->alike = alike ? static_cast<std::int64_t>(all.size()) : 0;
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
    std::stable_sort(result_.worst.begin(), result_.worst.end(), is_worse);
    result_.worst.resize(std::min(result_.worst.size(), options_.report));
  }

  GradCheckOptions options_;
  Probe probe_;
  std::vector<Placed> entries_;
  double noise_ = 0;
  GradCheck result_;
};

}  // namespace

void throw_argument_count(std::size_t inputs) {
  throw ValueError("gradcheck", "the function does not take " + std::to_string(inputs) + " tensors", {});
}

void require_inputs(const char* op, const std::vector<Tensor>& inputs, Where where) {
  bool floating = false;
  for (const Tensor& input : inputs) {
    if (!input.defined()) throw ValueError(op, "an input is undefined", where);
    floating |= is_floating(input.dtype());
  }
  if (!floating) throw ValueError(op, "no input is floating, so there is no gradient to check", where);
}

GradCheck check_gradients(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options,
                          Backward backward) {
  GradMode recording(true);
  return Checker(f, inputs, options, backward).run();
}

}  // namespace detail

GradCheck gradcheck_function(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options,
                             Where where) {
  detail::require_inputs("gradcheck", inputs, where);
  return detail::check_gradients(f, inputs, options, detail::Backward::plain);
}

}  // namespace tally
