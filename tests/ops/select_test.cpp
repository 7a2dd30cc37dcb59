// Sort, median, quantile and topk: values by plain loops, NaN, ties, gradients, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/select.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>

#include "../support/devices.h"
#include "../support/layouts.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

class Select : public test::OnDevice {
 protected:
  Tensor put(const std::vector<double>& values, DType dtype = float64) const {
    return tensor(values).to(dtype).to(device());
  }
  std::vector<std::int64_t> order(const std::vector<double>& values, DType dtype,
                                  Order order = Order::ascending) const {
    return argsort(put(values, dtype), 0, order).to_vector<std::int64_t>();
  }
};
TALLY_TEST_ON_DEVICES(Select);

TEST_P(Select, SortsEveryDtype) {
  for (DType dtype : {float32, float64, float16, bfloat16, int64, int32}) {
    EXPECT_THAT(order({3, -1, 2, -7, 0}, dtype), ElementsAre(3, 1, 4, 2, 0)) << name_of(dtype);
    EXPECT_THAT(order({3, -1, 2, -7, 0}, dtype, Order::descending), ElementsAre(0, 2, 4, 1, 3)) << name_of(dtype);
  }
  EXPECT_THAT(order({200, 3, 255, 0}, uint8), ElementsAre(3, 1, 0, 2));
  EXPECT_THAT(order({1, 0, 1, 0}, boolean), ElementsAre(1, 3, 0, 2));
}

TEST_P(Select, NanIsLargestZerosAreEqualAndTiesKeepTheirOrder) {
  for (DType dtype : {float32, float64, float16, bfloat16}) {
    EXPECT_THAT(order({kNan, kInf, 0, -0.0, -kInf, -kNan}, dtype), ElementsAre(4, 2, 3, 1, 0, 5)) << name_of(dtype);
    EXPECT_THAT(order({kNan, kInf, 0, -0.0, -kInf, -kNan}, dtype, Order::descending), ElementsAre(0, 5, 1, 2, 3, 4))
        << name_of(dtype);
  }
}

TEST_P(Select, SortsAlongAnyDimOfAnyLayout) {
  const Tensor x = randn({3, 70, 2}, on(float64));
  const std::vector<double> values = x.to_vector<double>();
  std::vector<double> expected = values;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 2; ++k) {
      std::vector<double> list;
      for (std::size_t j = 0; j < 70; ++j) list.push_back(values[(i * 70 + j) * 2 + k]);
      std::sort(list.begin(), list.end());
      for (std::size_t j = 0; j < 70; ++j) expected[(i * 70 + j) * 2 + k] = list[j];
    }
  for (const test::Layout& layout : test::layouts(x))
    EXPECT_EQ(sort(layout.tensor, 1).values.to_vector<double>(), expected) << layout.name;
}

TEST_P(Select, LongListsAndManyLists) {
  const Tensor x = randint(0, 50, {2, 3000}, on(int32));  // many ties
  const ValuesAndIndices y = sort(x, -1);
  const auto in = x.to_vector<std::int64_t>(), out = y.values.to_vector<std::int64_t>(),
             at = y.indices.to_vector<std::int64_t>();
  for (std::size_t list = 0; list < 6000; list += 3000)
    for (std::size_t i = list; i < list + 3000; ++i) {
      ASSERT_EQ(out[i], in[list + static_cast<std::size_t>(at[i])]);
      if (i == list) continue;
      ASSERT_TRUE(out[i - 1] < out[i] || (out[i - 1] == out[i] && at[i - 1] < at[i])) << i;
    }
}

TEST_P(Select, MedianIsTheLowerMiddle) {
  EXPECT_EQ(median(put({5, 1, 4, 2})).item<double>(), 2);
  EXPECT_EQ(median(put({5, 1, 4})).item<double>(), 4);
  EXPECT_EQ(median(put({7}, int64)).item<std::int64_t>(), 7);
  EXPECT_TRUE(std::isnan(median(put({5, kNan, 4})).item<double>()));
  const Tensor x = reshape(put({1, 9, 5, 4, 4, 8}), {2, 3});
  EXPECT_THAT(median(x, 1).to_vector<double>(), ElementsAre(5, 4));
  EXPECT_EQ(median(x, {0, 1}, keepdim).shape(), (Shape{1, 1}));
  EXPECT_EQ(median(x, {1, 0}).item<double>(), 4);
}

TEST_P(Select, MedianTakesTheFirstOfEqualElementsAndTheFirstNan) {
  EXPECT_EQ(median_with_index(put({3, 2, 2, 2, 1})).indices.item<std::int64_t>(), 1);
  EXPECT_EQ(median_with_index(put({1, kNan, 2, kNan})).indices.item<std::int64_t>(), 1);
  const Tensor x = put({3, 2, 2, 2, 1});
  x.requires_grad_();
  median(x).backward();
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(0, 1, 0, 0, 0));
}

TEST_P(Select, QuantilesBetweenEqualElementsAreTheseElements) {
  const Tensor each = reshape(0.001 * arange(1, 100, 1, {.dtype = float64}), {99, 1}).to(float32).to(device());
  for (const double q : {0.1, 0.3, 0.55, 0.9})
    EXPECT_THAT(quantile(expand(each, {99, 7}), q, 1, keepdim), BitEqual(each)) << q;
  const Tensor ends =
      tensor({-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), -0.0, -0.0}, on());
  EXPECT_EQ(quantile(ends, 0.2).item<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::signbit(quantile(ends, 0.9).item<double>()));
}

TEST_P(Select, QuantileIsLinear) {
  const Tensor x = put({4, 1, 3, 2});
  EXPECT_EQ(quantile(x, 0).item<double>(), 1);
  EXPECT_EQ(quantile(x, 1).item<double>(), 4);
  EXPECT_EQ(quantile(x, 0.5).item<double>(), 2.5);
  EXPECT_NEAR(quantile(x, 0.1).item<double>(), 1.3, 1e-15);
  EXPECT_THAT(quantile(x, std::vector{0.5, 1.0}).to_vector<double>(), ElementsAre(2.5, 4));
  EXPECT_EQ(quantile(ones({2, 3, 4}, on()), std::vector{0.1, 0.2}, {0, 2}, keepdim).shape(), (Shape{2, 1, 3, 1}));
  EXPECT_TRUE(std::isnan(quantile(put({1, kNan, 2}), 0.1).item<double>()));
  EXPECT_EQ(quantile(put({-kInf, 1, kInf}), 0.5).item<double>(), 1);
  EXPECT_EQ(quantile(put({-kInf, 1, kInf}), 1).item<double>(), kInf);
}

TEST_P(Select, TopkIsInOrderWithNanFirst) {
  const ValuesAndIndices y = topk(put({2, kNan, 5, 5, 1}), 3);
  EXPECT_THAT(y.indices.to_vector<std::int64_t>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(topk(put({2, 9, 5, 5, 1}), 2, 0, Order::ascending).values.to_vector<double>(), ElementsAre(1, 2));
  EXPECT_EQ(topk(put({2, 9}), 0).values.shape(), Shape{0});
  EXPECT_EQ(topk(full({}, 4, on()), 1).values.item<float>(), 4);
}

TEST_P(Select, GradientsGoToTheChosen) {
  const Tensor x = randn(device() == cpu ? Shape{3, 7} : Shape{1, 3}, on(float64));  // an emulated device sorts slowly
  const auto top = [](const Tensor& x) { return topk(x, 2, 1).values; };
  const auto middle = [](const Tensor& x) { return median(x, 0); };
  const auto quarter = [](const Tensor& x) { return quantile(x, 0.3, 1, keepdim); };
  const auto sorted = [](const Tensor& x) { return square(sort(x, 0, Order::descending).values); };
  EXPECT_THAT(top, PassesGradCheck(x));
  if (device() != cpu) return;
  EXPECT_THAT(middle, PassesGradCheck(x));
  EXPECT_THAT(quarter, PassesGradCheck(x));
  EXPECT_THAT(sorted, PassesGradCheck(x));
  EXPECT_THAT(sorted, PassesGradGradCheck(x));
}

TEST_P(Select, Errors) {
  const Tensor x = ones({2, 3}, on());
  EXPECT_THROW(sort(x, 2), IndexError);
  EXPECT_THROW(topk(x, 4), ValueError);
  EXPECT_THROW(topk(x, -1), ValueError);
  EXPECT_THROW(quantile(x, 1.5), ValueError);
  EXPECT_THROW(quantile(x, kNan), ValueError);
  EXPECT_THROW(quantile(x.to(int64), 0.5), DTypeError);
  EXPECT_THROW(median(zeros({0}, on())), ShapeError);
  EXPECT_THROW(quantile(zeros({2, 0}, on()), 0.5, 1), ShapeError);
  EXPECT_EQ(median(zeros({0, 3}, on()), 1).shape(), Shape{0});
}

}  // namespace
}  // namespace tally
