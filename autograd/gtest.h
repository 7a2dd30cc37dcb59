// GoogleTest matchers for tensors and gradients. Needs GoogleTest and GMock; nothing else of the library includes it.
//
//   EXPECT_THAT(cube, PassesGradCheck(randn({3, 4})));
//   EXPECT_THAT(sum(x), AllClose(tensor({30.0}), 1e-6));
//
// A library op goes in as a lambda, since its last argument is the caller's line:
//
//   EXPECT_THAT([](const Tensor& x) { return sum(x, 0); }, PassesGradCheck(randn({3, 4})));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <exception>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <tally/autograd/gradcheck.h>
#include <tally/autograd/verify.h>
#include <tally/core/print.h>
#include <tally/core/tensor.h>

namespace tally {
namespace detail {

/// Where two lists of values differ, for a reader: how many, the first, and the largest difference.
class Differences {
 public:
  void add(std::int64_t i, double actual, double expected) {
    const double apart = std::abs(actual - expected);
    if (count_++ == 0 || apart > largest_) largest_ = apart;
    if (count_ == 1) first_ = {i, actual, expected};
  }
  bool none() const { return count_ == 0; }
  void explain(const Shape& shape, std::ostream& out) const {
    Shape at = shape;
    std::int64_t i = first_.i;
    for (int d = shape.size() - 1; d >= 0; i /= shape[d], --d) at[d] = i % shape[d];
    out << count_ << " of " << shape.numel() << " elements differ, first " << to_string(at) << ": ";
    out.precision(17);
    out << first_.actual << " where " << first_.expected << " is expected; largest difference " << largest_;
  }

 private:
  struct First {
    std::int64_t i = 0;
    double actual = 0, expected = 0;
  };
  std::int64_t count_ = 0;
  double largest_ = 0;
  First first_;
};

inline bool fits(const Tensor& actual, const Tensor& expected, bool dtype_too, std::ostream* out) {
  const bool shape = actual.defined() && expected.defined() && actual.shape() == expected.shape();
  const bool fits = shape && (!dtype_too || actual.dtype() == expected.dtype());
  if (!fits && out) *out << "which is " << describe(actual) << ", not " << describe(expected);
  return fits;
}

struct AllCloseMatcher {
  using is_gtest_matcher = void;
  Tensor expected;
  double rtol, atol;

  bool MatchAndExplain(const Tensor& actual, std::ostream* out) const {
    if (!fits(actual, expected, false, out)) return false;
    const auto a = actual.to_vector<double>(), e = expected.to_vector<double>();
    Differences differences;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool close = a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i])) ||
                         (std::isfinite(e[i]) && std::abs(a[i] - e[i]) <= atol + rtol * std::abs(e[i]));
      if (!close) differences.add(static_cast<std::int64_t>(i), a[i], e[i]);
    }
    if (!differences.none() && out) differences.explain(expected.shape(), *out);
    return differences.none();
  }
  void DescribeTo(std::ostream* out) const {
    *out << "is close to " << ::testing::PrintToString(expected) << " (rtol " << rtol << ", atol " << atol << ")";
  }
  void DescribeNegationTo(std::ostream* out) const { *out << "is not close to " << ::testing::PrintToString(expected); }
};

struct BitEqualMatcher {
  using is_gtest_matcher = void;
  Tensor expected;

  bool MatchAndExplain(const Tensor& actual, std::ostream* out) const {
    if (!fits(actual, expected, true, out)) return false;
    return visit(expected.dtype(), [&](auto tag) { return compare<typename decltype(tag)::type>(actual, out); });
  }
  void DescribeTo(std::ostream* out) const { *out << "has the bits of " << ::testing::PrintToString(expected); }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "has other bits than " << ::testing::PrintToString(expected);
  }

 private:
  template <class T> bool compare(const Tensor& actual, std::ostream* out) const {
    const auto a = actual.to_vector<T>(), e = expected.to_vector<T>();
    Differences differences;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const T x = a[i], y = e[i];
      const double wide_x = static_cast<double>(x), wide_y = static_cast<double>(y);
      if (std::memcmp(&x, &y, sizeof(T)) == 0 || (std::isnan(wide_x) && std::isnan(wide_y))) continue;
      differences.add(static_cast<std::int64_t>(i), wide_x, wide_y);
    }
    if (!differences.none() && out) differences.explain(expected.shape(), *out);
    return differences.none();
  }
};

struct HasShapeMatcher {
  using is_gtest_matcher = void;
  Shape shape;

  bool MatchAndExplain(const Tensor& actual, std::ostream* out) const {
    if (out) *out << "which is " << describe(actual);
    return actual.defined() && actual.shape() == shape;
  }
  void DescribeTo(std::ostream* out) const { *out << "has shape " << to_string(shape); }
  void DescribeNegationTo(std::ostream* out) const { *out << "does not have shape " << to_string(shape); }
};

// What a callable is matched by: the check runs when the matcher meets it.
template <class Run> class CallableMatcher {
 public:
  CallableMatcher(std::string what, Run run) : what_(std::move(what)), run_(std::move(run)) {}
  template <class F> bool MatchAndExplain(const F& f, ::testing::MatchResultListener* listener) const {
    try {
      const auto [ok, text] = run_(as_tensor_function(f));
      *listener << "\n" << text;
      return ok;
    } catch (const std::exception& error) {
      // No match, so that GoogleTest says on which line; and a failure under Not() as well, which would take it for
      // one.
      *listener << "\nwhich threw " << error.what();
      if (!listener->IsInterested()) ADD_FAILURE() << "What \"" << what_ << "\" was asked of threw " << error.what();
      return false;
    }
  }
  void DescribeTo(std::ostream* out) const { *out << what_; }
  void DescribeNegationTo(std::ostream* out) const { *out << "not: " << what_; }

 private:
  std::string what_;
  Run run_;
};

template <class Run> auto match_callable(std::string what, Run run) {
  return ::testing::MakePolymorphicMatcher(CallableMatcher<Run>(std::move(what), std::move(run)));
}

}  // namespace detail

/// |actual - expected| <= atol + rtol·|expected| everywhere, in double; shapes are equal, dtypes need not be.
/// Infinities match their equals and NaN matches NaN.
inline ::testing::Matcher<const Tensor&> AllClose(Tensor expected, double rtol = 1e-5, double atol = 1e-8) {
  return detail::AllCloseMatcher{std::move(expected), rtol, atol};
}

/// The same dtype, shape and bits; any NaN equals any NaN. The device may differ.
inline ::testing::Matcher<const Tensor&> BitEqual(Tensor expected) {
  return detail::BitEqualMatcher{std::move(expected)};
}

/// Just these extents.
inline ::testing::Matcher<const Tensor&> HasShape(Shape shape) { return detail::HasShapeMatcher{shape}; }

/// On a function of the inputs: its gradients are right (autograd/gradcheck.h).
template <class... Inputs> auto PassesGradCheck(Inputs... inputs) {
  return detail::match_callable("has the right gradients", [list = std::vector<Tensor>{inputs...}](const auto& f) {
    const GradCheck check = gradcheck_function(f, list);
    return std::pair(check.ok(), check.explain());
  });
}

/// The same for second derivatives, through create_graph.
template <class... Inputs> auto PassesGradGradCheck(Inputs... inputs) {
  return detail::match_callable("has the right second derivatives",
                                [list = std::vector<Tensor>{inputs...}](const auto& f) {
                                  const GradCheck check = gradgradcheck_function(f, list);
                                  return std::pair(check.ok(), check.explain());
                                });
}

/// The whole battery of autograd/verify.h: EXPECT_THAT(swish, PassesVerifyOp(randn({3, 4}))). What is compiled in the
/// calling file is judged by that file's flags.
template <class... Inputs> auto PassesVerifyOp(VerifyOptions options, Inputs... inputs) {
  return detail::match_callable("passes verify_op", [options, float_mode = FloatMode::here(),
                                                     list = std::vector<Tensor>{inputs...}](const auto& f) {
    const Verification result = verify_function(f, list, options, float_mode);
    return std::pair(result.ok(), result.explain());
  });
}
template <class... Inputs> auto PassesVerifyOp(Tensor first, Inputs... inputs) {
  return PassesVerifyOp(VerifyOptions{}, std::move(first), inputs...);
}

/// On a function of the inputs: its results have equal bits on the CPU and on CUDA. Without CUDA nothing is compared,
/// so a test skips first where is_available(Device::cuda) is false.
template <class... Inputs> auto SameOnBothDevices(Inputs... inputs) {
  return detail::match_callable("gives the same bits on both devices",
                                [list = std::vector<Tensor>{inputs...}](const auto& f) {
                                  if (!is_available(Device::cuda))
                                    return std::pair(true, std::string("no CUDA device: not compared"));
                                  std::vector<Tensor> here, there;
                                  for (const Tensor& input : list) {
                                    here.push_back(input.to(Device::cpu));
                                    there.push_back(input.to(Device::cuda));
                                  }
                                  const std::vector<Tensor> a = f(here), b = f(there);
                                  if (a.size() != b.size())
                                    return std::pair(false, std::string("different numbers of results"));
                                  for (std::size_t i = 0; i < a.size(); ++i) {
                                    ::testing::StringMatchResultListener listener;
                                    if (!BitEqual(a[i]).MatchAndExplain(b[i], &listener))
                                      return std::pair(false, "result " + std::to_string(i) + ": " + listener.str());
                                  }
                                  return std::pair(true, std::string("equal"));
                                });
}

}  // namespace tally
