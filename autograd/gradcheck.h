// Checks the gradients of any function of tensors against derivatives found from its values alone.
//
//   GradCheck check = gradcheck([](const Tensor& x) { return cube(x); }, {randn({3, 4})});
//   if (!check) std::cout << check.explain();
//
// Floating inputs are copied dense and in float64, so f is checked in float64 unless it rounds itself. The outputs are
// weighted with a random cotangent (equal for equal seeds), so no output hides behind another. Each entry of the
// gradient gets one of three verdicts: right, wrong, or inconclusive where values decide nothing, as at a kink. There
// an entry is wrong only if it leaves the one-sided slopes, or if all entries at kinks together disagree along a
// direction in which f is smooth: that is how a dropped tie rule shows.
//
// Also checked: forward and backward give equal bits twice, and backward survives a second walk. What backward throws
// is a failure of the check; what f itself throws comes through. Outputs that are NaN or infinite are left out, with
// the entries that reach them; where nothing is left to check, the check is inconclusive. In <tally/autograd/gtest.h>
// the same is a matcher.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tally/autograd/tensor_function.h>

namespace tally {

/// What is checked and how much is told.
struct GradCheckOptions {
  std::uint64_t seed = 0;          // of the cotangent and of the entries sampled
  std::int64_t max_entries = 200;  // an input; of larger inputs this many are sampled
  std::size_t report = 8;          // the worst entries that the result lists
};

/// Of one entry and of the whole: inconclusive where values decide nothing.
enum class Verdict { right, wrong, inconclusive };

/// What a wrong (or undecided) entry looks like.
enum class Cause {
  unknown,
  sign,            // minus the right gradient
  factor,          // the right gradient times a constant
  missing_sum,     // some outputs' contributions are left out: a sum over broadcast dims, or over repeated indices
  wrong_place,     // right numbers at the wrong elements
  tie_rule,        // tied elements together get too much or too little
  round_off,       // right to float32's digits only
  no_gradient,     // the graph does not reach the input
  not_finite,      // NaN or infinity where the derivative is finite
  nondeterminism,  // two runs on the same input differ
  kink,            // the one-sided slopes differ: the values decide nothing here
  jump,            // f has steps here, as floor does, and the gradient may be that between them
  noise,           // the values are too coarse, or not smooth enough, for a derivative
  domain,          // f is NaN or infinite here or right beside
};
/// In words, as explain() shows it.
const char* name_of(Cause cause);

/// One entry of the gradient of the weighted outputs.
struct GradCheckEntry {
  int input = 0;
  Shape element;                       // coordinates in that input
  double analytic = 0, numeric = 0;    // from backward, from values
  double estimate = 0, tolerance = 0;  // the error the numeric side sees in itself; the error it would let pass
  double left = 0, right = 0;          // one-sided slopes, where they differ
  Verdict verdict = Verdict::right;
  Cause cause = Cause::unknown;
  double factor = 1;  // analytic / numeric, of Cause::factor
  int output = -1;    // the output where the difference is largest, if it was looked for
  Shape output_element = {};
  std::int64_t alike = 0;  // how many of this input were checked, where all of them have this verdict and this cause
  /// |analytic - numeric|.
  double error() const;
};

/// What a check found.
struct GradCheck {
  /// Something was decided and nothing is wrong.
  bool ok() const { return verdict() == Verdict::right; }
  explicit operator bool() const { return ok(); }
  /// Wrong if anything is, else right if something was decided.
  Verdict verdict() const;
  /// The whole result for a reader: entries with both values, estimated errors and suspected causes.
  std::string explain() const;

  std::vector<GradCheckEntry> worst;  // not right, worst first; at most options.report
  std::int64_t right = 0, wrong = 0, inconclusive = 0;
  std::int64_t entries = 0;  // of all inputs; fewer are checked where an input is large
  std::string failure;       // what backward threw, or what differed between two runs
  Cause failure_cause = Cause::unknown;
  std::vector<std::string> notes;  // such as: an input's elements shared memory, f rounds to float32
};

/// Integer inputs go to f as they are; at least one input must be floating (ValueError).
GradCheck gradcheck_function(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options = {},
                             Where where = Where::here());
/// The same for the gradient itself, recorded with create_graph, as a function of inputs and cotangents.
GradCheck gradgradcheck_function(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                 GradCheckOptions options = {}, Where where = Where::here());

/// The two above for any f that as_tensor_function takes.
template <class F>
GradCheck gradcheck(F f, const std::vector<Tensor>& inputs, GradCheckOptions options = {},
                    Where where = Where::here()) {
  return gradcheck_function(as_tensor_function(std::move(f)), inputs, options, where);
}
template <class F>
GradCheck gradgradcheck(F f, const std::vector<Tensor>& inputs, GradCheckOptions options = {},
                        Where where = Where::here()) {
  return gradgradcheck_function(as_tensor_function(std::move(f)), inputs, options, where);
}

}  // namespace tally
