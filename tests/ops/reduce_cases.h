// Every reduction as a row: how it is called, what it should give, how far rounding may move it.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <tally/ops/reduce.h>
#include <tally/ops/reductions.h>

#include <tally/tests/support/reference.h>

namespace tally::test {

struct ReduceCase {
  std::string name;
  std::size_t alternative;  // in the list of reductions
  std::function<Tensor(const Tensor&, Dims, KeepDim)> run;
  std::function<double(const reference::List&)> value;
  std::function<double(const reference::List&)> spread;  // rounding errors are a few ulps of this
  bool floats_only = false;                              // an integer input throws
  bool exact = false;                                    // no rounding at all
  bool needs_elements = false;
  bool gradient = true;
  bool reads_x = true;  // the gradient depends on the elements
};
inline std::ostream& operator<<(std::ostream& out, const ReduceCase& op) { return out << op.name; }

inline const std::vector<ReduceCase>& reduce_cases() {
  namespace ref = reference;
  using ref::List;
  static const std::vector<ReduceCase> cases = [] {
    std::vector<ReduceCase> all;
    const auto zero = [](const List&) { return 0.0; };
    const auto magnitude = [](const List& x) { return ref::sum_of_magnitudes(x); };
    const auto index = [](const Reduction& op) { return op.index(); };
    all.push_back(
        {"sum", index(Sum{}), [](const Tensor& x, Dims d, KeepDim k) { return sum(x, d, k); }, ref::sum, magnitude});
    all.push_back(
        {"mean", index(Mean{}), [](const Tensor& x, Dims d, KeepDim k) { return mean(x, d, k); }, ref::mean,
         [](const List& x) { return x.empty() ? 0 : ref::sum_of_magnitudes(x) / static_cast<double>(x.size()); },
         true});
    all.push_back({"prod", index(Prod{}), [](const Tensor& x, Dims d, KeepDim k) { return prod(x, d, k); }, ref::prod,
                   [](const List& x) { return std::abs(ref::prod(x)) * static_cast<double>(x.size()); }});
    all.push_back({"max", index(Max{}), [](const Tensor& x, Dims d, KeepDim k) { return max(x, d, k); }, ref::max, zero,
                   false, true, true});
    all.push_back({"min", index(Min{}), [](const Tensor& x, Dims d, KeepDim k) { return min(x, d, k); }, ref::min, zero,
                   false, true, true});
    all.push_back({"argmax", index(Max{}), [](const Tensor& x, Dims d, KeepDim k) { return argmax(x, d, k); },
                   ref::argmax, zero, false, true, true, false});
    all.push_back({"argmin", index(Min{}), [](const Tensor& x, Dims d, KeepDim k) { return argmin(x, d, k); },
                   ref::argmin, zero, false, true, true, false});
    all.push_back({"amax", index(AMax{}), [](const Tensor& x, Dims d, KeepDim k) { return amax(x, d, k); }, ref::max,
                   zero, false, true, true});
    all.push_back({"amin", index(AMin{}), [](const Tensor& x, Dims d, KeepDim k) { return amin(x, d, k); }, ref::min,
                   zero, false, true, true});
    all.push_back({"count_nonzero", index(CountNonzero{}),
                   [](const Tensor& x, Dims d, KeepDim k) { return count_nonzero(x, d, k); }, ref::count_nonzero, zero,
                   false, true, false, false});
    all.push_back({"any", index(Any{}), [](const Tensor& x, Dims d, KeepDim k) { return any(x, d, k); }, ref::any, zero,
                   false, true, false, false});
    all.push_back({"all", index(All{}), [](const Tensor& x, Dims d, KeepDim k) { return tally::all(x, d, k); },
                   ref::all, zero, false, true, false, false});
    const auto add_norm = [&](const Reduction& op, double p, const char* name) {
      all.push_back(
          {name, op.index(), [p](const Tensor& x, Dims d, KeepDim k) { return norm(x, p, d, k); },
           [p](const List& x) { return ref::norm(x, p); },
           // Each power and the root carry |p| and 1/|p| ulps of their own.
           [p](const List& x) {
             return ref::norm(x, p) *
                    (std::isinf(p) || p == 0 ? 0 : 1 + (1 + std::log(static_cast<double>(x.size()) + 1)) / std::abs(p));
           },
           true, std::isinf(p) || p == 0, p == -ref::kInf});
    };
    add_norm(Norm2{}, 2, "norm");
    add_norm(Norm1{}, 1, "norm of order 1");
    add_norm(Norm0{}, 0, "norm of order 0");
    add_norm(NormInf<true>{}, ref::kInf, "norm of order inf");
    add_norm(NormInf<false>{}, -ref::kInf, "norm of order -inf");
    for (const auto& [p, name] : {std::pair(3.0, "norm of order 3"),
                                  {2.5, "norm of order 2.5"},
                                  {0.5, "norm of order 0.5"},
                                  {-1.0, "norm of order -1"}})
      add_norm(NormP{p}, p, name);
    const auto around_first = [](const List& x, double c) {
      double squares = 0;
      for (double v : x) squares += (v - x[0]) * (v - x[0]);
      return squares / (static_cast<double>(x.size()) - c);
    };
    for (const double c : {0.0, 1.0, 0.5}) {
      const std::string tail = " with correction " + std::to_string(c).substr(0, 3);
      all.push_back(
          {"var" + tail, index(Var{}), [c](const Tensor& x, Dims d, KeepDim k) { return var(x, d, Correction(c), k); },
           [c](const List& x) { return ref::var(x, c); }, [=](const List& x) { return around_first(x, c); }, true});
      all.push_back({"std" + tail, index(Std{}),
                     [c](const Tensor& x, Dims d, KeepDim k) { return tally::std(x, d, Correction(c), k); },
                     [c](const List& x) { return ref::std(x, c); },
                     [=](const List& x) {
                       const double s = ref::std(x, c);
                       return s > 0 ? around_first(x, c) / s : 0;
                     },
                     true});
    }
    all.push_back({"logsumexp", index(LogSumExp{}),
                   [](const Tensor& x, Dims d, KeepDim k) { return logsumexp(x, d, k); }, ref::logsumexp,
                   [](const List& x) { return std::max(1.0, std::abs(ref::logsumexp(x))); }, true});
    return all;
  }();
  return cases;
}

inline std::vector<ReduceCase> differentiable_cases() {
  std::vector<ReduceCase> cases;
  for (const ReduceCase& op : reduce_cases())
    if (op.gradient) cases.push_back(op);
  return cases;
}

}  // namespace tally::test
