// Reductions made of others: values by hand, NaN, dtypes, gradients, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/compose.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/view.h>

#include "../support/devices.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
const double kNan = std::nan("");

class Compose : public test::OnDevice {
 protected:
  Tensor put(const std::vector<double>& values, const Shape& shape) const {
    return reshape(tensor(values), shape).to(device());
  }
  Tensor put(const std::vector<double>& values) const { return tensor(values).to(device()); }
};
TALLY_TEST_ON_DEVICES(Compose);

TEST_P(Compose, DtypeIsCastFirst) {
  const Tensor x = full({3}, 100, on(uint8));
  EXPECT_EQ(sum(x, {}, {}, float64).item<double>(), 300);
  EXPECT_EQ(sum(x, {}, {}, float64).dtype(), float64);
  EXPECT_EQ(mean(x, 0, keepdim, float32).item<float>(), 100);
  EXPECT_EQ(prod(x, {}, {}, float32).item<float>(), 1e6f);
  EXPECT_EQ(prod(put({0.5, 0.5}), {}, {}, int64).item<std::int64_t>(), 0);  // 0·0: the cast cuts first
  EXPECT_EQ(prod(x, {}, {}, boolean).dtype(), boolean);
}

TEST_P(Compose, NansCountForNothing) {
  const Tensor x = put({1, kNan, 3, kNan, kNan, kNan}, {2, 3});
  EXPECT_THAT(nansum(x, 1).to_vector<double>(), ElementsAre(4, 0));
  const auto means = nanmean(x, 1).to_vector<double>();
  EXPECT_EQ(means[0], 2);
  EXPECT_TRUE(std::isnan(means[1]));
  EXPECT_EQ(nansum(full({3}, true, on(boolean))).item<std::int64_t>(), 3);
  const Tensor y = put({1, kNan, 3});
  y.requires_grad_();
  (nansum(y) + nanmean(y)).backward();
  EXPECT_THAT(y.grad().to_vector<double>(), ElementsAre(1.5, 0, 1.5));
}

TEST_P(Compose, NanmeanOfHalvesCountsInFloat) {
  EXPECT_EQ(nanmean(ones({5000}, on(float16))).item<float>(), 1);
  EXPECT_EQ(nanmean(ones({5000}, on(bfloat16))).dtype(), bfloat16);
}

TEST_P(Compose, AminmaxSharesTies) {
  const Tensor x = put({2, 5, 5, 2, 2});
  x.requires_grad_();
  const MinAndMax both = aminmax(x);
  EXPECT_EQ(both.min.item<double>(), 2);
  EXPECT_EQ(both.max.item<double>(), 5);
  (both.min * 3 + both.max).backward();
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(1, 0.5, 0.5, 1, 1));
  EXPECT_THROW(aminmax(zeros({0}, on())), ShapeError);
}

TEST_P(Compose, NormalizeMakesUnitLists) {
  const Tensor x = put({3, 4, 0, 0, 6, -8}, {3, 2});
  EXPECT_THAT(normalize(x).to(cpu), AllClose(reshape(tensor(std::vector{0.6, 0.8, 0.0, 0.0, 0.6, -0.8}), {3, 2})));
  EXPECT_THAT(normalize(x, 1, 0).to(cpu),
              AllClose(reshape(tensor(std::vector{3.0 / 9, 4.0 / 12, 0.0, 0.0, 6.0 / 9, -8.0 / 12}), {3, 2})));
  EXPECT_EQ(normalize(put({1e-20}), 2, 0).item<double>(), 1e-8);  // below eps
}

TEST_P(Compose, DistDotAndTrace) {
  const Tensor a = put({1, 2, 3}), b = put({4, -5, 6});
  EXPECT_EQ(dot(a, b).item<double>(), 12);
  EXPECT_DOUBLE_EQ(dist(a, b).item<double>(), std::sqrt(9.0 + 49 + 9));
  EXPECT_EQ(dist(a, put({1}), 1).item<double>(), 3);
  EXPECT_EQ(trace(put({1, 2, 3, 4, 5, 6}, {2, 3})).item<double>(), 6);
  EXPECT_EQ(trace(zeros({0, 3}, on())).item<float>(), 0);
  EXPECT_EQ(dot(zeros({0}, on()), zeros({0}, on())).item<float>(), 0);
}

TEST_P(Compose, DotHasTheOrderOfSum) {
  const Tensor a = randn({3000}), b = randn({3000});
  EXPECT_THAT(dot(a.to(device()), b.to(device())).to(cpu), BitEqual(sum(a * b)));
}

TEST_P(Compose, Gradients) {
  const Tensor x = randn({3, 3}, on(float64)), y = randn({3}, on(float64)), z = randn({3}, on(float64));
  EXPECT_THAT([](const Tensor& x) { return normalize(x, 3); }, PassesGradCheck(x));
  EXPECT_THAT([](const Tensor& x) { return trace(x); }, PassesGradCheck(x));
  EXPECT_THAT([](const Tensor& x) { return nanmean(x, 0); }, PassesGradCheck(x));
  EXPECT_THAT([](const Tensor& y, const Tensor& z) { return dot(y, z); }, PassesGradCheck(y, z));
  EXPECT_THAT([](const Tensor& x, const Tensor& z) { return dist(x, z, 1.5); }, PassesGradCheck(x, z));
}

TEST_P(Compose, GradientsOfSecondOrder) {
  const Tensor x = randn({3, 3}, on(float64)), y = randn({3}, on(float64)), z = randn({3}, on(float64));
  EXPECT_THAT([](const Tensor& x) { return normalize(x); }, PassesGradGradCheck(x));
  EXPECT_THAT([](const Tensor& y, const Tensor& z) { return dot(y, z); }, PassesGradGradCheck(y, z));
}

TEST_P(Compose, Errors) {
  const Tensor x = ones({3}, on());
  EXPECT_THROW(dot(x, ones({2}, on())), ShapeError);
  EXPECT_THROW(dot(ones({3, 1}, on()), ones({3, 1}, on())), ShapeError);
  EXPECT_THROW(dot(x, x.to(float64)), DTypeError);
  EXPECT_THROW(trace(x), ShapeError);
  EXPECT_THROW(normalize(x), IndexError);  // no dim 1
  EXPECT_THROW(normalize(x.to(int64), 2, 0), DTypeError);
  EXPECT_THROW(nanmean(x.to(int64)), DTypeError);
}

}  // namespace
}  // namespace tally
