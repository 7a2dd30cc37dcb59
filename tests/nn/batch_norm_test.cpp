#include <tally/autograd/backward.h>
#include <tally/core/error.h>
#include <tally/nn/batch_norm.h>
#include <tally/nn/layers.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>

#include "support.h"

namespace tally::nn {
namespace {

using testing::HasSubstr;

/// Plain double arithmetic over [N, C, L].
struct Reference {
  Reference(const std::vector<double>& x, std::int64_t n, std::int64_t c, std::int64_t l, const std::vector<double>& w,
            const std::vector<double>& b, double eps = 1e-5)
      : y(x.size()) {
    const double count = static_cast<double>(n * l);
    for (std::int64_t k = 0; k < c; ++k) {
      double mean = 0, var = 0;
      const auto each = [&](auto f) {
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < l; ++j) f(static_cast<std::size_t>((i * c + k) * l + j));
      };
      each([&](std::size_t at) { mean += x[at] / count; });
      each([&](std::size_t at) { var += (x[at] - mean) * (x[at] - mean) / count; });
      const std::size_t channel = static_cast<std::size_t>(k);
      each([&](std::size_t at) { y[at] = (x[at] - mean) / std::sqrt(var + eps) * w[channel] + b[channel]; });
      means.push_back(mean);
      unbiased.push_back(var * count / (count - 1));
    }
  }
  std::vector<double> y, means, unbiased;
};

using BatchNormTest = OnEachDevice;
TALLY_ON_EACH_DEVICE(BatchNormTest);

TEST_P(BatchNormTest, B37OutputTakesTheBiasedBufferTheUnbiasedVariance) {
  BatchNorm1d norm(1, {.device = device});
  EXPECT_TRUE(near(norm(make({1, 2, 3, 4}, {4, 1})), {-1.3416354, -0.4472118, 0.4472118, 1.3416354}));
  EXPECT_TRUE(near(norm.running_mean, {0.25}));
  EXPECT_TRUE(near(norm.running_var, {1.0666667}));
  EXPECT_EQ(norm.num_batches_tracked.item<std::int64_t>(), 1);
  // Evaluation uses the buffers and leaves them alone: (1 - 0.25) / sqrt(1.0666667 + 1e-5).
  eval(norm);
  EXPECT_TRUE(near(norm(make({1}, {1, 1})), {0.7261807}));
  EXPECT_TRUE(near(norm.running_mean, {0.25}));
  EXPECT_EQ(norm.num_batches_tracked.item<std::int64_t>(), 1);
}

TEST_P(BatchNormTest, B36OneValueAChannelThrowsAndLeavesTheBuffersAlone) {
  BatchNorm1d norm(2, {.device = device});
  const std::string text = message_of<ShapeError>([&] { norm(make({1, 2}, {1, 2})); });
  EXPECT_THAT(text, HasSubstr("float32 [1, 2]"));
  EXPECT_TRUE(near(norm.running_mean, {0, 0}));
  EXPECT_TRUE(near(norm.running_var, {1, 1}));
  EXPECT_EQ(norm.num_batches_tracked.item<std::int64_t>(), 0);
  norm(make({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 4}));
  EXPECT_EQ(norm.num_batches_tracked.item<std::int64_t>(), 1);
  EXPECT_TRUE(near(norm.running_mean, {0.25, 0.65}));
  eval(norm);
  EXPECT_EQ(norm(make({1, 2}, {1, 2})).shape(), Shape({1, 2}));
}

TEST_P(BatchNormTest, RunningStatisticsMayLieApart) {
  const Tensor x = make({1, 2, 3, 2, 4, 6, 3, 6, 9}, {3, 3});
  const Tensor both = zeros({3, 2}, {.device = device});
  select(both, 1, 1).fill_(1);
  batch_norm(x, {select(both, 1, 0), select(both, 1, 1), {}});
  EXPECT_TRUE(near(both, {0.2, 1, 0.4, 1.3, 0.6, 1.8}));
}

TEST_P(BatchNormTest, RunningStatisticsThatCannotBeWrittenAreRefusedWhole) {
  const Tensor x = make({1, 2, 3, 4}, {2, 2}), mean = zeros({2}, {.device = device});
  const Tensor one = ones({1}, {.device = device});
  EXPECT_THROW(batch_norm(x, {mean, expand(one, {2}), {}}), ShapeError);
  EXPECT_THROW(batch_norm(x, {mean, {}, zeros({}, {.dtype = int32, .device = device})}), DTypeError);
  EXPECT_TRUE(near(mean, {0, 0}));
  EXPECT_TRUE(near(one, {1}));
}

TEST_P(BatchNormTest, AWeightOfAnotherTypeNamesTheWayOut) {
  BatchNorm1d norm(2);
  to(norm, device);
  const Tensor x = make({1, 2, 3, 4}, {2, 2}).to(float64);
  try {
    norm(x);
    FAIL();
  } catch (const DTypeError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("use nn::to(model, float64)"));
  }
  to(norm, float64);
  EXPECT_EQ(norm(x).dtype(), float64);
}

TEST_P(BatchNormTest, BackwardNoticesThatRunningStatisticsMovedOn) {
  const Tensor mean = zeros({2}, {.device = device}), w = ones({2}, {.device = device, .requires_grad = true});
  const Tensor product = sum(mean * w);
  batch_norm(make({1, 2, 3, 4}, {2, 2}), {mean, {}, {}});
  EXPECT_THROW(product.backward(), AutogradError);
}

TEST_P(BatchNormTest, MatchesPlainDoublesOnEveryLayout) {
  Generator generator(11);
  for (const auto& [n, c, l] : {std::tuple<int, int, int>{5, 3, 1}, {130, 17, 1}, {4, 3, 7}, {2, 1, 1}, {1, 5, 2}}) {
    Tensor x = empty({n, c, l}, {.dtype = float64});
    fill_normal(x, generator);
    Tensor w = empty({c}, {.dtype = float64}), b = empty({c}, {.dtype = float64});
    fill_normal(w, generator);
    fill_normal(b, generator);
    const Reference expected(values(x), n, c, l, values(w), values(b));
    const RunningStatistics running{
        zeros({c}, {.dtype = float64, .device = device}), ones({c}, {.dtype = float64, .device = device}), {}};
    const Tensor on_device = x.to(device);
    const Tensor y = batch_norm(l == 1 ? reshape(on_device, {n, c}) : on_device, running, w.to(device), b.to(device));
    EXPECT_TRUE(near(y, expected.y, 1e-12)) << n << " " << c << " " << l;
    std::vector<double> mean, var;
    for (double m : expected.means) mean.push_back(0.1 * m);
    for (double v : expected.unbiased) var.push_back(0.9 + 0.1 * v);
    EXPECT_TRUE(near(running.mean, mean, 1e-12));
    EXPECT_TRUE(near(running.var, var, 1e-12));
    // The same numbers as a transposed view.
    if (l == 1) {
      const Tensor columns = transpose(transpose(reshape(on_device, {n, c}), 0, 1).contiguous(), 0, 1);
      EXPECT_EQ(values(batch_norm(columns, {}, w.to(device), b.to(device))), values(y));
    }
  }
}

TEST_P(BatchNormTest, AConstantColumnGivesTheBiasAndALargeMeanCostsNoDigits) {
  const Tensor x = make({777.7, 60000, 777.7, 60001, 777.7, 60002, 777.7, 60003}, {4, 2});
  const Tensor y = batch_norm(x, {}, {}, make({0.5, 0}));
  EXPECT_TRUE(near(y, {0.5, -1.3416354, 0.5, -0.4472118, 0.5, 0.4472118, 0.5, 1.3416354}));
}

TEST_P(BatchNormTest, GradientsMatchCentralDifferences) {
  Generator generator(12);
  for (const Shape& shape : {Shape{6, 3}, Shape{2, 3, 4}}) {
    for (const bool training : {true, false}) {
      const auto draw = [&](const Shape& of) {
        const Tensor t = empty(of, {.dtype = float64});
        fill_normal(t, generator);
        return t.to(device);
      };
      const Tensor x = draw(shape), w = draw({3}), b = draw({3}), cotangent = draw(shape);
      const Tensor mean = draw({3}), var = square(draw({3})) + 0.5;
      const auto loss = [&](const Tensor& x, const Tensor& w, const Tensor& b) {
        return sum(batch_norm(x, {mean.clone(), var.clone(), {}}, w, b, {.training = training}) * cotangent);
      };
      const Tensor lx = leaf(x), lw = leaf(w), lb = leaf(b);
      loss(lx, lw, lb).backward();
      EXPECT_TRUE(near(lx.grad(), central_differences([&](const Tensor& t) { return loss(t, w, b); }, x), 1e-7));
      EXPECT_TRUE(near(lw.grad(), central_differences([&](const Tensor& t) { return loss(x, t, b); }, w), 1e-7));
      EXPECT_TRUE(near(lb.grad(), central_differences([&](const Tensor& t) { return loss(x, w, t); }, b), 1e-7));

      // The gradient recorded for create_graph is the same one, and its own gradient is right.
      const std::vector<Tensor> recorded = grad({loss(lx, lw, lb)}, {lx, lw, lb}, {}, {.create_graph = true});
      EXPECT_TRUE(near(recorded[0], values(lx.grad()), 1e-10));
      EXPECT_TRUE(near(recorded[1], values(lw.grad()), 1e-10));
      EXPECT_TRUE(near(recorded[2], values(lb.grad()), 1e-10));
      const Tensor probe = draw(shape);
      const auto slope = [&](const Tensor& t) {
        const Tensor at = leaf(t);
        GradMode recording(true);
        return sum(grad({loss(at, w, b)}, {at})[0].detach() * probe);
      };
      const Tensor second = grad({sum(recorded[0] * probe)}, {lx})[0];
      if (training)
        EXPECT_TRUE(near(second, central_differences(slope, x), 1e-5));
      else
        EXPECT_FALSE(second.defined());  // the output is linear in x
    }
  }
}

TEST_P(BatchNormTest, OnlyWhatIsWantedGetsAGradient) {
  const Tensor x = make({1, 2, 3, 5, 8, 13}, {3, 2}), w = leaf(make({2, 3}));
  sum(batch_norm(x, {}, w, {}) * make({1, 2, 3, 4, 5, 6}, {3, 2})).backward();
  EXPECT_FALSE(x.grad().defined());
  ASSERT_TRUE(w.grad().defined());
  const Reference plain({1, 2, 3, 5, 8, 13}, 3, 2, 1, {1, 1}, {0, 0});
  EXPECT_TRUE(near(w.grad(),
                   {plain.y[0] * 1 + plain.y[2] * 3 + plain.y[4] * 5, plain.y[1] * 2 + plain.y[3] * 4 + plain.y[5] * 6},
                   1e-5));
}

TEST_P(BatchNormTest, WrongShapesAreNamed) {
  BatchNorm1d norm(3, {.device = device});
  EXPECT_THAT(message_of<ShapeError>([&] { norm(zeros({4, 2}, {.device = device})); }), HasSubstr("float32 [4, 2]"));
  EXPECT_THROW(norm(zeros({4}, {.device = device})), ShapeError);
  EXPECT_THROW(norm(zeros({4, 3}, {.dtype = int64, .device = device})), DTypeError);
}

TEST_P(BatchNormTest, BitsAreEqualOnBothDevices) {
  Generator generator(13);
  const Tensor x = empty({129, 37}), cotangent = empty({129, 37});
  fill_normal(x, generator);
  fill_normal(cotangent, generator);
  const auto run = [&](Device where) {
    BatchNorm1d norm(37, {.device = where});
    const Tensor at = leaf(x.to(where));
    const Tensor y = norm(at);
    sum(y * cotangent.to(where)).backward();
    std::vector<float> bits;
    for (const Tensor& t :
         {y.detach(), at.grad(), norm.weight.grad(), norm.bias.grad(), norm.running_mean, norm.running_var})
      for (float value : t.to_vector<float>()) bits.push_back(value);
    return bits;
  };
  EXPECT_EQ(run(device), run(Device::cpu));
}

}  // namespace
}  // namespace tally::nn
