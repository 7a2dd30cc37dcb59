#include <tally/ops/join.h>

#include <limits>

#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/print.h>
#include <tally/ops/operators.h>
#include <tally/ops/view.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>

namespace tally {
namespace {

using ::testing::ElementsAre;

class Join : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Join);

TEST_P(Join, CatPutsOneAfterTheOther) {
  const Tensor a = tensor({{1, 2}, {3, 4}}, on()), b = tensor({{5, 6}}, on());
  EXPECT_THAT(cat({a, b}).to_vector<int>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(cat({a, b}, -2).shape(), (Shape{3, 2}));
  EXPECT_THAT(cat({a, t(a)}, 1).to_vector<int>(), ElementsAre(1, 2, 1, 3, 3, 4, 2, 4));
  EXPECT_THAT(cat({b}).to_vector<int>(), ElementsAre(5, 6));
}

TEST_P(Join, StackAddsADim) {
  const Tensor a = tensor({1, 2}, on()), b = tensor({3, 4}, on());
  EXPECT_THAT(stack({a, b}).to_vector<int>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(stack({a, b, a}, 1).shape(), (Shape{2, 3}));
  EXPECT_THAT(stack({a, b}, -1).to_vector<int>(), ElementsAre(1, 3, 2, 4));
  EXPECT_EQ(stack({full({}, 7, on())}).shape(), (Shape{1}));
}

TEST_P(Join, TakesEveryLayout) {
  const Tensor x = rand({2, 3, 4}, on());
  const auto values = x.to_vector<float>();
  for (const auto& [name, y] : test::layouts(x)) {
    SCOPED_TRACE(name);
    const auto joined = cat({y, y}, 1).to_vector<float>();
    for (std::size_t i = 0; i < joined.size(); ++i)
      ASSERT_EQ(joined[i], values[i / 24 * 12 + i % 12]) << "element " << i;  // [2, 3 + 3, 4]
  }
}

TEST_P(Join, EmptyPartsAddNothing) {
  const Tensor a = tensor({{1, 2}}, on());
  EXPECT_EQ(cat({zeros({0}, on()), a, zeros({0, 2}, on())}).shape(), (Shape{1, 2}));
  EXPECT_EQ(cat({zeros({0}, on()), zeros({0}, on())}).shape(), (Shape{0}));
  EXPECT_EQ(stack({zeros({0}, on()), zeros({0}, on())}).shape(), (Shape{2, 0}));
}

TEST_P(Join, PromotesDtypes) {
  EXPECT_EQ(cat({zeros({1}, on(float32)), zeros({1}, on(float64))}).dtype(), float64);
  EXPECT_EQ(stack({zeros({1}, on(int64)), zeros({1}, on(float16))}).dtype(), float16);
  EXPECT_EQ(cat({zeros({1}, on(boolean)), zeros({1}, on(boolean))}).dtype(), boolean);
}

TEST_P(Join, RefusesWhatDoesNotFit) {
  const Tensor endless = expand(ones({1}, on()), {std::numeric_limits<std::int64_t>::max()});
  EXPECT_THROW(cat({endless, endless}), ShapeError);
  const Tensor a = zeros({2, 3}, on());
  EXPECT_THROW(cat({}), ShapeError);
  EXPECT_THROW(stack({}), ShapeError);
  EXPECT_THROW(cat({a, zeros({3, 2}, on())}), ShapeError);
  EXPECT_THROW(cat({a, zeros({3}, on())}), ShapeError);
  EXPECT_THROW(cat({zeros({}, on())}), ShapeError);
  EXPECT_THROW(cat({a, a}, 2), IndexError);
  EXPECT_THROW(stack({a, a}, 3), IndexError);
  try {
    stack({a, a, zeros({3, 2}, on())});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("float32 [3, 2]"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("at position 2"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("join_test.cpp:"));
  }
  if (device() != cpu) {
    EXPECT_THROW(cat({a, zeros({2, 3})}), DeviceError);
  }
}

TEST_P(Join, CatGivesGradients) {
  const Tensor a = rand({2, 3}, on(float64)), b = rand({2, 1}, on(float64));
  const auto catted = [](const Tensor& a, const Tensor& b) {
    const Tensor y = cat({a, b, a}, 1);
    return y * y;
  };
  EXPECT_THAT(catted, PassesGradCheck(a, b));
  EXPECT_THAT(catted, PassesGradGradCheck(a, b));
}

TEST_P(Join, StackGivesGradients) {
  const Tensor a = rand({2, 3}, on(float64)), c = rand({2, 3}, on(float64));
  const auto stacked = [](const Tensor& a, const Tensor& b) {
    const Tensor y = stack({a, b}, 1);
    return y * y;
  };
  EXPECT_THAT(stacked, PassesGradCheck(a, c));
  EXPECT_THAT(stacked, PassesGradGradCheck(a, c));
}

}  // namespace
}  // namespace tally
