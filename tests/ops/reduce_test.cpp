// Values of the reductions, on every device: against plain loops, over layouts, dims and dtypes; and the order, against
// a program of its own.
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/random.h>
#include <tally/ops/cpu/isa.h>
#include <tally/ops/operators.h>
#include <tally/ops/scan.h>
#include <tally/ops/view.h>

#include <set>

#include <tally/tests/ops/reduce_cases.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>
#include <tally/tests/support/lengths.h>
#include <tally/tests/support/order.h>
#include <tally/tests/support/poison.h>

namespace tally {
namespace {

using test::reduce_cases;
using test::ReduceCase;
using test::reference::kInf;
using test::reference::kNan;
using test::reference::List;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-53;
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

double smallest(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-1074;
    case DType::float16:
      return 0x1p-24;
    case DType::bfloat16:
      return 0x1p-133;
    default:
      return 0x1p-149;
  }
}

// Draws as a test sees fit: floats without ties (where the dtype has room), small integers with zeros.
Tensor draw(const Shape& shape, DType dtype, Device device, std::uint64_t seed) {
  Generator generator(seed);
  Tensor x = empty(shape, {.dtype = float64});
  fill_normal(x, generator);
  if (!is_floating(dtype)) x = x * 2;
  if (dtype == boolean) x = x.to(int64);
  return x.to(dtype).to(device);
}

void expect_value(const ReduceCase& op, DType dtype, const List& list, double actual, const std::string& where) {
  const double expected = op.value(list);
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << op.name << where << ": " << actual;
    return;
  }
  if (op.exact || !is_floating(dtype)) {
    EXPECT_EQ(actual, expected) << op.name << where;
    return;
  }
  // Halves are computed in float32 and rounded once more; any result may land among its dtype's subnormals.
  const bool half = size_of(dtype) == 2;
  const double inner = half ? unit_roundoff(float32) : unit_roundoff(dtype);
  const double tolerance =
      24 * inner * op.spread(list) + (half ? 1.01 * unit_roundoff(dtype) * std::abs(expected) : 0) + smallest(dtype);
  if (std::isinf(expected))
    EXPECT_EQ(actual, expected) << op.name << where;
  else
    EXPECT_NEAR(actual, expected, tolerance) << op.name << where << " of " << list.size() << " " << name_of(dtype);
}

class Reduce : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Reduce);

class ReduceOf : public test::OnDeviceWith<DType> {};
TALLY_TEST_ON_DEVICES_WITH(ReduceOf,
                           ::testing::Values(float32, float64, float16, bfloat16, int64, int32, uint8, boolean));

TEST(ReduceCases, CoverTheListOfReductions) {
  std::set<std::size_t> covered;
  for (const ReduceCase& op : reduce_cases()) covered.insert(op.alternative);
  EXPECT_EQ(covered.size(), std::variant_size_v<Reduction>);
}

TEST_P(ReduceOf, EveryLayoutAndSubsetOfDims) {
  const Shape shape{2, 3, 4};
  const DType dtype = which();
  const Tensor x = draw(shape, dtype, device(), 1);
  for (const test::Layout& layout : test::layouts(x))
    for (unsigned mask = 1; mask < 8; ++mask) {
      std::vector<std::int64_t> dims;
      std::vector<bool> reduced;
      Shape kept, kept_dims;
      for (int d = 0; d < 3; ++d) {
        reduced.push_back(mask >> d & 1);
        if (reduced.back())
          dims.push_back(d % 2 ? d : d - 3);  // also counted from the end
        else
          kept.push_back(shape[d]);
        kept_dims.push_back(reduced.back() ? 1 : shape[d]);
      }
      const auto lists = test::reference::lists_of(x.to_vector<double>(), shape, reduced);
      for (const ReduceCase& op : reduce_cases()) {
        if (op.floats_only && !is_floating(dtype)) {
          EXPECT_THROW(op.run(x, dims, {}), DTypeError) << op.name;
          continue;
        }
        const std::string where = " " + layout.name + " mask " + std::to_string(mask);
        const Tensor y = op.run(layout.tensor, dims, {}), wide = op.run(layout.tensor, dims, keepdim);
        ASSERT_THAT(y, HasShape(kept)) << op.name << where;
        ASSERT_THAT(wide, HasShape(kept_dims)) << op.name << where;
        ASSERT_EQ(y.device(), device());
        const auto values = y.to_vector<double>(), same = wide.to_vector<double>();
        for (std::size_t i = 0; i < values.size(); ++i) {
          expect_value(op, dtype, lists[i], values[i], where);
          EXPECT_TRUE(values[i] == same[i] || std::isnan(values[i])) << op.name << where;
        }
      }
    }
}

TEST_P(Reduce, EveryEdgeLengthOfRowsAndColumns) {
  for (const std::int64_t n : test::edge_lengths()) {
    const Tensor rows = draw({3, n}, float32, device(), 2), columns = transpose(rows, 0, 1).contiguous();
    const auto lists = test::reference::lists_of(rows.to_vector<double>(), rows.shape(), {false, true});
    for (const ReduceCase& op : reduce_cases()) {
      test::poison(3 * sizeof(float), device());
      const Tensor y = op.run(rows, 1, {});
      EXPECT_THAT(op.run(columns, 0, {}), BitEqual(y)) << op.name << " " << n;
      const auto values = y.to_vector<double>();
      for (std::size_t i = 0; i < 3; ++i) expect_value(op, float32, lists[i], values[i], "");
    }
  }
}

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

TEST_P(Reduce, ResultDtypes) {
  const Tensor bytes = ones({3}, on(uint8)), flags = ones({3}, on(boolean)), halves = ones({3}, on(float16));
  EXPECT_EQ(sum(bytes).dtype(), int64);
  EXPECT_EQ(prod(flags).dtype(), int64);
  EXPECT_EQ(max(bytes).dtype(), uint8);
  EXPECT_EQ(max(flags).dtype(), boolean);
  EXPECT_EQ(argmax(halves).dtype(), int64);
  EXPECT_EQ(any(halves).dtype(), boolean);
  EXPECT_EQ(count_nonzero(halves).dtype(), int64);
  EXPECT_EQ(sum(halves).dtype(), float16);
  EXPECT_EQ(var(halves).dtype(), float16);
}

TEST_P(Reduce, ZeroDims) {
  const Tensor five = full({}, 5, on());
  for (const Dims& dims : {Dims{}, Dims{0}, Dims{-1}}) {
    EXPECT_THAT(sum(five, dims), HasShape({}));
    EXPECT_EQ(sum(five, dims).item<float>(), 5);
    EXPECT_EQ(argmax(five, dims).item<std::int64_t>(), 0);
    EXPECT_EQ(norm(five, 2, dims).item<float>(), 5);
    EXPECT_EQ(var(five, dims).item<float>(), 0);
  }
}

TEST_P(Reduce, StridesOfZeroAreReducedElementByElement) {
  const Tensor x = draw({5}, float32, device(), 3);
  const Tensor wide = test::repeated(x, 1500), dense = wide.clone();
  for (const ReduceCase& op : reduce_cases())
    for (const Dims& dims : {Dims{0}, Dims{1}, Dims{}})
      EXPECT_THAT(op.run(wide, dims, {}), BitEqual(op.run(dense, dims, {}))) << op.name;
}

// --- Bits depend on the values alone -------------------------------------------------------------------------------

TEST_P(Reduce, ARowHasTheSameBitsAloneInABatchTransposedAndSliced) {
  for (const std::int64_t n : {5, 100, 1500, 5000}) {
    const Tensor x = draw({3, n}, float32, device(), 4);
    for (const ReduceCase& op : reduce_cases()) {
      const Tensor batch = op.run(x, 1, {});
      for (const test::Layout& layout : test::layouts(x))
        EXPECT_THAT(op.run(layout.tensor, 1, {}), BitEqual(batch)) << op.name << " " << layout.name;
      for (std::int64_t row = 0; row < 3; ++row)
        EXPECT_THAT(op.run(select(x, 0, row), {}, {}), BitEqual(select(batch, 0, row))) << op.name << " " << n;
    }
  }
}

TEST_P(Reduce, TheListIsRowMajorWhateverLiesBetween) {
  // Dims 0 and 2 of [6, 5, 7] make the list that a dense copy of them makes.
  const Tensor x = draw({6, 5, 70}, float32, device(), 5);
  const Tensor lists = permute(x, {1, 0, 2}).contiguous();
  for (const ReduceCase& op : reduce_cases())
    EXPECT_THAT(op.run(x, {0, 2}, {}), BitEqual(op.run(reshape(lists, {5, 420}), 1, {}))) << op.name;
}

TEST(ReduceThreads, ChangeNoBit) {
  const int before = num_threads();
  for (const Shape& shape : {Shape{70'003}, Shape{300, 200}, Shape{3, 20'001}, Shape{20'001, 3}}) {
    const Tensor x = draw(shape, float32, cpu, 6).requires_grad_();
    for (const ReduceCase& op : reduce_cases())
      for (const std::int64_t dim : {0, x.dim() - 1}) {
        const auto run = [&](int threads) {
          set_num_threads(threads);
          const Tensor y = op.run(x, dim, {});
          std::vector<Tensor> both{y.detach()};
          if (op.gradient) both.push_back(grad({y}, {x}, {ones(y.shape(), {.dtype = y.dtype()})})[0]);
          return both;
        };
        const auto one = run(1);
        for (const int threads : {2, 8}) {
          const auto more = run(threads);
          for (std::size_t i = 0; i < one.size(); ++i)
            EXPECT_THAT(more[i], BitEqual(one[i])) << op.name << " " << threads;
        }
      }
  }
  set_num_threads(before);
}

TEST(ReduceDevices, CpuAndCudaGiveTheSameBits) {
  if (!is_available(Device::cuda)) GTEST_SKIP() << "no CUDA device to compare with";
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, uint8})
    for (const Shape& shape : {Shape{5, 1000}, Shape{1031, 3}, Shape{2, 3, 130}}) {
      const Tensor here = draw(shape, dtype, cpu, 12), there = here.to(Device::cuda);
      for (const ReduceCase& op : reduce_cases()) {
        if (op.floats_only && !is_floating(dtype)) continue;
        const bool gradient = op.gradient && is_floating(dtype);
        for (const Dims& dims : {Dims{}, Dims{0}, Dims{-1}}) {
          const auto run = [&](const Tensor& x) {
            const Tensor leaf = gradient ? x.detach().requires_grad_() : x;
            std::vector<Tensor> both{op.run(leaf, dims, {})};
            if (gradient) both.push_back(grad({both[0]}, {leaf}, {draw(both[0].shape(), dtype, x.device(), 13)})[0]);
            return both;
          };
          const auto a = run(here), b = run(there);
          for (std::size_t i = 0; i < a.size(); ++i)
            EXPECT_THAT(b[i].detach(), BitEqual(a[i].detach()))
                << op.name << (i ? " gradient " : " value ") << name_of(dtype) << " " << to_string(shape);
        }
      }
    }
}

// --- The order, against a program of its own -----------------------------------------------------------------------

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

// --- Several results, special values, errors -----------------------------------------------------------------------

TEST_P(Reduce, PairsGiveWhatTheSinglesGive) {
  const Tensor x = draw({4, 1300}, float32, device(), 11);
  for (const Dims& dims : {Dims{0}, Dims{1}, Dims{}}) {
    EXPECT_THAT(max_with_index(x, dims).values, BitEqual(max(x, dims)));
    EXPECT_THAT(max_with_index(x, dims).indices, BitEqual(argmax(x, dims)));
    EXPECT_THAT(min_with_index(x, dims).values, BitEqual(min(x, dims)));
    EXPECT_THAT(min_with_index(x, dims).indices, BitEqual(argmin(x, dims)));
    EXPECT_THAT(var_mean(x, dims, sample).var, BitEqual(var(x, dims, sample)));
    EXPECT_THAT(var_mean(x, dims).mean, AllClose(mean(x, dims), 1e-5, 1e-6));
  }
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

TEST_P(Reduce, NothingToReduce) {
  for (const DType dtype : {float32, float64, float16}) {
    const Tensor none = zeros({3, 0}, on(dtype));
    for (const ReduceCase& op : reduce_cases()) {
      if (op.needs_elements) {
        try {
          op.run(none, 1, {});
          ADD_FAILURE() << op.name;
        } catch (const ShapeError& error) {
          EXPECT_THAT(error.what(), HasSubstr("[3, 0]"));
          EXPECT_THAT(error.what(), HasSubstr("reduce_"));  // the caller's file
        }
        EXPECT_THROW(op.run(none, {}, {}), ShapeError) << op.name;
      } else {
        test::poison(3 * size_of(dtype), device());
        const auto values = op.run(none, 1, {}).to_vector<double>();
        ASSERT_EQ(values.size(), 3u);
        for (const double value : values) expect_value(op, dtype, {}, value, " of nothing");
      }
      EXPECT_THAT(op.run(none, 0, {}), HasShape({0})) << op.name;  // no list, so no list is empty
      EXPECT_THAT(op.run(none, 0, keepdim), HasShape({1, 0})) << op.name;
    }
  }
}

TEST_P(Reduce, BadDimsAreRefused) {
  const Tensor x = zeros({2, 3}, on());
  for (const ReduceCase& op : reduce_cases()) {
    EXPECT_THROW(op.run(x, 2, {}), IndexError) << op.name;
    EXPECT_THROW(op.run(x, -3, {}), IndexError) << op.name;
    EXPECT_THROW(op.run(x, {0, 0}, {}), ShapeError) << op.name;
    EXPECT_THROW(op.run(x, {1, -1}, {}), ShapeError) << op.name;
    EXPECT_THROW(op.run(Tensor(), {}, {}), ShapeError) << op.name;
  }
  EXPECT_THROW(norm(x, kNan), ValueError);
}

TEST_P(Reduce, TooFewElementsForTheCorrection) {
  const Tensor x = tensor({1.0, 2.0}, on());
  for (const double c : {2.0, 2.5, 7.0}) {
    EXPECT_TRUE(std::isnan(var(x, {}, Correction(c)).item<float>()));
    EXPECT_TRUE(std::isnan(tally::std(x, {}, Correction(c)).item<float>()));
  }
  EXPECT_EQ(var(x, {}, Correction(-2)).item<float>(), 0.125f);
}

}  // namespace
}  // namespace tally
