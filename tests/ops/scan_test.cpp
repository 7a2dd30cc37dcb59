// Scans: the documented order to the bit, values, edges, gradients of both orders, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/scan.h>
#include <tally/ops/view.h>

#include "../support/devices.h"
#include "../support/layouts.h"
#include "../support/lengths.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
constexpr double kInf = std::numeric_limits<double>::infinity();

// The order of ops/scan.h as a plain program: running results of a list.
template <class Acc, class Combine> std::vector<Acc> scanned(const std::vector<Acc>& list, Combine combine) {
  std::vector<Acc> result, tile_ends;
  for (std::size_t tile = 0; tile < list.size(); tile += 1024) {
    std::vector<Acc> running, ends;
    for (std::size_t i = tile; i < std::min(list.size(), tile + 1024); ++i) {
      const bool begins = (i - tile) % 8 == 0;
      running.push_back(begins ? list[i] : combine(running.back(), list[i]));
    }
    for (std::size_t i = 0; i < running.size(); i += 8) ends.push_back(running[std::min(i + 7, running.size() - 1)]);
    for (std::size_t d = 1; d < ends.size(); d *= 2) {
      const std::vector<Acc> old = ends;
      for (std::size_t c = d; c < ends.size(); ++c) ends[c] = combine(old[c - d], old[c]);
    }
    for (std::size_t i = 8; i < running.size(); ++i) running[i] = combine(ends[i / 8 - 1], running[i]);
    tile_ends.push_back(running.back());
    result.insert(result.end(), running.begin(), running.end());
  }
  if (tile_ends.size() > 1) {
    const std::vector<Acc> offsets = scanned(tile_ends, combine);
    for (std::size_t i = 1024; i < result.size(); ++i) result[i] = combine(offsets[i / 1024 - 1], result[i]);
  }
  return result;
}

std::vector<float> floats(std::int64_t n, float scale = 1) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(scale * static_cast<float>(std::fmod(static_cast<double>(i + 1) * 0.6180339887, 1.0) - 0.4));
  return values;
}

float plus(float a, float b) { return a + b; }

class Scans : public test::OnDevice {
 protected:
  Tensor put(const std::vector<double>& values) const { return tensor(values).to(device()); }
};
TALLY_TEST_ON_DEVICES(Scans);

TEST_P(Scans, SumsInTheDocumentedOrder) {
  for (std::int64_t n : test::edge_lengths()) {
    const std::vector<float> values = floats(n);
    EXPECT_EQ(cumsum(tensor(values).to(device()), 0).to_vector<float>(), scanned(values, plus)) << n;
  }
}

TEST_P(Scans, MultipliesInTheDocumentedOrder) {
  for (std::int64_t n : {9, 1025, 3000}) {
    std::vector<float> values = floats(n, 0.01f);
    for (float& v : values) v += 1;
    const auto times = [](float a, float b) { return a * b; };
    EXPECT_EQ(cumprod(tensor(values).to(device()), 0).to_vector<float>(), scanned(values, times)) << n;
  }
}

TEST(Scan, TilesOfTilesFollowTheSameOrder) {
  const std::vector<float> values = floats(2 * 1024 * 1024 + 1029);
  EXPECT_EQ(cumsum(tensor(values), 0).to_vector<float>(), scanned(values, plus));
}

TEST_P(Scans, BitsDoNotDependOnLayoutNeighboursOrThreads) {
  const Tensor x = tensor(floats(3 * 2500)).to(device());
  const Tensor rows = reshape(x, {3, 2500});
  const std::vector<float> expected = cumsum(rows, 1).to_vector<float>();
  for (const test::Layout& layout : test::layouts(rows))
    EXPECT_EQ(cumsum(layout.tensor, 1).to_vector<float>(), expected) << layout.name;
  EXPECT_EQ(transpose(cumsum(transpose(rows, 0, 1).contiguous(), 0), 0, 1).to_vector<float>(), expected);
  EXPECT_EQ(cumsum(select(rows, 0, 2), 0).to_vector<float>(), select(cumsum(rows, 1), 0, 2).to_vector<float>());
  EXPECT_EQ(cumsum(narrow(rows, 1, 0, 1100), 1).to_vector<float>(),
            narrow(cumsum(rows, 1), 1, 0, 1100).to_vector<float>());
  const int before = num_threads();
  for (int threads : {1, 2, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(cumsum(rows, 1).to_vector<float>(), expected) << threads;
  }
  set_num_threads(before);
}

TEST_P(Scans, EqualBitsOnBothDevices) {
  const Tensor x = reshape(tensor(floats(2 * 1500)), {2, 1500});
  for (DType dtype : {float32, float64, float16}) {
    const Tensor here = x.to(dtype), there = here.to(device());
    EXPECT_THAT(cumsum(there, 1).to(cpu), BitEqual(cumsum(here, 1)));
    EXPECT_THAT(cumprod(there + 1, 1).to(cpu), BitEqual(cumprod(here + 1, 1)));
    EXPECT_THAT(logcumsumexp(there, 1).to(cpu), BitEqual(logcumsumexp(here, 1)));
    EXPECT_THAT(recurrence(there, there, 1).to(cpu), BitEqual(recurrence(here, here, 1)));
  }
}

TEST_P(Scans, ValuesByTheirDefinition) {
  const Tensor x = rand({2, 1300, 2}, {.dtype = float64}), on_device = x.to(device());
  const std::vector<double> v = x.to_vector<double>();
  const auto sums = cumsum(on_device, 1).to_vector<double>(),
             products = cumprod(on_device + 0.5, 1).to_vector<double>(),
             logs = logcumsumexp(on_device, -2).to_vector<double>(),
             mixed = recurrence(on_device, on_device, 1).to_vector<double>();
  for (std::size_t list : {0u, 1u, 2600u, 2601u}) {
    long double sum = 0, product = 1, power = 0, state = 0;
    for (std::size_t i = list; i < list + 2600; i += 2) {
      sum += v[i];
      product *= v[i] + 0.5;
      power += std::exp(static_cast<long double>(v[i]));
      state = v[i] + v[i] * state;
      ASSERT_NEAR(sums[i], static_cast<double>(sum), 1e-15 * 50 * static_cast<double>(sum));
      ASSERT_NEAR(products[i], static_cast<double>(product), 1e-12 * static_cast<double>(product));
      ASSERT_NEAR(logs[i], static_cast<double>(std::log(power)), 1e-14);
      ASSERT_NEAR(mixed[i], static_cast<double>(state), 1e-13 * static_cast<double>(state));
    }
  }
}

TEST_P(Scans, IntegersCountInInt64) {
  const Tensor bytes = full({520}, 1, on(uint8)), flags = full({520}, true, on(boolean));
  for (const Tensor& x : {bytes, flags}) {
    const Tensor y = cumsum(x, 0);
    EXPECT_EQ(y.dtype(), int64);
    EXPECT_EQ(y.to_vector<std::int64_t>().back(), 520);
  }
  const Tensor big = full({3}, std::int64_t{1} << 62, on(int64));
  EXPECT_EQ(cumsum(big, 0).to_vector<std::int64_t>()[1], std::numeric_limits<std::int64_t>::min());
  EXPECT_THAT(cumprod(full({4}, -3, on(int32)), 0).to_vector<std::int64_t>(), ElementsAre(-3, 9, -27, 81));
  EXPECT_EQ(cumsum(bytes, 0, float64).dtype(), float64);
  EXPECT_EQ(cumprod(flags, 0, int32).dtype(), int32);
}

TEST_P(Scans, HalvesRoundOnceAtTheEnd) {
  const Tensor x = full({3000}, 1, on(float16));  // a sum kept in float16 would stop at 2048
  EXPECT_EQ(cumsum(x, 0).to_vector<float>().back(), 3000);
  EXPECT_EQ(cumsum(x, 0).dtype(), float16);
}

TEST_P(Scans, OfNothingAndOfOneNumber) {
  for (const Shape& shape : {Shape{0}, Shape{2, 0}, Shape{0, 3}}) {
    EXPECT_EQ(cumsum(zeros(shape, on()), 0).shape(), shape);
    const Tensor x = zeros(shape, {.device = device(), .requires_grad = true});
    cumprod(x, -1).backward(zeros(shape, on()));
    EXPECT_EQ(x.grad().shape(), shape);
  }
  const Tensor one = full({}, 3, {.device = device(), .requires_grad = true});
  for (const Tensor& y : {cumsum(one, 0), cumprod(one, -1), logcumsumexp(one, 0)}) {
    EXPECT_EQ(y.shape(), Shape{});
    EXPECT_FLOAT_EQ(y.item<float>(), 3);
    one.zero_grad();
    y.backward();
    EXPECT_EQ(one.grad().item<float>(), 1);
  }
}

TEST_P(Scans, ProductsHaveAnUnboundedExponentInBetween) {
  EXPECT_THAT(cumprod(put({1e200, 1e200, 1e-200, 1e-200}), 0).to_vector<double>(), ElementsAre(1e200, kInf, 1e200, 1));
}

TEST_P(Scans, LogsOfInfinities) {
  const auto logs = [&](const std::vector<double>& x) { return logcumsumexp(put(x), 0).to_vector<double>(); };
  EXPECT_THAT(logs({-kInf, -kInf, 0}), ElementsAre(-kInf, -kInf, 0));
  EXPECT_THAT(logs({0, kInf, 1, kInf}), ElementsAre(0, kInf, kInf, kInf));
  EXPECT_THAT(logs({1000, 1000})[1], ::testing::DoubleEq(1000 + std::log(2)));
  const auto nan = logs({0, std::nan(""), 1});
  EXPECT_EQ(nan[0], 0);
  EXPECT_TRUE(std::isnan(nan[1]) && std::isnan(nan[2]));
}

TEST_P(Scans, GradientOfLogsAtInfinities) {
  const auto gradient = [&](const std::vector<double>& values, const std::vector<double>& upstream) {
    const Tensor x = put(values);
    x.requires_grad_();
    return grad({logcumsumexp(x, 0)}, {x}, {put(upstream)})[0].to_vector<double>();
  };
  EXPECT_THAT(gradient({-kInf, 0, -kInf}, {1, 10, 100}), ElementsAre(0, 110, 0));
  EXPECT_THAT(gradient({0, kInf, 1, kInf}, {1, 10, 100, 1000}), ElementsAre(1, 10 + 100 + 500, 0, 500));
}

// d(sum of upstream·y) / d x[i] by definition: the products leave x[i] out.
std::vector<double> product_gradient(const std::vector<double>& x, const std::vector<double>& upstream) {
  std::vector<double> g(x.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = i; k < x.size(); ++k) {
      double others = 1;
      for (std::size_t j = 0; j <= k; ++j)
        if (j != i) others *= x[j];
      g[i] += upstream[k] * others;
    }
  return g;
}

TEST_P(Scans, GradientOfProductsIsExactAtZeros) {
  const std::vector<double> upstream{1, 2, 4, 8, 16, 32};
  for (const std::vector<double>& values : std::vector<std::vector<double>>{
           {2, 3, 0, 5, 7, 11}, {0, 3, 2, 5, 0, 11}, {0, 0, 0, 5, 7, 11}, {2, 3, 5, 7, 11, 0}}) {
    const Tensor x = put(values);
    x.requires_grad_();
    EXPECT_EQ(grad({cumprod(x, 0)}, {x}, {put(upstream)})[0].to_vector<double>(), product_gradient(values, upstream));
  }
}

TEST_P(Scans, GradientOfALongProductDoesNotOverflow) {
  Tensor upstream = zeros({1300}, on());
  narrow(upstream, 0, 0, 1).fill_(1);
  const Tensor x = full({1300}, 10, {.device = device(), .requires_grad = true});
  const auto g = grad({cumprod(x, 0)}, {x}, {upstream})[0].to_vector<float>();
  EXPECT_EQ(g[0], 1);  // although the product of all that follows is no float
}

TEST_P(Scans, GradientsOfBothOrders) {
  // An emulated device takes its time: few elements there.
  const bool small = device() != cpu;
  const Shape shape = small ? Shape{1, 3} : Shape{3, 5, 2};
  const Tensor x = randn(shape, on(float64)), a = randn(shape, on(float64));
  for (std::int64_t dim : small ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{0, 1, -1}) {
    const auto sum = [=](const Tensor& x) { return cumsum(x, dim); };
    const auto product = [=](const Tensor& x) { return cumprod(x, dim); };
    const auto log_sum = [=](const Tensor& x) { return logcumsumexp(x, dim); };
    const auto both = [=](const Tensor& a, const Tensor& b) { return recurrence(a, b, dim); };
    EXPECT_THAT(sum, PassesGradCheck(x));
    EXPECT_THAT(product, PassesGradCheck(x));
    EXPECT_THAT(log_sum, PassesGradCheck(x));
    EXPECT_THAT(both, PassesGradCheck(a, x));
    EXPECT_THAT(sum, PassesGradGradCheck(x));
    EXPECT_THAT(product, PassesGradGradCheck(x));
    EXPECT_THAT(log_sum, PassesGradGradCheck(x));
    EXPECT_THAT(both, PassesGradGradCheck(a, x));
  }
  const auto product = [](const Tensor& x) { return cumprod(x, 0); };
  const Tensor zeros_in_it = small ? put({2, 0}) : put({2, 0, 3, 0, 1.5});
  EXPECT_THAT(product, PassesGradCheck(zeros_in_it));
  EXPECT_THAT(product, PassesGradGradCheck(zeros_in_it));
}

TEST_P(Scans, GradientsAcrossTiles) {
  const Tensor x = rand({2100}, on(float64));
  x.requires_grad_();
  const Tensor upstream = randn({2100}, on(float64));
  const auto g = grad({cumsum(x, 0)}, {x}, {upstream})[0].to_vector<double>();
  const auto u = upstream.to_vector<double>();
  double rest = 0;
  for (std::size_t i = u.size(); i-- > 0;) {
    rest += u[i];
    ASSERT_NEAR(g[i], rest, 1e-11);
  }
}

TEST_P(Scans, Errors) {
  const Tensor x = ones({2, 3}, on());
  EXPECT_THROW(cumsum(x, 2), IndexError);
  EXPECT_THROW(cumprod(x, -3), IndexError);
  EXPECT_THROW(logcumsumexp(zeros({0, 2}, on()), 3), IndexError);
  EXPECT_THROW(logcumsumexp(x.to(int64), 0), DTypeError);
  EXPECT_THROW(recurrence(x, ones({3, 2}, on()), 0), ShapeError);
  EXPECT_THROW(recurrence(x, x.to(float64), 0), DTypeError);
  EXPECT_THROW(recurrence(x.to(int64), x.to(int64), 0), DTypeError);
}

}  // namespace
}  // namespace tally
