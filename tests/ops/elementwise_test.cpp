// map and zip with a user's own structs, and how the CPU's blocks and threads must not show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/random.h>
#include <tally/ops/elementwise.h>
#include <tally/ops/operators.h>
#include <tally/ops/unary.h>

namespace tally {
namespace {

using ::testing::ElementsAre;

struct Cube {
  static constexpr auto name = "cube";
  template <class C> TALLY_HD C f(C x) const { return x * x * x; }
  template <class C> TALLY_HD C df(C x) const { return 3 * x * x; }
};

/// Written so that the derivative takes tensors too.
struct SmoothCube : Cube {
  static constexpr auto curvature = Curvature::recorded;
  template <class C> TALLY_HD C df(const C& x) const { return 3 * x * x; }
};

struct Hypotenuse {
  static constexpr auto name = "hypotenuse";
  template <class C> TALLY_HD C f(C a, C b) const { return math::sqrt(a * a + b * b); }
  template <class C> TALLY_HD C da(C a, C b) const { return a / f(a, b); }
  template <class C> TALLY_HD C db(C a, C b) const { return b / f(a, b); }
};

struct Plain {
  static constexpr auto name = "plain";
  double factor;
  template <class C> TALLY_HD C f(C x) const { return x * static_cast<C>(factor); }
};

TEST(Map, UsersOwnOp) {
  EXPECT_THAT(map(Cube{}, tensor({1.0, -2.0, 3.0})).to_vector<float>(), ElementsAre(1, -8, 27));
  EXPECT_THAT([](const Tensor& x) { return map(Cube{}, x); }, PassesGradCheck(tensor(std::vector<double>{0.5, -1, 2})));
  EXPECT_EQ(map(Cube{}, ones({2}, {.dtype = int64})).dtype(), float32);
  EXPECT_EQ(map(Plain{2.5}, ones({})).item<double>(), 2.5);
}

TEST(Map, SecondDerivatives) {
  const Tensor x = tensor(std::vector<double>{0.5, -1, 2});
  EXPECT_THAT([](const Tensor& x) { return map(SmoothCube{}, x); }, PassesGradGradCheck(x));
  x.requires_grad_();
  try {
    grad({map(Cube{}, x)}, {x}, {ones({3}, {.dtype = float64})}, {.create_graph = true});
    FAIL();
  } catch (const AutogradError& error) {
    EXPECT_EQ(error.op(), "cube");
    EXPECT_EQ(error.where().line, __LINE__ - 4);
  }
}

TEST(Map, WithoutDerivative) {
  const Tensor x = ones({2}, {.requires_grad = true});
  const Tensor y = map(Plain{2}, x);
  EXPECT_THROW(y.backward(ones({2})), AutogradError);
}

#if !defined(TALLY_SIMT)  // there every file is compiled for both devices
TEST(Map, OnCudaNeedsACudaFile) {
  if (!is_available(Device::cuda)) GTEST_SKIP() << "no CUDA device";
  EXPECT_THROW(map(Cube{}, ones({2}, {.device = Device::cuda})), DeviceError);
}
#endif

TEST(Zip, UsersOwnOp) {
  EXPECT_THAT(zip(Hypotenuse{}, tensor({3.0, 5.0}), tensor({4.0, 12.0})).to_vector<float>(), ElementsAre(5, 13));
  EXPECT_THAT(zip(Hypotenuse{}, tensor({3.0}), 4).to_vector<float>(), ElementsAre(5));
  const Tensor a = tensor(std::vector<double>{1, 2, 3}), b = tensor(std::vector<double>{2, 0.5}, {2, 1});
  EXPECT_THAT([](const Tensor& a, const Tensor& b) { return zip(Hypotenuse{}, a, b); }, PassesGradCheck(a, b));
  EXPECT_THROW(zip(Hypotenuse{}, 3, 4), ShapeError);
}

TEST(Elementwise, ThreadsAndBlocksChangeNoBit) {
  const int before = num_threads();
  Tensor expected[2];
  for (int threads : {1, 3, 8}) {
    set_num_threads(threads);
    Generator generator(7);
    const Tensor x = empty({70001});
    fill_normal(x, generator);
    const Tensor results[] = {exp(x) * x, tanh(x.to(float16))};
    for (int i = 0; i < 2; ++i) {
      if (!expected[i].defined()) expected[i] = results[i];
      EXPECT_THAT(results[i], BitEqual(expected[i])) << threads << " threads";
    }
  }
  set_num_threads(before);
  // Each element alone gives the same as in its block.
  Generator generator(7);
  const Tensor x = empty({70001});
  fill_normal(x, generator);
  const auto values = expected[0].to_vector<float>();
  for (std::int64_t i = 0; i < 70001; i += 487) {
    const Tensor one(x.storage(), i, {1}, {1}, float32);
    ASSERT_EQ((exp(one) * one).item<float>(), values[static_cast<std::size_t>(i)]) << i;
  }
}

}  // namespace
}  // namespace tally
