// The order of the reductions, against a program of its own.
#include <tally/core/math.h>
#include <tally/ops/operators.h>

#include <algorithm>
#include <vector>

#include <tally/tests/ops/reduce_support.h>
#include <tally/tests/support/lengths.h>
#include <tally/tests/support/order.h>

namespace tally {
namespace {

using test::draw;
using test::Reduce;

std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }

TEST_P(Reduce, SumMeanProdAndExtremesFollowTheOrder) {
  for (const std::int64_t n : test::edge_lengths()) {
    const Tensor x = draw({n}, float32, device(), 7), near_one = 1 + x * 0.01;
    const auto fold = [](auto op) {
      return [op](const std::vector<float>& lane) {
        float acc = lane[0];
        for (std::size_t i = 1; i < lane.size(); ++i) acc = op(acc, lane[i]);
        return acc;
      };
    };
    const auto add = [](float a, float b) { return a + b; };
    const auto times = [](float a, float b) { return a * b; };
    const float total = test::order::reduce(floats(x), fold(add), add);
    EXPECT_EQ(sum(x).item<float>(), total) << n;
    EXPECT_EQ(mean(x).item<float>(), total / static_cast<float>(n)) << n;
    EXPECT_EQ(prod(near_one).item<float>(), test::order::reduce(floats(near_one), fold(times), times)) << n;
  }
}

TEST_P(Reduce, NormFollowsTheOrder) {
  for (const std::int64_t n : test::edge_lengths()) {
    const Tensor x = draw({n}, float32, device(), 8);
    const auto lane = [](const std::vector<float>& x) {
      float acc = x[0] * x[0];
      for (std::size_t i = 1; i < x.size(); ++i) acc = acc + x[i] * x[i];
      return acc;
    };
    const auto add = [](float a, float b) { return a + b; };
    EXPECT_EQ(norm(x).item<float>(), std::sqrt(test::order::reduce(floats(x), lane, add))) << n;
  }
}

TEST_P(Reduce, VarFollowsTheOrder) {
  struct Moments {
    float n, mean, m2;
  };
  for (const std::int64_t n : test::edge_lengths()) {
    const Tensor x = draw({n}, float32, device(), 9) * 3 + 2;
    const float pivot = floats(x)[0];
    const auto lane = [pivot](const std::vector<float>& x) {
      float sum = x[0] - pivot;
      for (std::size_t i = 1; i < x.size(); ++i) sum = sum + (x[i] - pivot);
      const float n = static_cast<float>(x.size()), mean = sum / n;
      float m2 = ((x[0] - pivot) - mean) * ((x[0] - pivot) - mean);
      for (std::size_t i = 1; i < x.size(); ++i) m2 = m2 + ((x[i] - pivot) - mean) * ((x[i] - pivot) - mean);
      return Moments{n, mean, m2};
    };
    const auto merge = [](Moments a, Moments b) {
      const float n = a.n + b.n, w = b.n / n, d = b.mean - a.mean;
      return Moments{n, a.mean + d * w, (a.m2 + b.m2) + (d * d) * (a.n * w)};
    };
    const Moments total = test::order::reduce(floats(x), lane, merge);
    EXPECT_EQ(var(x).item<float>(), total.m2 / total.n) << n;
    EXPECT_EQ(tally::std(x).item<float>(), std::sqrt(total.m2 / total.n)) << n;
    EXPECT_EQ(var_mean(x).mean.item<float>(), pivot + total.mean) << n;
  }
}

TEST_P(Reduce, LogSumExpFollowsTheOrder) {
  struct Shifted {
    float max, sum;
  };
  for (const std::int64_t n : test::edge_lengths()) {
    const Tensor x = draw({n}, float32, device(), 10) * 4;
    const auto relative = [](float x, float max) { return math::exp(x - max); };
    const auto lane = [&](const std::vector<float>& x) {
      const float max = *std::max_element(x.begin(), x.end());
      float sum = relative(x[0], max);
      for (std::size_t i = 1; i < x.size(); ++i) sum = sum + relative(x[i], max);
      return Shifted{max, sum};
    };
    const auto merge = [&](Shifted a, Shifted b) {
      const float max = std::max(a.max, b.max);
      return Shifted{max, a.sum * relative(a.max, max) + b.sum * relative(b.max, max)};
    };
    const Shifted total = test::order::reduce(floats(x), lane, merge);
    EXPECT_EQ(logsumexp(x).item<float>(), total.max + math::log(total.sum)) << n;
  }
}

}  // namespace
}  // namespace tally
