// The gradient of one input, entry by entry: what values say of each, and the verdict.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tally/autograd/derivative.h>
#include <tally/autograd/gradcheck_probe.h>

namespace tally::detail {

/// A power of two about the length on which f changes around x: its own size, or that of the whole input.
double scale_at(double x, double rms);

/// f'(x) from steps so small that they just show the difference `within`; `noise` is f's round-off at wider ones.
NumericDerivative derivative_close_to(const Probe& probe, const std::function<double(double)>& f, double x,
                                      double scale, double noise, double within);

/// Judges the entries of one input's gradient, one after another.
class InputCheck {
 public:
  /// The notes of what was found about all entries are added to `notes`.
  InputCheck(const Probe& probe, std::size_t input, std::uint64_t seed, std::vector<std::string>& notes);

  /// The entry at `place` in row-major order.
  GradCheckEntry entry_at(std::size_t place);
  /// The round-off of a value of f.
  double noise() const { return noise_; }
  /// Notes it where it is more than float64's: after the entries, since at kinks alone it is not round-off.
  void note_noise();

 private:
  using Function = std::function<double(double)>;
  GradCheckEntry judged(const Function& f, std::size_t place, double noise) const;
  void look_closer(GradCheckEntry& entry, const Function& f, double x, double scale, double noise) const;
  double measured_noise(std::uint64_t seed);
  double steps_along() const;
  void look_at_edge(GradCheckEntry& entry, const Function& f, double x, double scale) const;
  void note_digits(double noise);

  const Probe& probe_;
  std::size_t input_;
  std::vector<std::string>& notes_;
  Values values_;                      // moved at one place at a time
  double rms_, noise_ = 0, size_ = 0;  // of the input, of a value of f, of such values at the inputs and beside
  double own_, response_;              // the largest entry, and how much f changes where an input moves by its own size
  // For steps, where a gradient seems wrong or f kinked; they cost more than a derivative.
  int looks_ = 4, kink_looks_ = 4;
  double steps_along_ = -1;  // not measured yet
  bool only_kinks_ = true;   // among the entries so far
};

}  // namespace tally::detail
