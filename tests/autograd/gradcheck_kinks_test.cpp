// gradcheck where f has kinks, ties and jumps: a side is as right as the other, a fault beside one is still found.
#include <cmath>

#include <tally/autograd/gradcheck.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/record.h>
#include <tally/core/random.h>
#include <tally/ops/binary.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/where.h>
#include <tally/tests/autograd/gradcheck_cases.h>

namespace tally {
namespace {

using test::scaled_gradient;
using test::square_with;

TEST(GradCheck, NamesADroppedTieRule) {
  // Every tied maximum gets the whole gradient (B5).
  const auto greedy = [](const Tensor& x) {
    Tensor y = no_grad([&] { return max(x); });
    return record("greedy_max", {x}, y, saving(x, output),
                  [](const Tensor& g, const Tensor& x, const Tensor& y) { return std::vector{g * (x == y)}; });
  };
  const GradCheck tied = gradcheck(greedy, {tensor({4.0, 1.0, 4.0, 4.0})});
  ASSERT_EQ(tied.wrong, 3) << tied.explain();
  EXPECT_EQ(tied.worst[0].cause, Cause::tie_rule) << tied.explain();
  EXPECT_NE(tied.worst[0].element, Shape({1}));
  EXPECT_THAT(greedy, PassesGradCheck(tensor({4.0, 1.0, 3.0})));
}

TEST(GradCheck, DoesNotAccuseTieRules) {
  const Tensor tied = tensor({{4, 1, 4, 4}, {2, 2, 0, 1}}, {.dtype = float64});
  for (const auto& f : {+[](const Tensor& x) { return max(x, 1); }, +[](const Tensor& x) { return amax(x, 1); },
                        +[](const Tensor& x) { return min(x, 1); }, +[](const Tensor& x) { return amin(x); }}) {
    const GradCheck check = gradcheck(f, {tied});
    EXPECT_EQ(check.wrong, 0) << check.explain();
  }
}

TEST(GradCheck, AKinkIsInconclusiveAndTheRestIsChecked) {
  const GradCheck check = gradcheck([](const Tensor& x) { return relu(x); }, {tensor({0.0, 1.0, -2.0, 1e-3})});
  EXPECT_TRUE(check.ok()) << check.explain();
  EXPECT_EQ(check.right, 3);
  ASSERT_EQ(check.inconclusive, 1);
  EXPECT_EQ(check.worst[0].cause, Cause::kink);
  EXPECT_EQ(check.worst[0].element, Shape({0}));
  EXPECT_NEAR(std::abs(check.worst[0].left - check.worst[0].right),
              std::max(std::abs(check.worst[0].left), std::abs(check.worst[0].right)), 1e-6);
}

TEST(GradCheck, DoesNotAccuseBesideAKink) {
  const auto near = [](const char* name, auto f, const auto& input_at) {
    for (int i = 0; i <= 44; ++i)
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const double distance = (i % 2 ? 1 : -1) * std::pow(10, -14 + i / 4.0);
        const Tensor x = input_at(distance);
        const GradCheck check = gradcheck(f, {x}, {.seed = seed});
        EXPECT_EQ(check.wrong, 0) << name << " " << distance << "\n" << check.explain();
        for (const GradCheckEntry& entry : check.worst)
          EXPECT_EQ(entry.cause, Cause::kink) << name << " " << distance << check.explain();
        EXPECT_EQ(gradcheck(scaled_gradient(f, 2), {x}, {.seed = seed}).verdict(), Verdict::wrong) << distance;
      }
  };
  const auto beside_zero = [](double d) { return tensor({d, 1.0, -0.5, 2.0}, {.dtype = float64}); };
  near(
      "relu", [](const Tensor& x) { return relu(x); }, beside_zero);
  near(
      "abs", [](const Tensor& x) { return abs(x); }, beside_zero);
  near(
      "leaky", [](const Tensor& x) { return where(x > 0, x, 0.1 * x); }, beside_zero);
  near(
      "clamp", [](const Tensor& x) { return clamp(x, -1.0, 1.0); },
      [](double d) {
        return tensor({1 + d, 0.5, -0.3, 2.0}, {.dtype = float64});
      });
  near(
      "max", [](const Tensor& x) { return max(x, 1); },
      [](double d) {
        return tensor({{1.3, 1.3 + d, 0.2}, {0.7, -1.1, 0.1}}, {.dtype = float64});
      });
}

// Steps of f itself: between two of them its gradient is right, across them the values have another slope.
TEST(GradCheck, DoesNotAccuseBetweenSteps) {
  Generator generator(5);
  Tensor unit = empty({6}, {.dtype = float64});
  fill_normal(unit, generator);
  const auto with_steps = [&](const char* name, auto f) {
    for (const double size : {0.01, 1.0, 30.0})
      for (const double steps : {3., 10., 30., 100., 300., 1e3, 3e3, 1e4}) {
        const Tensor x = size * unit;
        const auto stepped = [&](const Tensor& x) { return f(x, floor(x * (steps / size)) * (size / steps)); };
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
          const GradCheck check = gradcheck(stepped, {x}, {.seed = seed});
          EXPECT_EQ(check.wrong, 0) << name << " " << steps << " in " << size << "\n" << check.explain();
          const GradCheck turned = gradcheck(scaled_gradient(stepped, -1), {x}, {.seed = seed});
          if (name == std::string("alone")) continue;  // the gradient is 0
          EXPECT_EQ(turned.right, 0) << name << " " << steps << " in " << size;
          EXPECT_GE(turned.wrong, steps <= 10 ? 6 : 0) << name << " " << steps << " in " << size << turned.explain();
        }
      }
  };
  with_steps("beside a slope", [](const Tensor& x, const Tensor& step) { return step + x; });
  with_steps("saw", [](const Tensor& x, const Tensor& step) { return x - step; });
  with_steps("times", [](const Tensor& x, const Tensor& step) { return step * x; });
  with_steps("high", [](const Tensor& x, const Tensor& step) { return 50 * step + x; });
  with_steps("curved", [](const Tensor& x, const Tensor& step) { return x * x * x + step; });
  with_steps("alone", [](const Tensor&, const Tensor& step) { return step; });
}

// Beside a kink on the side where the right gradient is g: twice that is wrong there too.
TEST(GradCheck, FindsAFaultBesideAKink) {
  for (const double distance : {1e-10, 1e-7, 1e-6})
    EXPECT_EQ(gradcheck(scaled_gradient([](const Tensor& x) { return relu(x); }, 2), {tensor({distance, -1.0})}).wrong,
              1)
        << distance;
  // The slope of the kink's other side, too.
  const auto other_side = [](const Tensor& x) {
    Tensor y = no_grad([&] { return relu(x); });
    return record("other_side", {x}, y, saving(x),
                  [](const Tensor& g, const Tensor& x) { return std::vector{where(x > 0, 0, g)}; });
  };
  for (const double distance : {1e-7, -1e-7, 1e-6, -1e-6})
    EXPECT_EQ(gradcheck(other_side, {tensor({distance, -1.0, 2.0}, {.dtype = float64})}).wrong, 3) << distance;
}

TEST(GradCheck, AGradientOutsideTheSlopesIsWrongAtAKinkToo) {
  const auto beyond = [](const Tensor& x) {
    Tensor y = no_grad([&] { return relu(x); });
    return record("beyond", {x}, y, saving(x),
                  [](const Tensor& g, const Tensor& x) { return std::vector{where(x >= 0, 2 * g, 0)}; });
  };
  EXPECT_EQ(gradcheck(beyond, {tensor({0.0, -1.0})}).wrong, 1);
}

TEST(GradCheck, OnlyKinksDecideNothing) {
  const GradCheck check = gradcheck([](const Tensor& x) { return norm(x); }, {zeros({3})});
  EXPECT_EQ(check.verdict(), Verdict::inconclusive) << check.explain();
  EXPECT_FALSE(check.ok());
}

TEST(GradCheck, AJumpIsNoKinkAndHasNoSlopes) {
  for (const double beside : {0.0, 1e-12, -1e-12, 1e-9}) {
    const Tensor x = tensor({1 + beside, 2.5, -3 + beside}, {.dtype = float64});
    const GradCheck check = gradcheck([](const Tensor& x) { return floor(x); }, {x});
    EXPECT_TRUE(check.ok()) << beside << check.explain();
    ASSERT_EQ(check.inconclusive, 2) << beside << check.explain();
    for (const GradCheckEntry& entry : check.worst) EXPECT_EQ(entry.cause, Cause::jump) << beside << check.explain();
    EXPECT_THAT(check.explain(), ::testing::Not(::testing::HasSubstr("slopes"))) << beside;
  }
  // A cusp's slopes grow too, to both sides of what is between them.
  const GradCheck cusp = gradcheck([](const Tensor& x) { return sqrt(abs(x)) * (x * 0 + 1); }, {zeros({1})});
  EXPECT_EQ(cusp.right, 0) << cusp.explain();
}

TEST(GradCheck, AKinkWhereFIsZeroIsNoRounding) {
  for (const auto& f : {+[](const Tensor& x) { return relu(x); }, +[](const Tensor& x) { return abs(x); }}) {
    const GradCheck check = gradcheck(f, {zeros({2})});
    EXPECT_EQ(check.inconclusive, 2);
    EXPECT_TRUE(check.notes.empty()) << check.explain();
  }
}

TEST(GradCheck, AStepBesideTheInputExcusesNothing) {
  // One step within reach, or a kink: neither makes the values coarse.
  const auto half = [](const Tensor& g, const Tensor& x) { return g * x; };
  const Tensor x = tensor({0.01, 1.02, -0.02, 1.97});
  EXPECT_EQ(gradcheck([&](const Tensor& x) { return square_with(half)(x) + floor(x); }, {x}).wrong, 4);
  EXPECT_EQ(gradcheck([&](const Tensor& x) { return square_with(half)(x) + abs(x); }, {x}).wrong, 4);
}

}  // namespace
}  // namespace tally
