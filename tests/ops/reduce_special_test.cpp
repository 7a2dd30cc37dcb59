// Reductions of values apart: ties, NaN, infinities, zeros of both signs, and what leaves the range on the way.
#include <tally/autograd/gtest.h>
#include <tally/core/random.h>
#include <tally/ops/cpu/isa.h>
#include <tally/ops/operators.h>
#include <tally/ops/scan.h>
#include <tally/ops/view.h>

#include <tally/tests/ops/reduce_support.h>
#include <tally/tests/support/lengths.h>

namespace tally {
namespace {

using test::Reduce;
using test::reduce_cases;
using test::ReduceCase;
using test::reference::kInf;
using test::reference::kNan;
using ::testing::Each;

TEST_P(Reduce, TheFirstOfManyTiesAtEveryEdgeLength) {
  // Three values only: the extreme stands in many lanes and tiles at once, and the earliest is seldom in the first.
  for (const DType dtype : {float32, float64, int64, uint8})
    for (const std::int64_t n : test::edge_lengths()) {
      Generator generator(14);
      Tensor uniform = empty({3, n}, {.dtype = float64});
      fill_uniform(uniform, generator);
      const Tensor x = (uniform * 3).to(uint8).to(dtype).to(device());
      const auto lists = test::reference::lists_of(x.to_vector<double>(), x.shape(), {false, true});
      for (const ReduceCase& op : reduce_cases()) {
        if (!op.exact || (op.floats_only && !is_floating(dtype))) continue;
        const auto values = op.run(x, 1, {}).to_vector<double>();
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(values[i], op.value(lists[i])) << op.name << " " << n;
      }
    }
  // Index 1 is in lane 1, index 128 again in lane 0: the index decides, not the lane.
  Tensor x = zeros({1025}, on());
  for (const std::int64_t i : {1, 128, 1024}) select(x, 0, i).fill_(1);
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 1);
  EXPECT_EQ(argmin(-x).item<std::int64_t>(), 1);
}

TEST_P(Reduce, SpecialValues) {
  const auto of = [&](std::initializer_list<double> values) { return tensor(values, on()); };
  for (const ReduceCase& op : reduce_cases()) {
    if (op.name == "argmax" || op.name == "argmin" || op.name == "count_nonzero" || op.name == "any" ||
        op.name == "all" || op.name == "norm of order 0")
      continue;
    EXPECT_TRUE(std::isnan(op.run(of({1, kNan, 2}), {}, {}).item<float>())) << op.name << " of NaN";
    EXPECT_TRUE(std::isnan(op.run(of({kNan, 0}), {}, {}).item<float>())) << op.name << " of NaN first";
  }
  EXPECT_EQ(sum(of({kInf, 1})).item<float>(), kInf);
  EXPECT_TRUE(std::isnan(sum(of({kInf, -kInf})).item<float>()));
  EXPECT_EQ(norm(of({-kInf, 1})).item<float>(), kInf);
  EXPECT_TRUE(std::isnan(var(of({kInf, 1})).item<float>()));
  EXPECT_TRUE(std::isnan(prod(of({kInf, 0})).item<float>()));
  EXPECT_EQ(logsumexp(of({-kInf, 3})).item<float>(), 3);
  EXPECT_EQ(count_nonzero(of({kNan, 0, -0.0, 2})).item<std::int64_t>(), 2);

  // Signs of zero.
  const auto sign = [](const Tensor& y) { return std::signbit(y.item<float>()); };
  EXPECT_TRUE(sign(sum(of({-0.0, -0.0}))));
  EXPECT_FALSE(sign(sum(of({-0.0, 0.0}))));
  EXPECT_FALSE(sign(sum(zeros({0}, on()))));
  EXPECT_FALSE(sign(amax(of({-0.0, 0.0, -0.0}))));
  EXPECT_TRUE(sign(amin(of({0.0, -0.0, 0.0}))));
  EXPECT_TRUE(sign(max(of({-0.0, 0.0}))));  // the first that compares equal
  EXPECT_FALSE(sign(min(of({0.0, -0.0}))));
  EXPECT_EQ(argmax(of({-0.0, 0.0})).item<std::int64_t>(), 0);
  EXPECT_TRUE(sign(prod(of({-0.0, 2}))));
  EXPECT_FALSE(sign(prod(of({-0.0, -2}))));

  // Subnormals are numbers.
  EXPECT_EQ(sum(of({0x1p-149, 0x1p-149})).item<float>(), 0x1p-148f);
  EXPECT_EQ(norm(of({3 * 0x1p-149, 4 * 0x1p-149})).item<float>(), 5 * 0x1p-149f);
  EXPECT_EQ(amax(of({-1, 0x1p-149})).item<float>(), 0x1p-149f);
}

TEST_P(Reduce, ProdWithAZeroAmongFactorsThatLeaveTheRange) {
  for (const DType dtype : {float32, float64}) {
    const double big = dtype == float32 ? 1e30 : 1e300, tiny = 1 / big;
    const auto of = [&](const std::vector<double>& list) {
      const Tensor x = tensor(list).to(dtype).to(device());
      const double last = cumprod(x, 0).to_vector<double>().back(), value = prod(x).item<double>();
      EXPECT_TRUE(std::isnan(value) ? std::isnan(last) : value == last && std::signbit(value) == std::signbit(last));
      return value;
    };
    const auto expect_zero = [&](const std::vector<double>& list, bool negative) {
      const double value = of(list);
      EXPECT_EQ(value, 0) << name_of(dtype) << " " << list[0] << " ... " << list.back();
      EXPECT_EQ(std::signbit(value), negative) << name_of(dtype) << " " << list[0] << " ... " << list.back();
    };
    expect_zero({big, big, 0}, false);
    expect_zero({0, big, big}, false);
    expect_zero({big, -big, 0}, true);
    expect_zero({big, big, -0.0}, true);
    expect_zero({-big, big, 0, -0.0}, false);
    expect_zero({tiny, tiny, tiny, 0}, false);
    expect_zero({tiny, -tiny, tiny, 0}, true);
    expect_zero({big, big, tiny, tiny, tiny, -0.0}, true);
    std::vector<double> list(3000, big);
    list[2100] = 0;
    expect_zero(list, false);
    list[5] = -tiny;
    expect_zero(list, true);
    list[7] = kInf;
    EXPECT_TRUE(std::isnan(of(list)));
    EXPECT_TRUE(std::isnan(of({kInf, tiny, tiny, 0})));
    EXPECT_TRUE(std::isnan(of({0, -kInf})));
    EXPECT_TRUE(std::isnan(of({kNan, 0})));
  }
}

// A list alone, as a row of many, and as a column of as many, on every instruction set: of whatever loop, the bits of
// the order.
template <class Op> void expect_of_list(const Op& op, const Tensor& list, double expected) {
  const std::int64_t n = list.size(0);
  const Tensor rows = expand(list, {40, n}).contiguous(), columns = transpose(rows, 0, 1).contiguous();
  const detail::Isa best = detail::isa();
  for (const detail::Isa isa : detail::available_isas()) {
    detail::set_isa(isa);
    const int which = static_cast<int>(isa);
    EXPECT_EQ(op(list, Dims{0}).template item<double>(), expected) << "alone, " << which;
    EXPECT_THAT(op(rows, Dims{1}).template to_vector<double>(), Each(expected)) << "among rows, " << which;
    EXPECT_THAT(op(columns, Dims{0}).template to_vector<double>(), Each(expected)) << "among columns, " << which;
  }
  detail::set_isa(best);
}

// The first two factors' product is half an ulp below the least normal number: it rounds up to it, though with an
// unbounded exponent it would not.
TEST_P(Reduce, ProdThatComesUpToTheLeastNormalNumberOnTheWay) {
  const auto times = [](const Tensor& x, const Dims& dims) { return prod(x, dims); };
  for (const std::int64_t n : {3, 100, 1024, 2048}) {
    std::vector<double> list(static_cast<std::size_t>(n), 1);
    const std::size_t second = n > 128 ? 128 : 1, third = 2 * second;  // of one lane where there is more than one
    list[0] = 4095 * 0x1p-75, list[second] = 4097 * 0x1p-75, list[third] = 0x1p100;
    expect_of_list(times, tensor(list).to(float32).to(device()), 0x1.fffffep-27);
    list[0] = 441650591 * 0x1p-538, list[second] = 20394401 * 0x1p-537, list[third] = 0x1p1000;
    expect_of_list(times, tensor(list).to(device()), 0x1.fffffffffffffp-23);
  }
}

// All are below 2^-30, so no square of the lane may be rounded as a subnormal number; its sum is above 2^-60.
TEST_P(Reduce, NormOfALaneWhoseSquaresUnderflow) {
  std::vector<double> list(1024);
  const double lane[] = {0x1.000004p-67,  0x1p-55,        -0x1p-43,       -0x1.522018p-31,
                         -0x1.13924ap-31, 0x1.fc8012p-31, 0x1.31d9d8p-31, 0x1.c0f17ap-31};
  for (std::size_t j = 0; j < 8; ++j) list[128 * j] = lane[j];
  const auto length = [](const Tensor& x, const Dims& dims) { return norm(x, 2, dims); };
  expect_of_list(length, tensor(list).to(float32).to(device()), 0x1.af4232p-30);
}

}  // namespace
}  // namespace tally
