// What gradcheck says beside its verdict: of gradients it cannot use, and of what it did with the inputs.
#include <tally/autograd/gradcheck.h>

#include <algorithm>

#include <tally/autograd/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/record.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>
#include <tally/tests/autograd/gradcheck_cases.h>

namespace tally {
namespace {

using test::input;
using ::testing::HasSubstr;

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

TEST(GradCheck, SharedElementsAreCheckedOneByOne) {  // B54
  const Tensor x = expand(tensor({3.0}), {4});
  const GradCheck check = gradcheck([](const Tensor& x) { return sum(x * x); }, {x});
  EXPECT_TRUE(check.ok()) << check.explain();
  EXPECT_EQ(check.right, 4);
  EXPECT_THAT(check.explain(), HasSubstr("share memory"));
}

TEST(GradCheck, WhatAllEntriesOfAnInputShareIsSaidOnce) {
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const auto fifth = test::scaled_gradient([](const Tensor& x) { return x * x; }, 0.2);
  const GradCheck check = gradcheck([&](const Tensor& a, const Tensor& b) { return fifth(a) + b * b; },
                                    {full({3, 5}, 1.5), full({3, 5}, 0.5)});
  EXPECT_EQ(check.wrong, 15);
  EXPECT_EQ(check.worst.size(), 8u);
  const std::string text = check.explain();
  EXPECT_THAT(text, HasSubstr("wrong, as all 15 that were checked of this input: off by the factor 0.2"));
  EXPECT_EQ(lines(text), 4) << text;
  // Where only some are wrong, which ones is what a reader wants to know.
  const auto some = test::square_with([](const Tensor& g, const Tensor& x) { return 2 * g * where(x > 1, x, -x); });
  const GradCheck mixed = gradcheck(some, {tensor({0.5, 1.5, 0.6, 0.7, 0.8})});
  EXPECT_EQ(mixed.wrong, 4);
  EXPECT_EQ(lines(mixed.explain()), 2 + 2 * 4) << mixed.explain();
}

TEST(GradCheck, SamplesLargeInputsAndSaysSo) {
  const GradCheck check = gradcheck([](const Tensor& x) { return x * x; }, {full({40, 50}, 1.5)}, {.max_entries = 30});
  EXPECT_TRUE(check.ok());
  EXPECT_EQ(check.right, 30);
  EXPECT_THAT(check.explain(), HasSubstr("30 of 2000 entries"));
}

}  // namespace
}  // namespace tally
