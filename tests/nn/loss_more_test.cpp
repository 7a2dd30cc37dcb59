// nll_loss, binary cross entropy and the Huber loss: values by plain loops, weights, gradients, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/nn/loss_more.h>
#include <tally/ops/reduce.h>
#include <tally/ops/softmax.h>
#include <tally/ops/view.h>

#include "../support/devices.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using enum LossReduction;

class Losses : public test::OnDevice {
 protected:
  Tensor classes(const std::vector<std::int64_t>& values) const { return tensor(values).to(device()); }
  Tensor put(const std::vector<double>& values) const { return tensor(values).to(device()); }
};
TALLY_TEST_ON_DEVICES(Losses);

TEST_P(Losses, NegativeLogLikelihoodPicksTheTarget) {
  const Tensor x = reshape(put({-1, -2, -3, -4, -5, -6}), {2, 3}), target = classes({2, 0});
  EXPECT_THAT(nll_loss(x, target, {.reduction = none}).to_vector<double>(), ElementsAre(3, 4));
  EXPECT_EQ(nll_loss(x, target).item<double>(), 3.5);
  const Tensor weight = put({3, 9, 1});
  EXPECT_EQ(nll_loss(x, target, {.reduction = sum, .weight = weight}).item<double>(), 3 + 3 * 4);
  EXPECT_EQ(nll_loss(x, target, {.weight = weight}).item<double>(), 15.0 / 4);
  EXPECT_EQ(nll_loss(select(x, 0, 1), full({}, 1, on(int64))).item<double>(), 5);
}

TEST_P(Losses, NegativeLogLikelihoodOfImages) {
  const Tensor x = randn({2, 3, 4}, on(float64)), target = randint(0, 3, {2, 4}, on(int64));
  const auto loss = nll_loss(x, target, {.reduction = none}).to_vector<double>(), v = x.to_vector<double>();
  const auto at = target.to_vector<std::int64_t>();
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(loss[n * 4 + i], -v[(n * 3 + static_cast<std::size_t>(at[n * 4 + i])) * 4 + i]);
}

TEST_P(Losses, NegativeLogLikelihoodAfterLogSoftmaxIsCrossEntropy) {
  const Tensor x = randn({5, 4}, on(float64)), target = classes({0, 3, 3, 1, 2});
  EXPECT_THAT(nll_loss(log_softmax(x, 1), target), AllClose(cross_entropy(x, target), 1e-14));
}

TEST_P(Losses, MoreRowsThanATwoByteFloatCounts) {
  const Tensor x = full({100000, 2}, -2, {.dtype = float16, .device = device(), .requires_grad = true});
  const Tensor loss = nll_loss(x, zeros({100000}, on(int64)));
  EXPECT_EQ(loss.item<double>(), 2);
  loss.backward();
  EXPECT_EQ(x.grad().to_vector<double>()[0], full({}, -1e-5, on(float16)).item<double>());
}

TEST_P(Losses, IgnoredRowsCountNowhere) {
  const Tensor x = reshape(put({-1, -2, -3, -4}), {2, 2});
  x.requires_grad_();
  const Tensor loss = nll_loss(x, classes({-100, 1}));
  EXPECT_EQ(loss.item<double>(), 4);
  loss.backward();
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(0, 0, 0, -1));
  x.zero_grad();
  const Tensor nothing = nll_loss(x, classes({7, 7}), {.ignore_index = 7});
  EXPECT_TRUE(std::isnan(nothing.item<double>()));
  nothing.backward();
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(nll_loss(x, classes({7, 7}), {.reduction = sum, .ignore_index = 7}).item<double>(), 0);
}

TEST_P(Losses, BinaryCrossEntropyByItsDefinition) {
  const std::vector<double> x{-3, 0, 0.5, 8}, t{0, 0.3, 1, 0.9}, w{1, 2, 0.5, 1}, p{4, 1, 2, 3};
  const auto loss =
      binary_cross_entropy_with_logits(put(x), put(t), {.reduction = none, .weight = put(w), .pos_weight = put(p)})
          .to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double s = 1 / (1 + std::exp(-x[i]));
    EXPECT_NEAR(loss[i], -w[i] * (p[i] * t[i] * std::log(s) + (1 - t[i]) * std::log(1 - s)), 1e-12);
  }
}

TEST_P(Losses, BinaryCrossEntropyKeepsDigitsFarOut) {
  EXPECT_EQ(binary_cross_entropy_with_logits(put({-1000, 1000}), put({1, 0}), {.reduction = sum}).item<double>(), 2000);
  EXPECT_DOUBLE_EQ(binary_cross_entropy_with_logits(put({-50}), put({0})).item<double>(), std::exp(-50.0));
}

TEST_P(Losses, HuberIsSquareInsideAndLinearOutside) {
  const Tensor x = put({0, 0.5, 2, -2, 5}), zero = put({0, 0, 0, 0, 0});
  x.requires_grad_();
  const Tensor loss = huber_loss(x, zero, 2, none);
  EXPECT_THAT(loss.to_vector<double>(), ElementsAre(0, 0.125, 2, 2, 8));
  loss.backward(ones({5}, on(float64)));
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(0, 0.5, 2, -2, 2));
}

TEST_P(Losses, Gradients) {
  const Tensor x = randn({3, 4}, on(float64)), t = rand({3, 4}, on(float64)), weight = rand({4}, on(float64));
  const Tensor target = classes({1, 3, 0});
  EXPECT_THAT([=](const Tensor& x) { return nll_loss(x, target, {.weight = weight}); }, PassesGradCheck(x));
  EXPECT_THAT([](const Tensor& x, const Tensor& t) { return huber_loss(x, t, 0.8); }, PassesGradCheck(x, t));
}

Tensor binary(const Tensor& x, const Tensor& t, const Tensor& weight) {
  return binary_cross_entropy_with_logits(x, t, {.pos_weight = weight});
}

TEST_P(Losses, GradientsOfBinaryCrossEntropy) {
  const Tensor x = randn({3, 4}, on(float64)), t = rand({3, 4}, on(float64)), weight = rand({4}, on(float64));
  EXPECT_THAT(binary, PassesGradCheck(x, t, weight));
}

TEST_P(Losses, GradientsOfBinaryCrossEntropyOfSecondOrder) {
  const Tensor x = randn({3, 4}, on(float64)), t = rand({3, 4}, on(float64)), weight = rand({4}, on(float64));
  EXPECT_THAT(binary, PassesGradGradCheck(x, t, weight));
}

TEST_P(Losses, Errors) {
  const Tensor x = ones({2, 3}, on());
  EXPECT_THROW(nll_loss(x, classes({0})), ShapeError);
  EXPECT_THROW(nll_loss(x, ones({2}, on())), DTypeError);
  EXPECT_THROW(nll_loss(x, classes({0, 1}), {.weight = ones({2}, on())}), ShapeError);
  EXPECT_THROW(nll_loss(x, classes({0, 3})).item<float>(), IndexError);
  EXPECT_THROW(nll_loss(x, classes({-1, 0})).item<float>(), IndexError);
  EXPECT_EQ(nll_loss(x, classes({0, 1})).item<float>(), -1);  // the library stays usable
  EXPECT_THROW(huber_loss(x, x, 0), ValueError);
  EXPECT_THROW(huber_loss(x, ones({3}, on())), ShapeError);
  EXPECT_THROW(binary_cross_entropy_with_logits(x, ones({3}, on())), ShapeError);
}

}  // namespace
}  // namespace tally
