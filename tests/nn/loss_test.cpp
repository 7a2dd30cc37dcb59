#include <tally/autograd/backward.h>
#include <tally/core/cuda/device.h>
#include <tally/core/error.h>
#include <tally/nn/loss.h>
#include <tally/ops/reduce.h>

#include "support.h"

namespace tally::nn {
namespace {

using testing::HasSubstr;
const double kNaN = std::nan("");

class CrossEntropyTest : public OnEachDevice {
 protected:
  void gradients_match_central_differences(LossReduction reduction) const;
};
TALLY_ON_EACH_DEVICE(CrossEntropyTest);

/// Plain double arithmetic, row by row; probabilities `t` [rows, classes].
struct Reference {
  std::vector<double> x, t;
  std::size_t classes;
  std::vector<double> weight = std::vector<double>(classes, 1);

  double row(std::size_t r) const {
    double max = -1e300, sum = 0, loss = 0;
    for (std::size_t c = 0; c < classes; ++c) max = std::max(max, x[r * classes + c]);
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(x[r * classes + c] - max);
    for (std::size_t c = 0; c < classes; ++c)
      loss -= t[r * classes + c] * weight[c] * (x[r * classes + c] - max - std::log(sum));
    return loss;
  }
};

TEST_P(CrossEntropyTest, ByHand) {
  // -log(e^2 / (e^1 + e^2 + e^3)) = log(e^-1 + 1 + e^1); two equal logits cost log 2.
  const Tensor x = leaf(make({1, 2, 3, 0, 0, -1e30}, {2, 3}));
  const Tensor loss = cross_entropy(x, classes({1, 0}));
  EXPECT_TRUE(near(loss, {(1.4076059644 + 0.6931471806) / 2}));
  loss.backward();
  EXPECT_TRUE(near(x.grad(), {0.0450152867, -0.3776357633, 0.3326204766, -0.25, 0.25, 0}));
  EXPECT_TRUE(
      near(cross_entropy(make({1, 2, 3}), tensor(std::vector<std::int64_t>{1}, Shape{}).to(device)), {1.4076059644}));
}

TEST_P(CrossEntropyTest, B29LargeLogits) {
  EXPECT_TRUE(near(cross_entropy(make({5e8, 5e8, 5e8}, {1, 3}), classes({1})), {1.0986123}));
  EXPECT_TRUE(near(cross_entropy(make({1000, 0, -1000}, {1, 3}), classes({2})), {2000}));
}

TEST_P(CrossEntropyTest, B41EverythingIgnored) {
  const CrossEntropyOptions sum_of{.reduction = LossReduction::sum}, each{.reduction = LossReduction::none};
  const Tensor x = leaf(make({4, -1, 0}, {1, 3}));
  const Tensor target = classes({-100});
  const Tensor mean = cross_entropy(x, target);
  EXPECT_TRUE(near(mean, {kNaN}));
  EXPECT_TRUE(near(cross_entropy(x, target, sum_of), {0}));
  EXPECT_TRUE(near(cross_entropy(x, target, each), {0}));
  mean.backward();
  EXPECT_TRUE(near(x.grad(), {0, 0, 0}));
  x.zero_grad();
  cross_entropy(x, target, sum_of).backward();
  EXPECT_TRUE(near(x.grad(), {0, 0, 0}));
}

TEST_P(CrossEntropyTest, B41AnIgnoredValueBeyondTheClasses) {
  const Tensor x = leaf(zeros({3, 2}, {.device = device}));
  const Tensor each = cross_entropy(x, classes({0, 99, 1}), {.reduction = LossReduction::none, .ignore_index = 99});
  EXPECT_TRUE(near(each, {0.6931472, 0, 0.6931472}));
  sum(each).backward();
  EXPECT_TRUE(near(x.grad(), {-0.5, 0.5, 0, 0, 0.5, -0.5}));
  // The mean is over the two rows that count.
  EXPECT_TRUE(near(cross_entropy(x, classes({0, 99, 1}), {.ignore_index = 99}), {0.6931472}));
}

TEST_P(CrossEntropyTest, B42ATargetThatIsNoClassIsNamed) {
  const Tensor x = leaf(zeros({2, 5}, {.device = device}));
  for (const auto& [bad, ignore] : {std::pair{-3, -100}, std::pair{5, -1}}) {
    const std::string text = message_of<IndexError>([&, bad = bad, ignore = ignore] {
      cross_entropy(x, classes({1, bad}), {.ignore_index = ignore}).item<double>();
    });
    EXPECT_THAT(text, HasSubstr("target " + std::to_string(bad)));
    EXPECT_THAT(text, HasSubstr("5 classes"));
  }
  EXPECT_TRUE(near(cross_entropy(x, classes({1, 4})), {std::log(5)}));  // the device stays usable
}

TEST_P(CrossEntropyTest, B43SmoothingLeavesIgnoredRowsOut) {
  const Tensor x = make({2, 0, 9, -9}, {2, 2});
  EXPECT_TRUE(near(cross_entropy(x, classes({0, -100}), {.label_smoothing = 0.2}), {0.3269280}));
}

TEST_P(CrossEntropyTest, WeightsSmoothingAndProbabilitiesMatchPlainDoubles) {
  const std::vector<double> x{0.3, -1.2, 2.5, 0.1, 0.4, -0.7, 1.1, 1.0, 0.9, -2, 0, 3}, w{0.5, 2, 1.25};
  const std::vector<std::int64_t> y{2, 0, 1, 2};
  const double smoothing = 0.3;
  Reference hard{x, std::vector<double>(12), 3, w}, smooth = hard;
  double weight = 0, hard_sum = 0, smooth_sum = 0;
  for (std::size_t r = 0; r < 4; ++r) {
    hard.t[r * 3 + static_cast<std::size_t>(y[r])] = 1;
    for (std::size_t c = 0; c < 3; ++c) smooth.t[r * 3 + c] = (1 - smoothing) * hard.t[r * 3 + c] + smoothing / 3;
    weight += w[static_cast<std::size_t>(y[r])];
    hard_sum += hard.row(r);
    smooth_sum += smooth.row(r);
  }
  const Tensor logits = make(x, {4, 3}, float64), classes_of = classes(y), weights = make(w, float64);
  EXPECT_TRUE(near(cross_entropy(logits, classes_of, {.weight = weights}), {hard_sum / weight}, 1e-12));
  EXPECT_TRUE(near(cross_entropy(logits, classes_of, {.label_smoothing = smoothing, .weight = weights}),
                   {smooth_sum / weight}, 1e-12));
  // The same rows as probabilities: their mean divides by the rows.
  EXPECT_TRUE(
      near(cross_entropy(logits, make(hard.t, {4, 3}, float64), {.label_smoothing = smoothing, .weight = weights}),
           {smooth_sum / 4}, 1e-12));
  // Classes in the second dim: [1, 3, 4] is the transpose.
  std::vector<double> transposed(12);
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 3; ++c) transposed[c * 4 + r] = x[r * 3 + c];
  const Tensor each = cross_entropy(make(transposed, {1, 3, 4}, float64), tensor(y, Shape{1, 4}).to(device),
                                    {.reduction = LossReduction::none, .weight = weights});
  EXPECT_EQ(each.shape(), Shape({1, 4}));
  EXPECT_TRUE(near(each, {hard.row(0), hard.row(1), hard.row(2), hard.row(3)}, 1e-12));
}

void CrossEntropyTest::gradients_match_central_differences(LossReduction reduction) const {
  const Tensor x = make({0.3, -1.2, 2.5, 0.1, 0.4, -0.7, 1.1, 1.0, 0.9, -2, 0, 3}, {4, 3}, float64);
  const Tensor y = classes({2, -100, 1, 0}), w = make({0.5, 2, 1.25}, float64);
  const Tensor p = make({0.2, 0.3, 0.5, 1, 0, 0, 0.1, 0.1, 0.8, 0.3, 0.3, 0.4}, {4, 3}, float64);
  const Tensor probe = make({1, -2, 0.5, 3, 0.1, 0.7, -1, 2, 0.3, 0.6, -0.4, 1.5}, {4, 3}, float64);
  for (const double smoothing : {0.0, 0.2})
    for (const Tensor& target : {y, p}) {
      const CrossEntropyOptions options{.reduction = reduction, .label_smoothing = smoothing, .weight = w};
      const auto loss = [&](const Tensor& t) { return sum(cross_entropy(t, target, options)); };
      const Tensor at = leaf(x);
      loss(at).backward();
      EXPECT_TRUE(near(at.grad(), central_differences(loss, x), 1e-8));
      const Tensor recorded = grad({loss(at)}, {at}, {}, {.create_graph = true})[0];
      EXPECT_TRUE(near(recorded, values(at.grad()), 1e-12));
      const auto slope = [&](const Tensor& t) {
        const Tensor here = leaf(t);
        GradMode recording(true);
        return sum(grad({loss(here)}, {here})[0].detach() * probe);
      };
      EXPECT_TRUE(near(grad({sum(recorded * probe)}, {at})[0], central_differences(slope, x), 1e-6));
    }
}

TEST_P(CrossEntropyTest, GradientsOfTheMeanMatchCentralDifferences) {
  gradients_match_central_differences(LossReduction::mean);
}
TEST_P(CrossEntropyTest, GradientsOfTheSumMatchCentralDifferences) {
  gradients_match_central_differences(LossReduction::sum);
}
TEST_P(CrossEntropyTest, GradientsOfEachRowMatchCentralDifferences) {
  gradients_match_central_differences(LossReduction::none);
}

TEST_P(CrossEntropyTest, WhatDoesNotFitIsRefused) {
  const Tensor x = zeros({2, 3}, {.device = device});
  EXPECT_THROW(cross_entropy(x, classes({0, 1, 2})), ShapeError);
  EXPECT_THROW(cross_entropy(x, classes({0, 1}).to(int32)), DTypeError);
  EXPECT_THROW(cross_entropy(x, make({1, 0})), ShapeError);
  EXPECT_THROW(cross_entropy(x.to(int64), classes({0, 1})), DTypeError);
  EXPECT_THROW(cross_entropy(x, classes({0, 1}), {.label_smoothing = 1.5}), ValueError);
  EXPECT_THROW(cross_entropy(x, classes({0, 1}), {.weight = make({1, 1})}), ShapeError);
}

TEST_P(CrossEntropyTest, BitsAreEqualOnBothDevices) {
  Generator generator(2);
  const Tensor x = empty({257, 10});
  fill_normal(x, generator);
  std::vector<std::int64_t> y;
  for (std::int64_t i = 0; i < 257; ++i) y.push_back(i % 11 == 10 ? -100 : i % 11);
  const auto run = [&](Device where) {
    const Tensor at = leaf(x.to(where));
    const Tensor loss = cross_entropy(at, tensor(y).to(where));
    loss.backward();
    std::vector<float> bits = at.grad().to_vector<float>();
    bits.push_back(loss.item<float>());
    return bits;
  };
  EXPECT_EQ(run(device), run(Device::cpu));
}

TEST(MseLoss, ByHand) {
  const Tensor x = leaf(tensor({1.0, 2.0, 3.0})), y = tensor({1.0, 0.0, 6.0});
  EXPECT_TRUE(near(mse_loss(x, y, LossReduction::none), {0, 4, 9}));
  EXPECT_TRUE(near(mse_loss(x, y, LossReduction::sum), {13}));
  const Tensor loss = mse_loss(x, y);
  EXPECT_TRUE(near(loss, {13.0 / 3}));
  loss.backward();
  EXPECT_TRUE(near(x.grad(), {0, 4.0 / 3, -2}));
  EXPECT_THAT(message_of<ShapeError>([&] { mse_loss(x, tensor({1.0})); }), testing::HasSubstr("reshape or squeeze"));
}

}  // namespace
}  // namespace tally::nn
