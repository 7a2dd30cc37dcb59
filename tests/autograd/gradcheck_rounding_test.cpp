// gradcheck where f or its gradient is rounded inside: to float32, to a half type, or beside a large constant.
#include <tally/autograd/gradcheck.h>
#include <tally/autograd/gtest.h>
#include <tally/core/random.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/tests/autograd/gradcheck_cases.h>

namespace tally {
namespace {

using test::input;
using test::square_with;
using ::testing::HasSubstr;

TEST(GradCheck, NamesFloat32InsideBackward) {
  const GradCheck check = gradcheck(square_with([](const Tensor& g, const Tensor& x) {
                                      return (2 * (g.to(float32) / 3) * x.to(float32)).to(float64) * 3;
                                    }),
                                    {input()});
  ASSERT_FALSE(check.ok()) << check.explain();
  EXPECT_EQ(check.worst[0].cause, Cause::round_off) << check.explain();
}

TEST(GradCheck, FloatInsideForwardIsNotedNotAccused) {
  for (const auto& f : {+[](const Tensor& x) { return exp(x.to(float32)); },
                        +[](const Tensor& x) { return exp(x.to(float32)).to(float64); },
                        +[](const Tensor& x) { return sum(square(x.to(float32)), 1); },
                        +[](const Tensor& x) { return norm(x.to(float32)); }}) {
    const GradCheck check = gradcheck(f, {input()});
    EXPECT_EQ(check.wrong, 0) << check.explain();
    EXPECT_TRUE(check.ok()) << check.explain();
    EXPECT_THAT(check.explain(), HasSubstr("float32"));
  }
}

TEST(GradCheck, FindsAGrossFaultInFloat32) {
  const auto f = [](const Tensor& x) {
    return square_with([](const Tensor& g, const Tensor& x) { return 2.1 * g * x; })(x.to(float32));
  };
  EXPECT_EQ(gradcheck(f, {input()}).wrong, 6);
}

// float32 inputs moved by powers of two stay among float32's numbers, or within one of float16's steps: what is rounded
// to them seems exact there, or flat.
TEST(GradCheck, FindsAGradientLostWhereForwardRounds) {
  Generator generator(4);
  const auto draw = [&] {
    Tensor x = empty({5}, {.dtype = float32});
    fill_normal(x, generator);
    return x;
  };
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Tensor x = draw(), y = draw();
    const auto lost = [](DType dtype) {
      return [dtype](const Tensor& x, const Tensor& y) { return x.detach().to(dtype).to(float64) * y; };
    };
    EXPECT_EQ(gradcheck(lost(float32), {x, y}, {.seed = seed}).wrong, 5);
    const GradCheck half = gradcheck(lost(float16), {x, y}, {.seed = seed});
    EXPECT_LE(half.right, 5) << half.explain();  // those of y
    const GradCheck largest = gradcheck([](const Tensor& x) { return max(x.detach().to(float32)) + 0 * sum(x); }, {x});
    EXPECT_EQ(largest.wrong, 1) << largest.explain();
    const GradCheck right = gradcheck([](const Tensor& x, const Tensor& y) { return x.to(float32) * y.to(float32); },
                                      {x, y}, {.seed = seed});
    EXPECT_EQ(right.wrong, 0) << right.explain();
  }
}

// Seeds at which the steps of float32 are thousands of times lower than what f changes between two looks for them.
TEST(GradCheck, LowStepsOfFloat32AccuseNobody) {
  for (const std::uint64_t seed : {27, 29, 56, 61, 62, 63}) {
    manual_seed(seed);
    const Tensor x = randn({4}, {.dtype = float64});
    const auto inside = [](auto op) { return [op](const Tensor& x) { return op(x.to(float32)).to(float64); }; };
    EXPECT_NE(gradcheck(inside([](const Tensor& x) { return logsumexp(x); }), {x}).verdict(), Verdict::wrong) << seed;
    EXPECT_NE(gradcheck(inside([](const Tensor& x) { return norm(x); }), {x}).verdict(), Verdict::wrong) << seed;
  }
}

// Steps in place of slopes: the values cannot tell, and say why.
TEST(GradCheck, HalfInsideForwardIsInconclusive) {
  const auto check = [](const char* name, auto f, const Tensor& x) {
    const GradCheck check = gradcheck(f, {x});
    EXPECT_EQ(check.verdict(), Verdict::inconclusive) << name << "\n" << check.explain();
    EXPECT_EQ(check.wrong, 0) << name << "\n" << check.explain();
    ASSERT_FALSE(check.worst.empty()) << name;
    EXPECT_EQ(check.worst[0].cause, Cause::noise) << name;
    EXPECT_THAT(check.explain(), HasSubstr("float16 or bfloat16 inside it?")) << name;
  };
  const Tensor x = input() * 0.7731;  // no sums of few powers of two, which are exact in float16
  for (const DType dtype : {float16, bfloat16}) {
    const auto rounded = [dtype](const Tensor& x) { return x.to(dtype).to(float64); };
    check(
        "exp", [&](const Tensor& x) { return exp(rounded(x)); }, x);
    check(
        "exp rounded", [&](const Tensor& x) { return rounded(exp(x)); }, x);
    check(
        "sum of squares", [&](const Tensor& x) { return rounded(sum(square(x), 1)); }, x);
    check(
        "half of it", [&](const Tensor& x) { return x * x + rounded(x * x); }, x);
    check(
        "a factor", [&](const Tensor& x) { return rounded(x) * x; }, x);
    check(
        "one element", [&](const Tensor& x) { return rounded(x * x); }, tensor({1.3}));
    check(
        "mean of many", [&](const Tensor& x) { return rounded(mean(x)); }, reshape(arange(100.0), {100}) / 50 + 0.01);
    // Differences of powers of two may be exact here.
    EXPECT_EQ(gradcheck([&](const Tensor& x) { return rounded(x); }, {x}).wrong, 0);
  }
}

// Whatever hides the gradient from its values, a wrong one is never called right, nor a right one wrong.
TEST(GradCheck, BesideALargeConstantNothingIsRightByChance) {
  const auto scaled = [](double factor, double size, double constant) {
    return [=](const Tensor& x) {
      const Tensor y = square_with([=](const Tensor& g, const Tensor& x) { return 2 * factor * g * x; })(x);
      return size * y + constant;
    };
  };
  for (const double constant : {1e6, 1e9, 1e12, 1e15})
    for (const double size : {1.0, 1e-2, 1e-4, 1e-6, 1e-9})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const GradCheck wrong = gradcheck(scaled(1.1, size, constant), {input()}, {.seed = seed});
        EXPECT_EQ(wrong.right, 0) << constant << " " << size << "\n" << wrong.explain();
        const GradCheck right = gradcheck(scaled(1, size, constant), {input()}, {.seed = seed});
        EXPECT_EQ(right.wrong, 0) << constant << " " << size << "\n" << right.explain();
      }
  EXPECT_EQ(gradcheck(scaled(1.1, 1, 1e6), {input()}).verdict(), Verdict::wrong);
  EXPECT_EQ(gradcheck(scaled(1, 1, 1e6), {input()}).verdict(), Verdict::right);
  EXPECT_EQ(gradcheck(scaled(1.1, 1e-4, 1e12), {input()}).verdict(), Verdict::inconclusive);
  // Nor an input that gets no gradient, where another one shows how little can be seen.
  const auto lost = [](const Tensor& a, const Tensor& b) { return 1e12 + 1e-6 * (a * a + b.detach()); };
  EXPECT_EQ(gradcheck(lost, {input(), input()}).right, 0);
}

}  // namespace
}  // namespace tally
