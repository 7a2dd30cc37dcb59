#include <tally/nn/init.h>
#include <tally/nn/layers.h>

#include <algorithm>

#include "support.h"

namespace tally::nn {
namespace {

using InitTest = OnEachDevice;
TALLY_ON_EACH_DEVICE(InitTest);

/// Uniforms in +-bound: all inside, reaching near both ends, with the variance bound^2 / 3.
void expect_uniform(const Tensor& tensor, double bound) {
  const std::vector<double> drawn = values(tensor);
  const auto [low, high] = std::minmax_element(drawn.begin(), drawn.end());
  EXPECT_GE(*low, -bound * (1 + 1e-6));
  EXPECT_LE(*high, bound * (1 + 1e-6));
  EXPECT_LT(*low, -0.98 * bound);
  EXPECT_GT(*high, 0.98 * bound);
  double square = 0;
  for (double x : drawn) square += x * x;
  EXPECT_NEAR(square / static_cast<double>(drawn.size()), bound * bound / 3, 0.05 * bound * bound / 3);
}

TEST_P(InitTest, BoundsFollowTheFans) {
  Generator generator(7);
  const Options options{.device = device};
  expect_uniform(kaiming_uniform_(empty({50, 100}, options), 0, generator), std::sqrt(6.0 / 100));
  expect_uniform(kaiming_uniform_(empty({50, 100}, options), 2, generator), std::sqrt(6.0 / 500));
  expect_uniform(xavier_uniform_(empty({50, 100}, options), 3, generator), 3 * std::sqrt(6.0 / 150));
  expect_uniform(xavier_uniform_(empty({10, 20, 25}, options), 1, generator), std::sqrt(6.0 / (20 * 25 + 10 * 25)));
}

TEST_P(InitTest, LinearStartsWithinOneOverRootOfItsInputs) {
  Generator generator(1);
  const Linear linear(64, 3000, {.device = device, .generator = generator});
  expect_uniform(linear.weight, 0.125);
  expect_uniform(linear.bias, 0.125);
  EXPECT_TRUE(linear.weight.requires_grad() && linear.bias.requires_grad());
}

TEST_P(InitTest, AnEqualGeneratorGivesEqualBits) {
  Generator here(5), there(5);
  const Linear a(17, 9, {.generator = here}), b(17, 9, {.device = device, .generator = there});
  EXPECT_EQ(a.weight.to_vector<float>(), b.weight.to_vector<float>());
  EXPECT_EQ(a.bias.to_vector<float>(), b.bias.to_vector<float>());
  EXPECT_EQ(here.offset(), there.offset());
}

TEST(Init, RefusesATensorWithoutFanIn) { EXPECT_THROW(kaiming_uniform_(zeros({4})), ShapeError); }

using DropoutTest = OnEachDevice;
TALLY_ON_EACH_DEVICE(DropoutTest);

TEST_P(DropoutTest, KeepsTheShareAndScalesIt) {
  Generator generator(3);
  const Tensor x = leaf(ones({100, 100}, {.device = device}));
  const Tensor y = dropout(x, 0.25, generator);
  std::int64_t kept = 0;
  for (double value : values(y)) {
    EXPECT_TRUE(value == 0 || std::abs(value - 4.0 / 3) < 1e-6) << value;
    kept += value != 0;
  }
  EXPECT_NEAR(static_cast<double>(kept) / 1e4, 0.75, 0.02);
  sum(y).backward();
  EXPECT_EQ(values(x.grad()), values(y));  // ones in: the mask itself
}

TEST_P(DropoutTest, MasksAreEqualOnBothDevicesAndDtypes) {
  Generator a(3), b(3), c(3);
  const std::vector<double> mask = values(dropout(ones({777}), 0.5, a));
  EXPECT_EQ(values(dropout(ones({777}, {.device = device}), 0.5, b)), mask);
  EXPECT_EQ(values(dropout(ones({777}, {.dtype = float64, .device = device}), 0.5, c)), mask);
  EXPECT_EQ(a.offset(), b.offset());
}

TEST(Dropout, EdgesOfTheProbability) {
  EXPECT_EQ(values(dropout(ones({3}), 1)), std::vector<double>(3, 0));
  EXPECT_EQ(values(dropout(ones({3}), 0)), std::vector<double>(3, 1));
  EXPECT_THROW(dropout(ones({3}), 1.5), ValueError);
  EXPECT_THROW(nn::Dropout(-0.1), ValueError);
}

}  // namespace
}  // namespace tally::nn
