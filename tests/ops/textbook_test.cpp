// The textbook's own numbers, on every device: values, rounds, gradients.
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/random.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/order.h>
#include <tally/tests/support/poison.h>

namespace tally {
namespace {

using ::testing::ElementsAre;
using Rounds = std::vector<std::vector<float>>;

class Textbook : public test::OnDevice {
 protected:
  Tensor leaf(std::initializer_list<double> values) const {
    return tensor(values, {.device = device(), .requires_grad = true});
  }
  std::vector<float> gradient(const Tensor& y, const Tensor& x) const {
    return grad({y}, {x}, {}, {.retain_graph = true})[0].to_vector<float>();
  }
  void SetUp() override {
    OnDevice::SetUp();
    if (!IsSkipped()) test::poison(sizeof(float), device());
  }
};
TALLY_TEST_ON_DEVICES(Textbook);

float plus(float a, float b) { return a + b; }

TEST_P(Textbook, SumAndMean) {
  const Tensor squares = leaf({1, 4, 9, 16});
  EXPECT_EQ(sum(squares).item<float>(), 30);
  EXPECT_EQ(mean(squares).item<float>(), 7.5f);
  EXPECT_EQ(sum(leaf({2, 6, 3, 8, 5})).item<float>(), 24);
  EXPECT_EQ(sum(leaf({10, 20, 30, 40, 50})).item<float>(), 150);
  EXPECT_THAT(gradient(sum(squares), squares), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(gradient(mean(squares), squares), ElementsAre(0.25, 0.25, 0.25, 0.25));
}

TEST_P(Textbook, TheRoundsOfTheTree) {
  const auto rounds = [](std::vector<float> list) {
    Rounds all = test::order::rounds(list, plus);
    all.erase(all.begin());
    return all;
  };
  EXPECT_EQ(rounds({1, 4, 9, 16}), (Rounds{{5, 25}, {30}}));
  EXPECT_EQ(rounds({2, 6, 3, 8, 5}), (Rounds{{8, 11, 5}, {19, 5}, {24}}));
  EXPECT_EQ(rounds({10, 20, 30, 40, 50}), (Rounds{{30, 70, 50}, {100, 50}, {150}}));
  // Whole numbers add up in any order. Numbers that do not show that the library takes these very rounds.
  Generator generator(1);
  for (std::int64_t n = 1; n <= 128; ++n) {
    Tensor x = empty({n}, on());
    fill_normal(x, generator);
    EXPECT_EQ(sum(x).item<float>(), test::order::rounds(x.to_vector<float>(), plus).back()[0]) << n;
  }
  // 1e8 + 1 is 1e8 in float32, so each order of the five has its own sum: ((a + b) + (c + d)) + e here.
  EXPECT_EQ(sum(leaf({1e8, 1, -1e8, 1, 1})).item<float>(), 1);
  EXPECT_EQ(sum(leaf({1, 1, 1e8, -1e8, 1})).item<float>(), 3);
}

TEST_P(Textbook, MaxWithIndex) {
  const auto check = [&](std::initializer_list<double> list, float value, std::int64_t index) {
    const Tensor x = leaf(list);
    const auto found = max_with_index(x);
    EXPECT_EQ(found.values.item<float>(), value);
    EXPECT_EQ(found.indices.item<std::int64_t>(), index);
    std::vector<float> one_hot(list.size());
    one_hot[static_cast<std::size_t>(index)] = 1;
    EXPECT_EQ(gradient(found.values, x), one_hot);
  };
  check({3, 7, 2, 9}, 9, 3);
  check({5, 2, 9, 1, 7}, 9, 2);
  check({4, 12, 7, 12, 3}, 12, 1);
  // The rounds of the second: values [5, 9, 7], indices [0, 2, 4].
  using Place = std::pair<float, int>;
  const auto larger = [](Place a, Place b) { return b.first > a.first ? b : a; };
  const auto rounds = test::order::rounds(std::vector<Place>{{5, 0}, {2, 1}, {9, 2}, {1, 3}, {7, 4}}, larger);
  EXPECT_EQ(rounds[1], (std::vector<Place>{{5, 0}, {9, 2}, {7, 4}}));
  EXPECT_EQ(rounds.back()[0], Place(9, 2));
}

TEST_P(Textbook, Norm) {
  const Tensor x = leaf({3, 4});
  EXPECT_EQ(norm(x).item<float>(), 5);
  EXPECT_THAT(gradient(norm(x), x), ElementsAre(0.6f, 0.8f));
  EXPECT_EQ(norm(leaf({6, 8})).item<float>(), 10);
}

TEST_P(Textbook, VarianceAndDeviation) {
  const Tensor x = leaf({2, 4, 4, 4, 5, 5, 7, 9});
  const auto both = var_mean(x);
  EXPECT_EQ(both.mean.item<float>(), 5);
  EXPECT_EQ(both.var.item<float>(), 4);
  EXPECT_EQ(var(x).item<float>(), 4);
  EXPECT_EQ(tally::std(x).item<float>(), 2);
  // 2 (x - 5) / 8, and (x - 5) / (8 · 2).
  EXPECT_THAT(gradient(var(x), x), ElementsAre(-0.75, -0.25, -0.25, -0.25, 0, 0, 0.5, 1));
  EXPECT_THAT(gradient(tally::std(x), x), ElementsAre(-0.1875, -0.0625, -0.0625, -0.0625, 0, 0, 0.125, 0.25));
  EXPECT_THAT(gradient(both.mean, x), ::testing::Each(0.125f));

  const Tensor y = leaf({1, 1, 1, 1, 5, 5, 5, 5});
  EXPECT_EQ(mean(y).item<float>(), 3);
  EXPECT_EQ(var(y).item<float>(), 4);
  EXPECT_EQ(tally::std(y).item<float>(), 2);
  EXPECT_THAT(gradient(var(y), y), ElementsAre(-0.5, -0.5, -0.5, -0.5, 0.5, 0.5, 0.5, 0.5));
  EXPECT_THAT(gradient(tally::std(y), y), ElementsAre(-0.125, -0.125, -0.125, -0.125, 0.125, 0.125, 0.125, 0.125));
}

}  // namespace
}  // namespace tally
