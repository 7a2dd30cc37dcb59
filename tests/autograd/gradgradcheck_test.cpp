// gradgradcheck: what first order cannot see, and ops that have no second.
#include <tally/autograd/gradcheck.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/elementwise.h>
#include <tally/ops/operators.h>
#include <tally/tests/autograd/gradcheck_cases.h>

namespace tally {
namespace {

using test::input;
using test::square_with;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(GradCheck, SecondOrderFindsWhatFirstOrderCannot) {
  // The first derivative is right, but recorded as if it did not depend on x.
  const auto half = square_with([](const Tensor& g, const Tensor& x) { return 2 * g * x.detach(); });
  EXPECT_THAT(half, PassesGradCheck(input()));
  EXPECT_THAT(half, Not(PassesGradGradCheck(input())));
}

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
  EXPECT_THAT(check.failure, HasSubstr("declare `curvature`"));
  EXPECT_THAT(check.explain(), HasSubstr("no gradient under create_graph to differentiate"));
  EXPECT_THAT(verify_op(once, {input()}).explain(), HasSubstr("{.second_order = false}"));
  EXPECT_TRUE(verify_op(once, {input()}, {.second_order = false}));
  // Of first order, and of f itself, it is still theirs to say.
  const auto throws = [](const Tensor& x) -> Tensor { throw ShapeError("mine", describe(x), {}); };
  EXPECT_THROW(gradgradcheck(throws, {input()}), ShapeError);
}

}  // namespace
}  // namespace tally
