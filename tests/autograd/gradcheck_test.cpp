// gradcheck against right ops, that it must not accuse, and against planted faults, that it must name.
#include <tally/autograd/gradcheck.h>

#include <atomic>
#include <cmath>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/core/random.h>
#include <tally/ops/binary.h>
#include <tally/ops/elementwise.h>
#include <tally/ops/matmul.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Tensor cube(const Tensor& x) {
  Tensor y = no_grad([&] { return x * x * x; });
  return record("cube", {x}, y, saving(x),
                [](const Tensor& grad, const Tensor& x) { return std::vector{3 * grad * x * x}; });
}

// x² whose gradient is `wrong(grad, x)`.
template <class F> auto square_with(F wrong) {
  return [wrong](const Tensor& x) {
    Tensor y = no_grad([&] { return x * x; });
    return record("square_with", {x}, y, saving(x),
                  [wrong](const Tensor& grad, const Tensor& x) { return std::vector<Tensor>{wrong(grad, x)}; });
  };
}

Tensor input() { return tensor({{0.5, -1.25, 2.0}, {1.5, 0.75, -0.3}}, {.dtype = float64}); }

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

TEST(GradCheck, SurfacesAWrongShape) {
  const auto biased = [](const Tensor& x, const Tensor& bias) {
    Tensor y = no_grad([&] { return x + bias; });
    return record("biased", {x, bias}, y, [](const Tensor& g) { return std::vector{g, g}; });
  };
  const GradCheck check = gradcheck(biased, {input(), tensor({1.0, 2.0, 3.0})});
  EXPECT_FALSE(check.ok());
  EXPECT_THAT(check.explain(), HasSubstr("biased"));
  EXPECT_THAT(check.explain(), HasSubstr("[2, 3]"));
  EXPECT_THAT(check.explain(), HasSubstr("needs sum_to"));
}

TEST(GradCheck, SurfacesAGradientThatWasNotExpanded) {
  const auto total = [](const Tensor& x) {
    return record("total", {x}, no_grad([&] { return sum(x); }), [](const Tensor& g) { return std::vector{g}; });
  };
  const std::string text = gradcheck(total, {input()}).explain();
  EXPECT_THAT(text, HasSubstr("float64 [] on cpu as the gradient of input 0"));
  EXPECT_THAT(text, HasSubstr("expand it to that shape"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("sum_to")));
}

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

// x with the gradient `factor`·g, behind f: its gradient is that of f, times `factor`.
template <class F> auto scaled_gradient(F f, double factor) {
  return [f, factor](const Tensor& x) {
    return f(record("scaled", {x}, x.detach(), [factor](const Tensor& g) { return std::vector{factor * g}; }));
  };
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

TEST(GradCheck, AStepBesideTheInputExcusesNothing) {
  // One step within reach, or a kink: neither makes the values coarse.
  const auto half = [](const Tensor& g, const Tensor& x) { return g * x; };
  const Tensor x = tensor({0.01, 1.02, -0.02, 1.97});
  EXPECT_EQ(gradcheck([&](const Tensor& x) { return square_with(half)(x) + floor(x); }, {x}).wrong, 4);
  EXPECT_EQ(gradcheck([&](const Tensor& x) { return square_with(half)(x) + abs(x); }, {x}).wrong, 4);
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

TEST(GradCheck, FindsANondeterministicForward) {
  int calls = 0;
  const GradCheck check = gradcheck([&calls](const Tensor& x) { return x * x + 1e-9 * ++calls; }, {input()});
  EXPECT_FALSE(check.ok());
  EXPECT_EQ(check.failure_cause, Cause::nondeterminism);
  EXPECT_THAT(check.explain(), HasSubstr("two forward runs"));
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

TEST(GradCheck, SharedElementsAreCheckedOneByOne) {  // B54
  const Tensor x = expand(tensor({3.0}), {4});
  const GradCheck check = gradcheck([](const Tensor& x) { return sum(x * x); }, {x});
  EXPECT_TRUE(check.ok()) << check.explain();
  EXPECT_EQ(check.right, 4);
  EXPECT_THAT(check.explain(), HasSubstr("share memory"));
}

TEST(GradCheck, SamplesLargeInputsAndSaysSo) {
  const GradCheck check = gradcheck([](const Tensor& x) { return x * x; }, {full({40, 50}, 1.5)}, {.max_entries = 30});
  EXPECT_TRUE(check.ok());
  EXPECT_EQ(check.right, 30);
  EXPECT_THAT(check.explain(), HasSubstr("30 of 2000 entries"));
}

TEST(GradCheck, WorksAtExtremeScales) {
  for (const double scale : {1e-30, 1e-8, 1e8, 1e30})
    EXPECT_THAT([](const Tensor& x) { return norm(x); }, PassesGradCheck(input() * scale)) << scale;
  EXPECT_THAT([](const Tensor& x) { return log(x); }, PassesGradCheck(tensor({1e-5, 1e-3, 1.0, 1e6})));
  EXPECT_THAT([](const Tensor& x) { return sin(x); }, PassesGradCheck(tensor({1000.0, -300.0, 0.0})));
}

TEST(GradCheck, IntegerInputsPassThrough) {
  const auto scaled = [](const Tensor& x, const Tensor& n) { return x * n; };
  EXPECT_THAT(scaled, PassesGradCheck(input(), tensor(std::vector<std::int64_t>{1, 2, 3})));
  EXPECT_THROW(gradcheck([](const Tensor& n) { return n; }, {arange(3)}), ValueError);
  EXPECT_THROW(gradcheck(scaled, {input()}), ValueError);  // two are needed
}

TEST(GradCheck, SecondOrderFindsWhatFirstOrderCannot) {
  // The first derivative is right, but recorded as if it did not depend on x.
  const auto half = square_with([](const Tensor& g, const Tensor& x) { return 2 * g * x.detach(); });
  EXPECT_THAT(half, PassesGradCheck(input()));
  EXPECT_THAT(half, Not(PassesGradGradCheck(input())));
}

// Thousands of entries of smooth functions: not one may be accused, nor left open; and where they are off by a
// billionth it shows.
// A struct that does not say how its derivative is differentiated again.
struct OnceDifferentiable {
  static constexpr auto name = "once";
  template <class C> TALLY_HD C f(C x) const { return x * x * x; }
  template <class C> TALLY_HD C df(C x) const { return 3 * x * x; }
};

TEST(GradCheck, SecondOrderOfWhatHasNoneIsAFailureThatSaysSo) {
  const auto once = [](const Tensor& x) { return map(OnceDifferentiable(), x); };
  EXPECT_THAT(once, PassesGradCheck(input()));
  EXPECT_THAT(once, Not(PassesGradGradCheck(input())));
  const GradCheck check = gradgradcheck(once, {input()});
  EXPECT_EQ(check.verdict(), Verdict::wrong);
  EXPECT_THAT(check.failure, HasSubstr("once: "));
  EXPECT_THAT(check.explain(), HasSubstr("no gradient under create_graph to differentiate"));
  // Of first order, and of f itself, it is still theirs to say.
  const auto throws = [](const Tensor& x) -> Tensor { throw ShapeError("mine", describe(x), {}); };
  EXPECT_THROW(gradgradcheck(throws, {input()}), ShapeError);
}

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

}  // namespace
}  // namespace tally
