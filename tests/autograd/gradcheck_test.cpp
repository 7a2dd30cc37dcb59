// gradcheck against right ops, that it must not accuse, and against planted faults, that it must name.
#include <tally/autograd/gradcheck.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/tests/autograd/gradcheck_cases.h>

namespace tally {
namespace {

using test::cube;
using test::input;
using test::square_with;
using ::testing::HasSubstr;

TEST(GradCheck, ARightOpPasses) {
  EXPECT_THAT(cube, PassesGradCheck(input()));
  EXPECT_THAT(cube, PassesGradGradCheck(input()));
  const GradCheck check = gradcheck(cube, {input()});
  EXPECT_EQ(check.verdict(), Verdict::right);
  EXPECT_EQ(check.right, 6);
  EXPECT_TRUE(check.worst.empty()) << check.explain();
}

TEST(GradCheck, TakesFloat32AndPromotesIt) {
  EXPECT_THAT(cube, PassesGradCheck(input().to(float32)));
  EXPECT_THAT([](const Tensor& x) { return x * x; },
              PassesGradCheck(tensor({100.0})));  // B54: never a step below an ulp
  EXPECT_THAT([](const Tensor& x) { return norm(x); }, PassesGradCheck(tensor({1.0, 2.0, -3.0})));
}

TEST(GradCheck, TakesSeveralInputsAndOutputs) {
  EXPECT_THAT([](const Tensor& a, const Tensor& b) { return a * b; },
              PassesGradCheck(input(), tensor({2.0, 3.0, 4.0})));
  const auto both = [](const std::vector<Tensor>& x) { return std::vector{x[0] * x[1], exp(x[1])}; };
  EXPECT_THAT(both, PassesGradCheck(input(), tensor({2.0, 3.0, 1.0})));
}

TEST(GradCheck, IntegerInputsPassThrough) {
  const auto scaled = [](const Tensor& x, const Tensor& n) { return x * n; };
  EXPECT_THAT(scaled, PassesGradCheck(input(), tensor(std::vector<std::int64_t>{1, 2, 3})));
  EXPECT_THROW(gradcheck([](const Tensor& n) { return n; }, {arange(3)}), ValueError);
  EXPECT_THROW(gradcheck(scaled, {input()}), ValueError);  // two are needed
}

TEST(GradCheck, WorksAtExtremeScales) {
  for (const double scale : {1e-30, 1e-8, 1e8, 1e30})
    EXPECT_THAT([](const Tensor& x) { return norm(x); }, PassesGradCheck(input() * scale)) << scale;
  EXPECT_THAT([](const Tensor& x) { return log(x); }, PassesGradCheck(tensor({1e-5, 1e-3, 1.0, 1e6})));
  EXPECT_THAT([](const Tensor& x) { return sin(x); }, PassesGradCheck(tensor({1000.0, -300.0, 0.0})));
}

TEST(GradCheck, NamesATurnedSign) {
  const GradCheck check =
      gradcheck(square_with([](const Tensor& g, const Tensor& x) { return -2 * g * x; }), {input()});
  EXPECT_EQ(check.wrong, 6);
  ASSERT_FALSE(check.worst.empty());
  EXPECT_EQ(check.worst[0].cause, Cause::sign) << check.explain();
  EXPECT_NEAR(check.worst[0].analytic, -check.worst[0].numeric, 1e-9);
}

TEST(GradCheck, NamesAFactor) {
  const GradCheck check = gradcheck(square_with([](const Tensor& g, const Tensor& x) { return g * x; }), {input()});
  ASSERT_FALSE(check.worst.empty());
  EXPECT_EQ(check.worst[0].cause, Cause::factor) << check.explain();
  EXPECT_NEAR(check.worst[0].factor, 0.5, 1e-9);
}

TEST(GradCheck, NamesTheOneWrongElement) {
  const auto off = tensor({{0, 0, 0}, {0, 1e-6, 0}}, {.dtype = float64});
  const GradCheck check =
      gradcheck(square_with([off](const Tensor& g, const Tensor& x) { return 2 * g * x + off; }), {input()});
  ASSERT_EQ(check.wrong, 1) << check.explain();
  EXPECT_EQ(check.right, 5);
  EXPECT_EQ(check.worst[0].input, 0);
  EXPECT_EQ(check.worst[0].element, Shape({1, 1}));
  EXPECT_NEAR(check.worst[0].error(), 1e-6, 1e-9);
  EXPECT_THAT(check.explain(), HasSubstr("input 0 at [1, 1]"));
}

TEST(GradCheck, NamesAMissingBroadcastSum) {
  // bias [3] on rows [2, 3]; the fault takes the first row where the sum belongs.
  const auto biased = [](const Tensor& x, const Tensor& bias) {
    Tensor y = no_grad([&] { return x + bias; });
    return record("biased", {x, bias}, y, [](const Tensor& g) { return std::vector{g, select(g, 0, 0)}; });
  };
  const GradCheck check = gradcheck(biased, {input(), tensor({1.0, 2.0, 3.0})});
  EXPECT_EQ(check.wrong, 3) << check.explain();
  ASSERT_FALSE(check.worst.empty());
  EXPECT_EQ(check.worst[0].input, 1);
  EXPECT_EQ(check.worst[0].cause, Cause::missing_sum) << check.explain();
  EXPECT_EQ(check.worst[0].output, 0);
  EXPECT_EQ(check.worst[0].output_element[0], 1);  // the row left out
}

TEST(GradCheck, FindsRightNumbersAtTheWrongPlace) {
  // The gradient of a permutation, sent back by the same permutation instead of the inverse.
  const auto rotate = [](const Tensor& x) {
    const auto turned = [](const Tensor& x) {
      const auto v = x.to_vector<double>();
      return tensor(std::vector{v[1], v[2], v[3], v[0]});
    };
    return record("rotate", {x}, turned(x), [turned](const Tensor& g) { return std::vector{turned(g)}; });
  };
  const GradCheck check = gradcheck(rotate, {tensor({1.0, 2.0, 4.0, 8.0})});
  EXPECT_EQ(check.wrong, 4);
  EXPECT_EQ(check.worst[0].cause, Cause::wrong_place) << check.explain();
}

TEST(GradCheck, FindsANondeterministicForward) {
  int calls = 0;
  const GradCheck check = gradcheck([&calls](const Tensor& x) { return x * x + 1e-9 * ++calls; }, {input()});
  EXPECT_FALSE(check.ok());
  EXPECT_EQ(check.failure_cause, Cause::nondeterminism);
  EXPECT_THAT(check.explain(), HasSubstr("two forward runs"));
  EXPECT_THAT(check.explain(), HasSubstr("a random number inside f"));
}

TEST(GradCheck, FindsABackwardThatChangesFromWalkToWalk) {
  const GradCheck check = gradcheck(
      [](const Tensor& x) {
        Tensor y = no_grad([&] { return x * x; });
        return record("fickle", {x}, y, saving(x), [walk = 0](const Tensor& g, const Tensor& x) mutable {
          return std::vector{2 * g * x * (1 + 1e-12 * walk++)};
        });
      },
      {input()});
  EXPECT_EQ(check.failure_cause, Cause::nondeterminism) << check.explain();
}

TEST(GradCheck, FindsAnInputTheGraphDoesNotReach) {
  const GradCheck check =
      gradcheck([](const Tensor& a, const Tensor& b) { return a * b.detach(); }, {input(), input()});
  EXPECT_EQ(check.wrong, 6);
  EXPECT_EQ(check.worst[0].input, 1);
  EXPECT_EQ(check.worst[0].cause, Cause::no_gradient) << check.explain();
  // No gradient is right where nothing depends on the input.
  EXPECT_THAT([](const Tensor& a, const Tensor&) { return a * a; }, PassesGradCheck(input(), input()));
}

TEST(GradCheck, FindsNaN) {
  const GradCheck check = gradcheck(
      square_with([](const Tensor& g, const Tensor& x) { return 2 * g * x * (x - 0.5) / (x - 0.5); }), {input()});
  ASSERT_EQ(check.wrong, 1) << check.explain();
  EXPECT_EQ(check.worst[0].element, Shape({0, 0}));
  EXPECT_EQ(check.worst[0].cause, Cause::not_finite);
}

}  // namespace
}  // namespace tally
