// Ops on rows: CPU and CUDA agree bit for bit, forward and backward, whatever the layout and the values, and no element
// is left unwritten. What the numbers are is tested elsewhere, on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/cuda/device.h>
#include <tally/nn/normalization.h>
#include <tally/ops/cuda/row_plan.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/row_backend.h>
#include <tally/ops/softmax.h>
#include <tally/ops/view.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>
#include <tally/tests/support/poison.h>

namespace tally {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr DType kFloats[] = {float32, float64, float16, bfloat16};

enum class Values { ordinary, masked, spread, tiny, awkward };

Tensor draw(const Shape& shape, DType dtype, Values values, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0.5, 2);
  std::uniform_int_distribution<int> any(0, 999);
  const double awkward[] = {0, -0.0, 1e-40, -1e-40, 3e38, -3e38, kInfinity, -kInfinity, std::nan("")};
  std::vector<double> drawn(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    double& x = drawn[i];
    x = normal(engine);
    if (values == Values::masked && (i / 7) % 3 != 1) x = -kInfinity;
    if (values == Values::spread) x *= 40;
    if (values == Values::tiny) x *= 1e-33;
    if (values == Values::awkward && any(engine) < 40) x = awkward[any(engine) % 9];
  }
  return reshape(tensor(drawn), shape).to(dtype);
}

struct Op {
  std::string name;
  std::function<Tensor(const Tensor&)> f;
};
std::ostream& operator<<(std::ostream& out, const Op& op) { return out << op.name; }
std::vector<Op> ops() {
  const auto norm = [](const Tensor& x) { return layer_norm(x, {x.size(-1)}); };
  const auto scaled = [](const Tensor& x) {
    const Tensor weight = reshape(arange(x.size(-1)), {x.size(-1)}).to(float32).to(x.device()) / 64 - 1;
    return layer_norm(x, {x.size(-1)}, {.weight = weight, .bias = weight * 3, .eps = 1e-3});
  };
  return {{"softmax", [](const Tensor& x) { return softmax(x, -1); }},
          {"log_softmax", [](const Tensor& x) { return log_softmax(x, -1); }},
          {"layer_norm", norm},
          {"layer_norm with weight and bias", scaled}};
}

struct Both {
  Tensor value, gradient;
};
Both run(const Op& op, const Tensor& x, const Tensor& cotangent) {
  const Tensor leaf = x.detach();
  leaf.requires_grad_();
  test::poison_like(x);
  const Tensor y = op.f(leaf);
  test::poison_like(x);
  y.backward(cotangent);
  return {y.detach().to(cpu), leaf.grad().to(cpu)};
}

void expect_same(const Op& op, const Tensor& on_cpu, const Tensor& on_cuda, const std::string& where) {
  const Tensor cotangent = draw(on_cpu.shape(), on_cpu.dtype(), Values::ordinary, 2);
  const Both expected = run(op, on_cpu, cotangent), actual = run(op, on_cuda, cotangent.to(cuda));
  EXPECT_THAT(actual.value, BitEqual(expected.value)) << op.name << ", " << where;
  EXPECT_THAT(actual.gradient, BitEqual(expected.gradient)) << "gradient of " << op.name << ", " << where;
}

class RowOps : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_available(cuda)) GTEST_SKIP() << "no CUDA device on this machine";
  }
};

class RowOpsOf : public RowOps, public testing::WithParamInterface<Op> {};
INSTANTIATE_TEST_SUITE_P(, RowOpsOf, testing::ValuesIn(ops()), test::CaseName());

// Lengths at which the kernels change how they share a row: threads a row, elements a lane, tiles, rounds, odd rows.
TEST_P(RowOpsOf, EveryLength) {
  const std::int64_t lengths[] = {1,   2,   3,   4,   5,   8,    17,   28,   32,   33,   96,   127,  128,  129,  200,
                                  255, 256, 257, 260, 512, 1000, 1021, 1024, 1025, 1028, 2047, 2048, 3072, 4100, 5001};
  for (const DType dtype : kFloats)
    for (const std::int64_t n : lengths) {
      const Tensor x = draw({n > 300 ? 3 : 37, n}, dtype, Values::ordinary);
      expect_same(GetParam(), x, x.to(cuda), std::to_string(n) + " " + name_of(dtype));
    }
}

// The tests of this file would pass without the kernels too.
TEST_F(RowOps, AreTaken) {
  for (const std::int64_t n : {1, 33, 1000, 3000, 50'000}) {
    const Tensor x = zeros({2, n}, {.device = cuda}), y = zeros({2, n}, {.device = cuda});
    const RowCall call{.inputs = {x}, .out = y, .shape = {2, n}};
    EXPECT_TRUE(on(cuda, [&](auto backend) { return map_rows(backend, rows::Softmax{}, call); }));
    EXPECT_EQ(y.to_vector<float>(), std::vector<float>(static_cast<std::size_t>(2 * n), 1 / static_cast<float>(n)));
  }
}

TEST_F(RowOps, RowsOfManyRounds) {
  for (const Op& op : ops())
    for (const std::int64_t n : {std::int64_t{16 * 1024 + 3}, std::int64_t{33 * 1024}, std::int64_t{70'001}}) {
      const Tensor x = draw({1, n}, float32, Values::ordinary);
      expect_same(op, x, x.to(cuda), std::to_string(n));
    }
}

#if defined(TALLY_WITH_CUDA)
// More rows than a device has multiprocessors, each too long for two to share one: a block has several in turn, and of
// odd length each begins differently.
TEST_F(RowOps, LongRowsInTurn) {
  const std::int64_t rows = cuda_loops::row_device().multiprocessors + 3;
  for (const Op& op : ops())
    for (const std::int64_t n : {29 * 1024 - 2, 28 * 1024 + 129}) {
      const Tensor x = draw({rows, n}, float32, Values::ordinary);
      expect_same(op, x, x.to(cuda), std::to_string(n));
    }
}
#endif

TEST_P(RowOpsOf, EveryKindOfValue) {
  for (const DType dtype : kFloats)
    for (const Values values : {Values::masked, Values::spread, Values::tiny, Values::awkward})
      for (const std::int64_t n : {24, 100, 132, 1000, 2500, 2501}) {
        const Tensor x = draw({20, n}, dtype, values);
        expect_same(GetParam(), x, x.to(cuda),
                    std::to_string(n) + " " + name_of(dtype) + ", values " + std::to_string(int(values)));
      }
}

TEST_F(RowOps, EveryLayout) {
  for (const Op& op : ops())
    for (const Shape& shape : {Shape{5, 64}, Shape{2, 3, 132}, Shape{3, 2048}})
      for (const test::Layout& layout : test::layouts(draw(shape, float32, Values::ordinary).to(cuda)))
        expect_same(op, draw(shape, float32, Values::ordinary), layout.tensor, layout.name);
}

TEST_F(RowOps, RowsWithRoomBetween) {
  const Tensor x = draw({6, 96}, float32, Values::ordinary), on_cuda = x.to(cuda);
  for (const std::int64_t room : {96, 97, 128})
    for (const Op& op : ops())
      expect_same(op, x, test::placed(on_cuda, {room, 1}, 4, room * 6 + 4), "rows " + std::to_string(room) + " apart");
  for (const Op& op : ops()) expect_same(op, x, test::placed(on_cuda, {96, 1}, 0, 6 * 96), "dense");
}

// Masked scores are not an exception that costs the row's kernel its speed only: the rows beside them keep their bits.
TEST_F(RowOps, AFullyMaskedRowIsNaNAlone) {
  std::vector<float> scores(4 * 40, 1);
  for (std::size_t i = 40; i < 80; ++i) scores[i] = -std::numeric_limits<float>::infinity();
  const auto y = softmax(reshape(tensor(scores), {4, 40}).to(cuda), 1).to_vector<float>();
  for (std::size_t i = 0; i < y.size(); ++i)
    if (i / 40 == 1)
      EXPECT_TRUE(std::isnan(y[i]));
    else
      EXPECT_EQ(y[i], 1.0f / 40);
}

// Columns are no rows, and a layer_norm that is recorded is composed on the CPU: both go op by op.
TEST(RowOpsOnCpu, AreWhatTheyAreComposedOf) {
  for (const DType dtype : kFloats)
    for (const Values values : {Values::ordinary, Values::masked, Values::spread, Values::tiny, Values::awkward})
      for (const std::int64_t n : {1, 3, 16, 17, 64, 100, 257, 1000, 1024, 1025, 5001}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::to_string(n) + ", values " + std::to_string(int(values)));
        const Tensor x = draw({n > 300 ? 3 : 37, n}, dtype, values), columns = transpose(x, 0, 1);
        EXPECT_THAT(softmax(x, 1), BitEqual(transpose(softmax(columns, 0), 0, 1)));
        EXPECT_THAT(log_softmax(x, 1), BitEqual(transpose(log_softmax(columns, 0), 0, 1)));
        for (const Op& op : {ops()[2], ops()[3]}) {
          const Tensor leaf = x.detach();
          leaf.requires_grad_();
          EXPECT_THAT(op.f(x), BitEqual(op.f(leaf).detach())) << op.name;
        }
      }
}

TEST(RowOpsOnCpu, AreTaken) {
  const Tensor x = zeros({3, 40}), y = zeros({3, 40});
  EXPECT_TRUE(map_rows(Cpu{}, rows::Softmax{}, {.inputs = {x}, .out = y, .shape = {3, 40}}));
  EXPECT_THAT(y.to_vector<float>(), testing::Each(1 / 40.0f));
}

TEST(RowShapes, WhichTensorsAreRows) {
  const auto rows = [](const Tensor& x, const Shape& kept) { return rows_of({x}, kept); };
  const Tensor x = zeros({2, 3, 8});
  ASSERT_TRUE(rows(x, {2, 3, 1}));
  EXPECT_EQ(rows(x, {2, 3, 1})->rows, 6);
  EXPECT_EQ(rows(x, {2, 3, 1})->n, 8);
  EXPECT_EQ(rows(x, {2, 1, 1})->n, 24);
  EXPECT_EQ(rows(x, {1, 1, 1})->n, 48);
  EXPECT_FALSE(rows(x, {2, 1, 8}));  // a middle dim
  EXPECT_FALSE(rows(x, {1, 3, 1}));  // not the last dims
  EXPECT_FALSE(rows(test::transposed(x).tensor, {2, 3, 1}));
  EXPECT_FALSE(rows(test::sliced(x).tensor, {2, 3, 1}));
  EXPECT_TRUE(rows(test::misaligned(x).tensor, {2, 3, 1}));
  const Tensor apart = test::placed(zeros({4, 8}), {11, 1}, 0, 44);
  EXPECT_EQ(row_step(apart, *rows(apart, {4, 1})), 11);
  EXPECT_EQ(row_step(x, *rows(x, {2, 3, 1})), 8);
  EXPECT_EQ(rows(zeros({5, 1}), {5, 1})->rows, 5);
}

}  // namespace
}  // namespace tally
