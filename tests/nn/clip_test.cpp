#include <tally/core/cuda/device.h>
#include <tally/core/error.h>
#include <tally/nn/clip.h>
#include <tally/nn/optimizer.h>
#include <tally/ops/view.h>

#include <limits>

#include "support.h"

namespace tally::nn {
namespace {

using testing::HasSubstr;
const double kInf = std::numeric_limits<double>::infinity(), kNaN = std::nan("");

class ClipTest : public OnEachDevice {
 protected:
  /// A parameter for each list of gradient values; none for an empty one.
  NamedTensors with_gradients(const std::vector<std::vector<double>>& gradients, DType dtype = float32) const {
    NamedTensors parameters;
    for (const auto& g : gradients) {
      const Tensor p = zeros({static_cast<std::int64_t>(std::max<std::size_t>(g.size(), 1))},
                             {.dtype = dtype, .device = device, .requires_grad = true});
      if (!g.empty()) p.set_grad(make(g, dtype));
      parameters.push_back({"p" + std::to_string(parameters.size()), p});
    }
    return parameters;
  }
};
TALLY_ON_EACH_DEVICE(ClipTest);

std::vector<float> gradient(const NamedTensor& parameter) { return parameter.tensor.grad().to_vector<float>(); }

TEST_P(ClipTest, TheTextbooksNumbersToTheBit) {
  NamedTensors p = with_gradients({{3, 4}});
  EXPECT_EQ(clip_grad_norm_(p, 2).item<float>(), 5);
  EXPECT_EQ(gradient(p[0]), (std::vector<float>{1.2f, 1.6f}));
  EXPECT_NEAR(clip_grad_norm_(p, 10).item<float>(), 2, 2.4e-7);
  EXPECT_EQ(gradient(p[0]), (std::vector<float>{1.2f, 1.6f}));  // under the limit: untouched

  p = with_gradients({{6, 8}});
  EXPECT_EQ(clip_grad_norm_(p, 3).item<float>(), 10);
  EXPECT_TRUE(near(p[0].tensor.grad(), {1.8, 2.4}, 1.2e-7));
}

TEST_P(ClipTest, B34SeparateGradientsAreOneVector) {
  NamedTensors p = with_gradients({{6}, {8}});
  EXPECT_EQ(clip_grad_norm_(p, 20).item<float>(), 10);
  EXPECT_EQ(gradient(p[0]), std::vector<float>{6});
  EXPECT_EQ(clip_grad_norm_(p, 5).item<float>(), 10);
  EXPECT_EQ(gradient(p[0]), std::vector<float>{3});
  EXPECT_EQ(gradient(p[1]), std::vector<float>{4});
}

TEST_P(ClipTest, B31HugeGradientsDoNotOverflow) {
  NamedTensors p = with_gradients({std::vector<double>(64, 2e20)});
  EXPECT_NEAR(clip_grad_norm_(p, 4).item<double>() / 1.6e21, 1, 1e-6);
  EXPECT_TRUE(near(p[0].tensor.grad(), std::vector<double>(64, 0.5)));
  // Their norm is beyond float32, they are not.
  p = with_gradients({std::vector<double>(64, 2e38)});
  EXPECT_EQ(clip_grad_norm_(p, 4).item<double>(), kInf);
  EXPECT_TRUE(near(p[0].tensor.grad(), std::vector<double>(64, 0.5)));
}

TEST_P(ClipTest, B31ANormThatIsNotFiniteThrowsAndChangesNothing) {
  for (const auto& [bad, good] : {std::pair{kNaN, 3.0}, std::pair{kInf, 1.0}}) {
    const NamedTensors p = with_gradients({{good}, {bad}});
    const std::string text = message_of<ValueError>([&] { clip_grad_norm_(p, 1).item<double>(); });
    EXPECT_THAT(text, HasSubstr("p1"));
    EXPECT_TRUE(near(p[0].tensor.grad(), {good}));
    EXPECT_TRUE(near(p[1].tensor.grad(), {bad}));

    EXPECT_TRUE(near(clip_grad_norm_(p, 1, 2, NonFinite::skip), {bad}));
    EXPECT_TRUE(near(p[0].tensor.grad(), {good}));
    EXPECT_TRUE(near(p[1].tensor.grad(), {bad}));
  }
}

TEST_P(ClipTest, AfterSuchANormNoOptimizerMovesUntilItIsSeen) {
  const NamedTensors p = with_gradients({{3}, {kNaN}});
  SGD sgd(p, 1);
  EXPECT_THROW(
      {
        clip_grad_norm_(p, 1);
        sgd.step();
        p[0].tensor.item<double>();
      },
      ValueError);
  EXPECT_TRUE(near(p[0].tensor, {0}));
}

TEST_P(ClipTest, NoGradientsHaveNorm0) {
  EXPECT_EQ(clip_grad_norm_({}, 1).item<double>(), 0);
  EXPECT_EQ(clip_grad_norm_(with_gradients({{}, {}}), 1).item<double>(), 0);
}

TEST_P(ClipTest, OtherOrders) {
  NamedTensors p = with_gradients({{1, -2}, {}, {3}});
  EXPECT_EQ(clip_grad_norm_(p, 3, 1).item<float>(), 6);
  EXPECT_EQ(gradient(p[0]), (std::vector<float>{0.5, -1}));
  EXPECT_EQ(gradient(p[2]), std::vector<float>{1.5});
  p = with_gradients({{1, -2}, {4}});
  EXPECT_EQ(clip_grad_norm_(p, 1, kInf).item<float>(), 4);
  EXPECT_EQ(gradient(p[0]), (std::vector<float>{0.25, -0.5}));
  p = with_gradients({{1, -2}, {}, {2}}, float64);
  EXPECT_NEAR(clip_grad_norm_(p, 100, 3).item<double>(), std::cbrt(17), 1e-14);
  EXPECT_THROW(clip_grad_norm_(p, 1, 0), ValueError);
  EXPECT_THAT(message_of<ValueError>([&] { clip_grad_norm_(p, -1); }),
              testing::HasSubstr("max_norm is -1; it has to be 0 or more"));
}

/// (sum of squares of one list, in its order): for at most 128 elements the tree of neighbours.
float tree(std::vector<float> terms) {
  while (terms.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i + 1 < terms.size(); i += 2) next.push_back(terms[i] + terms[i + 1]);
    if (terms.size() % 2) next.push_back(terms.back());
    terms = next;
  }
  return terms[0];
}

TEST_P(ClipTest, TensorsCombineAsATreeOverTheListWhereAbsentOnesKeepTheirPlace) {
  Generator generator(9);
  std::vector<std::vector<double>> gradients;
  std::vector<float> sums;
  for (int i = 0; i < 11; ++i) {
    gradients.emplace_back();
    sums.push_back(0);
    if (i == 2 || i == 3 || i == 8) continue;
    const Tensor g = empty({20 + i});
    fill_normal(g, generator);
    gradients.back() = values(g);
    std::vector<float> squares;
    for (float x : g.to_vector<float>()) squares.push_back(x * x);
    sums.back() = tree(squares);
  }
  const NamedTensors p = with_gradients(gradients);
  const float norm = std::sqrt(tree(sums));
  EXPECT_EQ(clip_grad_norm_(p, 0.7).item<float>(), norm);
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t k = 0; k < gradients[i].size(); ++k)
      EXPECT_EQ(gradient(p[i])[k], static_cast<float>(gradients[i][k]) * (0.7f / norm));
}

TEST_P(ClipTest, AViewAsGradientIsMadeDense) {
  const NamedTensors p = with_gradients({{0, 0}});
  p[0].tensor.set_grad(expand(make({3}, {1}), {2}));
  EXPECT_TRUE(near(clip_grad_norm_(p, 1), {std::sqrt(18)}));
  EXPECT_TRUE(near(p[0].tensor.grad(), {std::sqrt(0.5), std::sqrt(0.5)}));
}

TEST_P(ClipTest, MixedGradientsAreRefused) {
  NamedTensors p = with_gradients({{1}});
  p.push_back(with_gradients({{1}}, float64)[0]);
  EXPECT_THROW(clip_grad_norm_(p, 1), DTypeError);
}

/// Lengths about a tile and a block, two of several blocks in one launch, and more arrays than one launch takes.
TEST_P(ClipTest, EachArrayIsOneListInTheDocumentedOrder) {
  Generator generator(11);
  NamedTensors p;
  std::vector<float> sums;
  for (std::int64_t i = 0; i < 310; ++i) {
    const std::int64_t length = i == 7       ? 150'000
                                : i == 9     ? 100'000
                                : i == 160   ? 8 * 1024 * 2 + 3
                                : i % 5 == 0 ? 1020 + i % 11
                                             : 1 + i % 9;
    Tensor g = empty({length});
    fill_normal(g, generator);
    const float norm_of_one = norm(g).item<float>();
    sums.push_back(norm_of_one);
    p.push_back({"p" + std::to_string(i), zeros({length}, {.device = device, .requires_grad = true})});
    p.back().tensor.set_grad(g.to(device));
  }
  float largest = 0;
  for (const NamedTensor& one : p) largest = std::max(largest, norm(one.tensor.grad(), kInf).item<float>());
  EXPECT_EQ(clip_grad_norm_(p, 1e9, kInf).item<float>(), largest);
  // A single array: the norm is that of the reduction, bit for bit.
  for (std::size_t i : {0, 7, 9, 160, 309})
    EXPECT_EQ(clip_grad_norm_({p[i]}, 1e9).item<float>(), sums[i]) << "array " << i;
  // All of them: in float64 from the norms of each.
  double squares = 0;
  for (float one : sums) squares += static_cast<double>(one) * one;
  EXPECT_NEAR(clip_grad_norm_(p, 1e9).item<double>() / std::sqrt(squares), 1, 1e-6);
}

TEST_P(ClipTest, BothDevicesGiveTheSameBits) {
  if (device == cpu) GTEST_SKIP() << "compared from the other device's test";
  for (const DType dtype : {float32, float64, float16, bfloat16})
    for (const double order : {1.0, 2.0, 2.5, kInf}) {
      Generator generator(12);
      NamedTensors here, there;
      for (std::int64_t i = 0; i < 170; ++i) {
        Tensor g = empty({i == 3 ? 70'001 : 1 + 37 * i});
        fill_normal(g, generator);
        g = g.to(dtype);
        const auto add = [&](NamedTensors& to, Device where) {
          to.push_back({"p", zeros(g.shape(), {.dtype = dtype, .device = where, .requires_grad = true})});
          if (i % 7 != 2) to.back().tensor.set_grad(g.to(where));
        };
        add(here, cpu);
        add(there, device);
      }
      const Tensor a = clip_grad_norm_(here, 1, order), b = clip_grad_norm_(there, 1, order);
      EXPECT_EQ(a.item<double>(), b.item<double>()) << name_of(dtype) << " order " << order;
      for (std::size_t i = 0; i < here.size(); ++i)
        if (here[i].tensor.grad().defined()) {
          EXPECT_EQ(values(here[i].tensor.grad()), values(there[i].tensor.grad())) << name_of(dtype) << ", array " << i;
        }
    }
}

TEST_P(ClipTest, AGradientOffTheAlignmentOfVectors) {
  Generator generator(13);
  const Tensor row = empty({5000});
  fill_normal(row, generator);
  const NamedTensors p = {{"p", zeros({4999}, {.device = device, .requires_grad = true})}};
  const Tensor off = slice(row.to(device), 0, 1, 5000);
  p[0].tensor.set_grad(off);
  EXPECT_EQ(clip_grad_norm_(p, 1e9).item<float>(), norm(slice(row, 0, 1, 5000)).item<float>());
}

#if defined(TALLY_WITH_CUDA)
TEST_P(ClipTest, B35TwoHundredGradientsWaitForNothing) {
  if (device != Device::cuda) GTEST_SKIP() << "the CPU has nothing to wait for";
  const NamedTensors p = with_gradients(std::vector<std::vector<double>>(200, {1}));
  clip_grad_norm_(p, 1);  // allocates
  Tensor norm;
  gpu::Graph graph = gpu::capture([&] { norm = clip_grad_norm_(p, 1); });  // waiting inside throws
  graph.replay();
  EXPECT_NEAR(norm.item<double>(), 1, 1e-6);
}
#endif

TEST_P(ClipTest, ValuesAreCut) {
  const NamedTensors p = with_gradients({{-3, 0.5, kNaN}, {}, {kInf}});
  clip_grad_value_(p, 1);
  EXPECT_TRUE(near(p[0].tensor.grad(), {-1, 0.5, kNaN}));
  EXPECT_TRUE(near(p[2].tensor.grad(), {1}));
}

}  // namespace
}  // namespace tally::nn
