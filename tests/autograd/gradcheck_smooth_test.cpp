// gradcheck of smooth functions, by the thousand and at any speed.
#include <gtest/gtest.h>

#include <tally/autograd/backward.h>
#include <tally/autograd/gradcheck.h>
#include <tally/autograd/record.h>
#include <tally/core/random.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/tests/autograd/gradcheck_cases.h>

namespace tally {
namespace {

using test::scaled_gradient;

// Thousands of entries of smooth functions: not one may be accused, nor left open; and where they are off by a
// billionth it shows.
TEST(GradCheck, AccusesNoSmoothFunction) {
  Generator generator(7);
  Tensor x = empty({40, 5}, {.dtype = float64});
  fill_normal(x, generator);
  std::int64_t right = 0, entries = 0;
  std::int64_t planted = 0, seen = 0;
  // `sharp`: no entry's gradient is small beside the values.
  const auto check = [&](const char* name, auto f, const Tensor& x, bool sharp = true) {
    // The same values; the gradient is off by 1e-9.
    const auto off = [&](const Tensor& x) {
      return record("off", {x}, no_grad([&] { return f(x); }), saving(x), [f](const Tensor& g, const Tensor& x) {
        GradMode recording(true);
        const Tensor leaf = x.detach().requires_grad_();
        return std::vector{grad({f(leaf)}, {leaf}, {g})[0] * (1 + 1e-9)};
      });
    };
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const GradCheck check = gradcheck(f, {x}, {.seed = seed});
      EXPECT_EQ(check.wrong, 0) << name << "\n" << check.explain();
      right += check.right;
      entries += check.entries;
      if (!sharp) continue;
      planted += check.entries;
      seen += gradcheck(off, {x}, {.seed = seed}).wrong;
    }
  };
  check(
      "exp", [](const Tensor& x) { return exp(x); }, x);
  check(
      "tanh", [](const Tensor& x) { return tanh(x); }, x);
  check(
      "log", [](const Tensor& x) { return log(x * x + 0.1); }, x);
  check(
      "sin of a square", [](const Tensor& x) { return sin(3 * x * x); }, x);
  check(
      "reciprocal", [](const Tensor& x) { return 1 / (1 + x * x); }, x);
  check(
      "erf", [](const Tensor& x) { return erf(x); }, x, false);
  check(
      "square", [](const Tensor& x) { return square(x + 1000); }, x, false);
  check(
      "logsumexp", [](const Tensor& x) { return logsumexp(x, 1); }, x);
  check(
      "var", [](const Tensor& x) { return var(x, 0); }, x);
  check(
      "norm", [](const Tensor& x) { return norm(x, 3, 1); }, x, false);
  check(
      "difference of large values", [](const Tensor& x) { return (x + 1e6) - (x * x + 1e6); }, x, false);
  EXPECT_GE(static_cast<double>(right), 0.99 * static_cast<double>(entries));
  EXPECT_GE(static_cast<double>(seen), 0.99 * static_cast<double>(planted));
}

// Waves that the first steps jump over: nothing can be said, above all not that the gradient is wrong.
TEST(GradCheck, DoesNotAccuseAFastFunction) {
  Generator generator(3);
  Tensor x = empty({12}, {.dtype = float64});
  fill_normal(x, generator);
  for (const double speed : {1e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 1e8, 1e9})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const auto f = [speed](const Tensor& x) { return sin(speed * x); };
      const GradCheck check = gradcheck(f, {x}, {.seed = seed});
      EXPECT_EQ(check.wrong, 0) << speed << "\n" << check.explain();
      EXPECT_EQ(gradcheck(scaled_gradient(f, 1.1), {x}, {.seed = seed}).right, 0) << speed;
    }
  const auto fast = [](const Tensor& x) { return sin(1e3 * x); };
  EXPECT_EQ(gradcheck(fast, {x}).verdict(), Verdict::right);
  EXPECT_EQ(gradcheck(scaled_gradient(fast, 1.1), {x}).wrong, 12);
}

}  // namespace
}  // namespace tally
