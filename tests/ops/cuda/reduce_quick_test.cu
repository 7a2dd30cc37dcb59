// The quick units (ops/cuda/reduce_quick.cuh) against the ops themselves on the same kernels: the same bits, whatever
// the values and wherever a quick unit gives up.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <tally/core/cuda/device.h>
#include <tally/ops/reductions.h>
#include <tally/ops/cuda/reduce.cuh>

namespace tally {

// The library has these.
namespace cuda_loops {
#define TALLY_IN_LIBRARY(Op) \
  extern template void reduce<Op, float>(const Op&, const Lists&, const float*, const Results<Op, float>&);
TALLY_IN_LIBRARY(Norm2)
TALLY_IN_LIBRARY(Var)
TALLY_IN_LIBRARY(Prod)
TALLY_IN_LIBRARY(Max)
TALLY_IN_LIBRARY(AMax)
TALLY_IN_LIBRARY(LogSumExp)
#undef TALLY_IN_LIBRARY
}  // namespace cuda_loops

namespace {

// The op under a name for which there is no quick unit.
template <class Op> struct Plain : Op {};

enum class Values { ordinary, awkward, mostly_ordinary, tiny, subnormal_squares, small_integers, there_and_back };
constexpr Values kValues[] = {Values::ordinary,          Values::awkward,        Values::mostly_ordinary, Values::tiny,
                              Values::subnormal_squares, Values::small_integers, Values::there_and_back};

std::vector<float> draw(std::int64_t count, Values values) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // Those of the first line leave a sum finite.
  const float awkward[] = {0,         -0.0f,      1e-40f, -1e-40f, 1e-30f, 1e-9f, 1e-12f, 0x1p-58f,
                           kInfinity, -kInfinity, NAN,    3e38f,   -3e38f, 1e18f, 1,      1};
  std::mt19937 engine(static_cast<unsigned>(count));
  std::normal_distribution<float> normal(0.5f, 2);
  // Exponents along a lane of a row: a product that is subnormal for a while, and ordinary in the end.
  const int exponents[] = {0, -70, -70, 60, 75, 2, 0, -1};
  std::vector<float> drawn(static_cast<std::size_t>(count));
  for (float& x : drawn) {
    x = normal(engine);
    if (values == Values::awkward && engine() % 100 < 3) x = awkward[engine() % 16];
    if (values == Values::mostly_ordinary && engine() % 1000 < 2) x = awkward[engine() % 8];
    if (values == Values::tiny) x *= 1e-25f;  // squares that float has not
    if (values == Values::subnormal_squares) x *= 1e-21f;
    if (values == Values::small_integers) x = std::trunc(x);
    if (values == Values::there_and_back) {
      const float significand = 1 + 0x1p-24f * static_cast<float>(engine() >> 8);
      x = std::ldexp(significand, exponents[(&x - drawn.data()) / kLanes % kPerLane]);
    }
  }
  return drawn;
}

template <class Op> class ReduceQuick : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::available()) GTEST_SKIP() << gpu::describe();
  }
  template <class AnyOp> static std::vector<float> reduce(const Lists& lists, const Tensor& x) {
    const Tensor y = empty({lists.outputs()}, {.device = Device::cuda});
    Results<AnyOp, float> out;
    out.first = y.data<float>();
    cuda_loops::reduce<AnyOp, float>({}, lists, x.data<float>(), out);
    return y.to_vector<float>();
  }
  static void check(std::int64_t lists, std::int64_t n, bool columns, Values values) {
    columns ? check_slices(1, n, lists, values) : check_slices(lists, n, 1, values);
  }
  // The middle dim of slices x n x inner.
  static void check_slices(std::int64_t slices, std::int64_t n, std::int64_t inner, Values values) {
    const std::int64_t count = slices * n * inner;
    const Tensor x = tensor(draw(count, values), Shape{count}, Device::cuda);
    const Shape kept{slices, inner}, kept_stride{n * inner, 1}, reduced{n}, stride{inner};
    const Lists walk{Strided<1>(kept, {&kept_stride}), Strided<1>(reduced, {&stride})};
    const std::vector<float> quick = reduce<Op>(walk, x), exact = reduce<Plain<Op>>(walk, x);
    for (std::size_t o = 0; o < quick.size(); ++o)
      ASSERT_TRUE(math::bit_cast<std::uint32_t>(quick[o]) == math::bit_cast<std::uint32_t>(exact[o]) ||
                  (std::isnan(quick[o]) && std::isnan(exact[o])))
          << Op::name << " of list " << o << " of " << slices << "x" << n << "x" << inner << " ("
          << static_cast<int>(values) << "): " << quick[o] << ", not " << exact[o];
  }
};

using QuickOps = testing::Types<Norm2, Var, Prod, Max, AMax, LogSumExp>;
TYPED_TEST_SUITE(ReduceQuick, QuickOps);

TYPED_TEST(ReduceQuick, HasTheBitsOfTheOpItself) {
  for (const Values values : kValues)
    for (const std::int64_t n :
         {1, 3, 4, 8, 32, 100, 128, 129, 256, 500, 512, 1000, 1024, 1025, 2048, 7 * 1024 + 36, 19 * 1024})
      for (const std::int64_t lists : {1, 3, 40})
        if (lists * n <= 50000)
          for (const bool columns : {false, true}) this->check(lists, n, columns, values);
  for (const Values values : kValues)
    for (const std::int64_t n : {4, 8, 33, 100, 130, 1000, 2050}) {
      this->check_slices(7, n, 5, values);
      this->check_slices(1, n, 67, values);
      this->check_slices(n < 40 ? 150 : 2, n, 3, values);
    }
}

// Merged with 0 of a elements, 1 of b has a mean of b / (a + b): the weight itself.
__global__ void merge_one_with_none(const int* a, const int* b, int count, float* mean) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) mean[i] = cuda_loops::QuickVar::merge(Var(), {a[i], 0, 0}, {b[i], 1, 0}).mean;
}

TEST(ReduceQuickVar, WeightsAreQuotientsRoundedOnce) {
  if (!gpu::available()) GTEST_SKIP() << gpu::describe();
  std::vector<std::int32_t> a, b;
  for (int n = 1; n <= 512; ++n)
    for (int m = 1; m <= 512; ++m) a.push_back(n), b.push_back(m);
  std::mt19937 engine(3);
  for (int i = 0; i < 1 << 19; ++i)
    a.push_back(1 + static_cast<int>(engine() >> (2 + engine() % 29))),
        b.push_back(1 + static_cast<int>(engine() >> (2 + engine() % 29)));
  const auto count = static_cast<std::int64_t>(a.size());
  const Tensor of_a = tensor(a, Shape{count}, Device::cuda), of_b = tensor(b, Shape{count}, Device::cuda);
  const Tensor mean = empty({count}, {.device = Device::cuda});
  gpu::launch(merge_one_with_none, {(count + 255) / 256, 256, 0, "merge_one_with_none"}, of_a.data<std::int32_t>(),
              of_b.data<std::int32_t>(), static_cast<int>(count), mean.data<float>());
  const std::vector<float> got = mean.to_vector<float>();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], static_cast<float>(b[i]) / static_cast<float>(a[i] + b[i])) << a[i] << " and " << b[i];
}

// Whether exp of x[i] is math's, to the bit.
__global__ void compare_exp(const float* x, int count, int* same) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const std::uint32_t wanted = math::to_bits(math::exp(x[i]));
  std::uint32_t all = ~0u;
  const bool watched_same = math::to_bits(cuda_loops::watched_exp(x[i], all)) == wanted;
  same[i] = math::to_bits(cuda_loops::exp_of_at_most_0(x[i])) == wanted &&
            (x[i] < -80 || math::to_bits(cuda_loops::raised_exp<0>(x[i])) == wanted) &&
            (cuda_loops::all_normal(all) ? watched_same : x[i] < -80);
}

TEST(ReduceQuickExp, IsMathsOwn) {
  if (!gpu::available()) GTEST_SKIP() << gpu::describe();
  std::vector<float> x = {0.0f, -0.0f, -1e-45f, -103.9f, -104, -105, -106, -1e30f, -INFINITY};
  std::mt19937 engine(5);
  for (int i = 0; i < 1 << 18; ++i) {
    const float any = math::bit_cast<float>(static_cast<std::uint32_t>(engine() | 0x80000000u));
    if (any == any) x.push_back(any);
    x.push_back(-static_cast<float>(engine() >> 8) * 0x1p-24f * 110);
  }
  for (int k = 0; k < 152; ++k) {  // where the power of two changes
    float near = -static_cast<float>((k + 0.5) * std::log(2.0));
    for (int i = 0; i < 20; ++i) near = std::nextafter(near, 0.0f);
    for (int i = 0; i < 40; ++i) x.push_back(near = std::nextafter(near, -200.0f));
  }
  const auto count = static_cast<std::int64_t>(x.size());
  const Tensor on_device = tensor(x, Shape{count}, Device::cuda);
  const Tensor same = empty({count}, {.dtype = int32, .device = Device::cuda});
  gpu::launch(compare_exp, {(count + 255) / 256, 256, 0, "compare_exp"}, on_device.data<float>(),
              static_cast<int>(count), same.data<std::int32_t>());
  const std::vector<std::int32_t> good = same.to_vector<std::int32_t>();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(good[i]) << std::hexfloat << x[i];
}

}  // namespace
}  // namespace tally
