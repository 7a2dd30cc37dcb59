// gradcheck where there is nothing to check, or f is not finite: nothing is right by default, and the cause is named.
#include <cmath>

#include <tally/autograd/gradcheck.h>
#include <tally/autograd/gtest.h>
#include <tally/ops/elementwise.h>
#include <tally/ops/join.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/tests/autograd/gradcheck_cases.h>

namespace tally {
namespace {

using test::input;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(GradCheck, NothingToCheckIsInconclusive) {
  const auto nothing = [](const GradCheck& check, const char* why) {
    EXPECT_EQ(check.verdict(), Verdict::inconclusive) << check.explain();
    EXPECT_EQ(check.right, 0) << check.explain();
    EXPECT_THAT(check.explain(), HasSubstr(why));
    EXPECT_THAT(check.explain(), Not(HasSubstr("0 of 0")));
  };
  const char *no_output = "there is no floating output", *no_elements = "the inputs have no elements";
  const auto undefined = [](const Tensor&) { return Tensor(); };
  const auto no_tensors = [](const Tensor&) { return std::vector<Tensor>(); };
  const auto integers = [](const Tensor& x) { return argmax(x, 1); };
  const auto none_of_it = [](const Tensor& x) { return narrow(x, 0, 0, 0); };
  for (const bool second : {false, true}) {
    const auto run = [&](auto f, const Tensor& x) { return second ? gradgradcheck(f, {x}) : gradcheck(f, {x}); };
    nothing(run(undefined, input()), no_output);
    nothing(run(no_tensors, input()), no_output);
    nothing(run(integers, input()), no_output);
  }
  nothing(gradcheck([](const Tensor& x) { return log(x); }, {tensor({-1, -2})}), "f gives NaN at output 0 [0]");
  nothing(gradcheck(none_of_it, {input()}), no_output);
  nothing(gradcheck([](const Tensor& x) { return sum(x); }, {zeros({0})}), no_elements);
  EXPECT_THAT(integers, Not(PassesGradCheck(input())));
  // An input without elements beside one with some, and an integer output beside a floating one, are no matter.
  EXPECT_THAT(
      [](const Tensor& a, const Tensor& b) {
        return cat({a * a, b}, 0);
      },
      PassesGradCheck(tensor({1, 2}), zeros({0})));
  const auto both = [](const Tensor& x) { return std::vector{argmax(x, 1), x * x}; };
  EXPECT_THAT(both, PassesGradCheck(input()));
}

TEST(GradCheck, WhereFIsNotFiniteTheOtherEntriesAreChecked) {
  const GradCheck check = gradcheck([](const Tensor& x) { return log(x); }, {tensor({-1, 2, 0, 3})});
  EXPECT_EQ(check.right, 2) << check.explain();
  ASSERT_EQ(check.inconclusive, 2) << check.explain();
  for (const GradCheckEntry& entry : check.worst) EXPECT_EQ(entry.cause, Cause::domain) << check.explain();
  EXPECT_THAT(check.explain(), HasSubstr("f gives NaN at output 0 [0]: choose inputs where f is finite"));
  EXPECT_THAT(check.explain(), Not(HasSubstr("-nan")));
  // A fault in one of the others is found, where it is.
  const auto half = test::scaled_gradient([](const Tensor& x) { return sqrt(x); }, 0.5);
  const GradCheck wrong = gradcheck(half, {tensor({-1, 2, 0, 3})});
  EXPECT_EQ(wrong.wrong, 2) << wrong.explain();
  EXPECT_EQ(wrong.inconclusive, 2) << wrong.explain();  // at 0 the slope is infinite on the right, and none on the left
  EXPECT_EQ(wrong.worst[0].cause, Cause::factor) << wrong.explain();
  // All that goes into a NaN is undecided, a sum's other elements too.
  EXPECT_EQ(gradcheck([](const Tensor& x) { return sum(log(x), 1); }, {tensor({{-1, 2}, {1, 3}})}).right, 2);
}

TEST(GradCheck, NaNBesideAFiniteSlopeIsWrong) {
  // The slope is 0, from the right; backward gives 0 · infinity.
  const GradCheck check = gradcheck([](const Tensor& x) { return sqrt(x) * 0; }, {tensor({0, 1})});
  ASSERT_EQ(check.wrong, 1) << check.explain();
  EXPECT_EQ(check.worst[0].element, Shape({0}));
  EXPECT_EQ(check.worst[0].cause, Cause::not_finite);
}

}  // namespace
}  // namespace tally
