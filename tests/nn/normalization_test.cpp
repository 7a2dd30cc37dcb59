// layer_norm and rms_norm: values by plain loops, known traps, gradients, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/random.h>
#include <tally/nn/normalization.h>
#include <tally/ops/operators.h>
#include <tally/ops/view.h>

#include "../support/devices.h"

namespace tally {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;

class Normalization : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Normalization);

TEST_P(Normalization, LayerNormByItsDefinition) {
  const Tensor x = randn({2, 3, 4}, on(float64)), weight = randn({3, 4}, on(float64)),
               bias = randn({3, 4}, on(float64));
  const auto y = layer_norm(x, {3, 4}, {.weight = weight, .bias = bias, .eps = 0.1}).to_vector<double>();
  const auto v = x.to_vector<double>(), w = weight.to_vector<double>(), b = bias.to_vector<double>();
  for (std::size_t row = 0; row < 2; ++row) {
    long double mean = 0, square = 0;
    for (std::size_t i = 0; i < 12; ++i) mean += v[row * 12 + i] / 12.0L;
    for (std::size_t i = 0; i < 12; ++i) square += (v[row * 12 + i] - mean) * (v[row * 12 + i] - mean) / 12;
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_NEAR(y[row * 12 + i],
                  static_cast<double>((v[row * 12 + i] - mean) / std::sqrt(square + 0.1L)) * w[i] + b[i], 1e-13);
  }
}

TEST_P(Normalization, B40LayerNormOfALargeMeanAndOfAConstant) {
  const Tensor x = tensor({60000.0, 60001.0, 60002.0, 60003.0}).to(device());
  const auto y = layer_norm(x, {4}).to_vector<float>();
  const float expected[] = {-1.3416354f, -0.4472118f, 0.4472118f, 1.3416354f};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(y[static_cast<std::size_t>(i)], expected[i], 1e-6);
  EXPECT_THAT(layer_norm(full({96}, 777.7, on()), {96}).to_vector<float>(), Each(0.0f));
}

TEST_P(Normalization, B22LayerNormOfValuesWhoseSquaresOverflow) {
  Tensor x = full({512}, 2e18, on());
  slice(x, 0, 0, to_end, 2).fill_(6e18);
  const auto y = layer_norm(x, {512}).to_vector<float>();
  EXPECT_THAT(y[0], FloatNear(1, 1e-6f));
  EXPECT_THAT(y[1], FloatNear(-1, 1e-6f));
}

TEST_P(Normalization, B40GradientOfAZeroRow) {
  const Tensor x = zeros({4}, {.device = device(), .requires_grad = true});
  layer_norm(x, {4}).backward(tensor({1.0, 0.0, 0.0, 0.0}).to(device()));
  const auto g = x.grad().to_vector<float>();
  EXPECT_NEAR(g[0], 237.17082, 1e-4);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NEAR(g[i], -79.056942, 1e-4);
}

TEST_P(Normalization, RmsNormByItsDefinition) {
  const Tensor x = tensor(std::vector<double>{1, 2, 3, 4}).to(device());
  const auto y = rms_norm(x, {4}, {.eps = 0.5}).to_vector<double>();
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(y[static_cast<std::size_t>(i)], (i + 1) / std::sqrt(8.0), 1e-15);
  EXPECT_THAT(rms_norm(zeros({4}, on()), {4}).to_vector<float>(), Each(0.0f));  // the default eps is not 0
}

TEST_P(Normalization, HalvesAreComputedInFloat) {
  const Tensor x = full({2, 600}, 300, on(float16));  // 300² is no float16
  EXPECT_EQ(rms_norm(x, {600}).dtype(), float16);
  EXPECT_THAT(rms_norm(x, {600}).to_vector<float>(), Each(1.0f));
  EXPECT_THAT(layer_norm(x, {600}).to_vector<float>(), Each(0.0f));
}

Tensor layer(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return layer_norm(x, {2, 3}, {.weight = weight, .bias = bias});
}
Tensor rms(const Tensor& x, const Tensor& weight) { return rms_norm(x, {2, 3}, {.weight = weight}); }

TEST_P(Normalization, GradientsOfLayerNorm) {
  const Tensor x = randn({2, 2, 3}, on(float64)), w = randn({2, 3}, on(float64)), b = randn({2, 3}, on(float64));
  EXPECT_THAT(layer, PassesGradCheck(x, w, b));
}

TEST_P(Normalization, GradientsOfLayerNormOfSecondOrder) {
  const Tensor x = randn({2, 2, 3}, on(float64)), w = randn({2, 3}, on(float64)), b = randn({2, 3}, on(float64));
  EXPECT_THAT(layer, PassesGradGradCheck(x, w, b));
}

TEST_P(Normalization, GradientsOfRmsNorm) {
  const Tensor x = randn({2, 2, 3}, on(float64)), w = randn({2, 3}, on(float64));
  EXPECT_THAT(rms, PassesGradCheck(x, w));
}

TEST_P(Normalization, GradientsOfRmsNormOfSecondOrder) {
  const Tensor x = randn({2, 2, 3}, on(float64)), w = randn({2, 3}, on(float64));
  EXPECT_THAT(rms, PassesGradGradCheck(x, w));
}

/// The gradient that create_graph records, and its own gradient: a row may be ill-conditioned.
TEST_P(Normalization, RecordedGradientsHaveTheSameBitsOnBothDevices) {
  if (device() == Device::cpu) GTEST_SKIP() << "compared in the CUDA case";
  for (const DType dtype : {float32, float64, float16}) {
    Generator generator(31);
    const auto normal = [&](const Shape& shape) {
      Tensor x = empty(shape, {.dtype = float64});
      fill_normal(x, generator);
      return x.to(dtype);
    };
    const Tensor x = normal({5, 37}) + Tensor(full({5, 1}, 100).to(dtype)), weight = normal({37}), bias = normal({37});
    const Tensor cotangent = normal({5, 37}), second = normal({5, 37});
    const auto both = [&](Device where) {
      const auto leaf = [&](const Tensor& t) { return t.detach().clone().to(where).requires_grad_(); };
      const Tensor a = leaf(x), w = leaf(weight), b = leaf(bias);
      const Tensor y = layer_norm(a, {37}, {.weight = w, .bias = b});
      const auto first = grad({y}, {a, w, b}, {cotangent.to(where)}, {.create_graph = true});
      auto all = grad({first[0]}, {a, w}, {second.to(where)});
      all.insert(all.end(), first.begin(), first.end());
      return all;
    };
    const auto here = both(Device::cpu), there = both(device());
    for (std::size_t i = 0; i < here.size(); ++i)
      EXPECT_THAT(there[i].detach().to(Device::cpu), BitEqual(here[i].detach())) << name_of(dtype) << ", result " << i;
  }
}

TEST_P(Normalization, Errors) {
  const Tensor x = ones({2, 3}, on());
  EXPECT_THROW(layer_norm(x, {2}), ShapeError);
  EXPECT_THROW(layer_norm(x, {}), ShapeError);
  EXPECT_THROW(layer_norm(x, {3}, {.weight = ones({2}, on())}), ShapeError);
  EXPECT_THROW(rms_norm(x, {1, 2, 3}), ShapeError);
  EXPECT_THROW(rms_norm(x.to(int64), {3}), DTypeError);
}

}  // namespace
}  // namespace tally
