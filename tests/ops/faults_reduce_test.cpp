// Known faults of other libraries' reductions, as cases for this one. The numbers are those of the list of faults.
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/random.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/scan.h>
#include <tally/ops/softmax.h>
#include <tally/ops/view.h>
#include <tally/tests/ops/reduce_cases.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>
#include <tally/tests/support/poison.h>
#include <tally/tests/support/reference.h>

#include <cstdlib>

namespace tally {
namespace {

using test::reference::kInf;
using test::reference::kNan;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Faults : public test::OnDevice {
 protected:
  Tensor leaf(std::initializer_list<double> values, DType dtype = float32) const {
    return tensor(values, {.dtype = dtype, .device = device(), .requires_grad = true});
  }
  Tensor leaf(std::initializer_list<std::initializer_list<double>> rows, DType dtype = float32) const {
    return tensor(rows, {.dtype = dtype, .device = device(), .requires_grad = true});
  }
  std::vector<double> gradient(const Tensor& y, const Tensor& x) const {
    return grad({y}, {x}, {ones(y.shape(), on(y.dtype()))}, {.retain_graph = true})[0].to_vector<double>();
  }
};
TALLY_TEST_ON_DEVICES(Faults);

TEST_P(Faults, B1_MaxAndMinSpreadNaN) {
  const Tensor x = leaf({2, kNan, 5, -1}), all = leaf({kNan, kNan, kNan, kNan});
  for (const Tensor& t : {x, all})
    for (const Tensor& y :
         {max(t), min(t), amax(t), amin(t), max(t, 0), min(reshape(t, {1, 4}), 1), max(reshape(t, {4, 1}), 0)})
      EXPECT_TRUE(std::isnan(y.to_vector<float>()[0]));
  EXPECT_EQ(argmax(all).item<std::int64_t>(), 0);
  EXPECT_EQ(argmin(all).item<std::int64_t>(), 0);
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 1);
  EXPECT_EQ(argmin(x).item<std::int64_t>(), 1);
}

TEST_P(Faults, B3_InfinitiesAreNotTheLargestNumber) {
  for (const DType dtype : {float32, float64, float16, bfloat16})
    for (const double inf : {kInf, -kInf}) {
      const Tensor ten = full({10}, inf, on(dtype));
      for (const Tensor& y : {min(ten), max(ten), amin(ten), amax(ten)}) EXPECT_EQ(y.item<double>(), inf);
      EXPECT_EQ(argmin(ten).item<std::int64_t>(), 0);
      EXPECT_EQ(argmax(ten).item<std::int64_t>(), 0);
    }
  const Tensor up = full({10}, kInf, on()), down = full({10}, -kInf, on());
  EXPECT_EQ(min(up).item<float>(), kInf);
  EXPECT_EQ(argmin(up).item<std::int64_t>(), 0);
  EXPECT_EQ(max(down).item<float>(), -kInf);
  EXPECT_EQ(argmax(down).item<std::int64_t>(), 0);
  const auto one = max_with_index(leaf({-kInf}));
  EXPECT_EQ(one.values.item<float>(), -kInf);
  EXPECT_EQ(one.indices.item<std::int64_t>(), 0);
}

TEST_P(Faults, B4_TheFirstOfEqualMaxima) {
  const Tensor x = leaf({{1, 3, 3, 3}, {4, 4, 4, 4}, {0, 2, 1, 2}});
  EXPECT_THAT(argmax(x, 1).to_vector<std::int64_t>(), ElementsAre(1, 0, 1));
  for (const test::Layout& layout : test::layouts(x.detach()))
    EXPECT_THAT(argmax(layout.tensor, 1).to_vector<std::int64_t>(), ElementsAre(1, 0, 1)) << layout.name;
  std::vector<float> values(1'000'000);
  values[777] = values[999'000] = 1;
  const Tensor large = tensor(values, {1'000'000}, device());
  EXPECT_EQ(argmax(large).item<std::int64_t>(), 777);
  EXPECT_EQ(argmax(transpose(reshape(large, {1000, 1000}), 0, 1)).item<std::int64_t>(),
            999);  // 999,000 comes first there
}

TEST_P(Faults, B5_TiesShareNoMoreThanOneGradient) {
  const Tensor x = leaf({4, 1, 4, 4});
  EXPECT_THAT(gradient(max(x), x), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(gradient(amax(x), x), ElementsAre(1.0f / 3, 0, 1.0f / 3, 1.0f / 3));
}

TEST_P(Faults, B7_EmptyAxes) {
  const Tensor none = zeros({0}, on()), rows = zeros({3, 0}, on());
  for (const Tensor& y : {sum(none), sum(none, 0), sum(rows), sum(rows, 1)}) EXPECT_THAT(y.to_vector<float>(), Each(0));
  for (const Tensor& y : {prod(none), prod(rows, 1)}) EXPECT_THAT(y.to_vector<float>(), Each(1));
  for (const double p : {0.0, 1.0, 2.0, 3.0, double{kInf}})
    for (const Tensor& y : {norm(none, p), norm(rows, p, 1)}) EXPECT_THAT(y.to_vector<float>(), Each(0)) << p;
  for (const Tensor& y : {mean(none), mean(rows, 1), var(rows, 1)})
    for (const float value : y.to_vector<float>()) EXPECT_TRUE(std::isnan(value));
  for (const Tensor& y : {logsumexp(none), logsumexp(rows, 1)}) EXPECT_THAT(y.to_vector<float>(), Each(-kInf));
  EXPECT_FALSE(any(none).item<bool>());
  EXPECT_TRUE(all(none).item<bool>());
  EXPECT_THAT(all(rows, 1).to_vector<bool>(), Each(true));

  const auto found = max_with_index(rows, 0);
  EXPECT_THAT(found.values, HasShape({0}));
  EXPECT_THAT(found.indices, HasShape({0}));
  EXPECT_EQ(found.indices.dtype(), int64);
  for (const auto& [x, dims] : {std::pair(rows, Dims{1}), {rows, Dims{}}, {none, Dims{0}}, {none, Dims{}}})
    for (const auto& op : {+[](const Tensor&x, const Dims&d) { return max(x, d); },
                           +[](const Tensor&x, const Dims&d) { return min(x, d); },
                           +[](const Tensor&x, const Dims&d) { return amax(x, d); },
                           +[](const Tensor&x, const Dims&d) { return amin(x, d); },
                           +[](const Tensor&x, const Dims&d) { return argmax(x, d); },
                           +[](const Tensor&x, const Dims&d) { return argmin(x, d); }})
      EXPECT_THROW(op(x, dims), ShapeError);
  // Axis 0 of (3, 0): no list, so no list is empty.
  for (const Tensor& y : {sum(rows, 0), prod(rows, 0), mean(rows, 0), logsumexp(rows, 0), any(rows, 0), all(rows, 0)})
    EXPECT_THAT(y, HasShape({0}));
  // Everything.
  EXPECT_EQ(prod(rows).item<float>(), 1);
  EXPECT_TRUE(std::isnan(mean(rows).item<float>()));
  EXPECT_EQ(logsumexp(rows).item<float>(), -kInf);
  EXPECT_FALSE(any(rows).item<bool>());
  EXPECT_TRUE(all(rows).item<bool>());
  EXPECT_THAT(any(rows, 1).to_vector<bool>(), Each(false));
  try {
    max(rows, 1);
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("max"), HasSubstr("[3, 0]"), HasSubstr("faults_reduce_test.cpp")));
  }
}

TEST_P(Faults, B9_AnAxisTwiceOrMissing) {
  const Tensor x = leaf({{2, 0, 1}, {5, 4, 3}}), five = full({}, 5, on());
  EXPECT_THROW(sum(x, {0, 0}), ShapeError);
  EXPECT_THROW(sum(x, {0, -2}), ShapeError);
  EXPECT_EQ(sum(five).item<float>(), 5);
  EXPECT_THAT(sum(five), HasShape({}));
  EXPECT_THROW(sum(five, 1), IndexError);
  EXPECT_THROW(sum(five, -2), IndexError);
  EXPECT_EQ(sum(five, 0).item<float>(), 5);
  EXPECT_EQ(argmax(five, -1).item<std::int64_t>(), 0);
  for (const test::ReduceCase& op : test::reduce_cases()) {
    for (const Dims& twice : {Dims{0, 0}, Dims{0, -2}}) EXPECT_THROW(op.run(x, twice, {}), ShapeError) << op.name;
    const Tensor whole = op.run(five, {}, {});
    for (const int axis : {0, -1}) EXPECT_THAT(op.run(five, axis, {}), BitEqual(whole)) << op.name;
    for (const int axis : {1, -2}) EXPECT_THROW(op.run(five, axis, {}), IndexError) << op.name;
  }
  for (const int axis : {0, -1}) {
    EXPECT_EQ(softmax(five, axis).item<float>(), 1);
    EXPECT_EQ(cumsum(five, axis).item<float>(), 5);
  }
  for (const int axis : {1, -2}) {
    EXPECT_THROW(softmax(five, axis), IndexError);
    EXPECT_THROW(cumsum(five, axis), IndexError);
  }
}

TEST_P(Faults, B10_ColumnsOfEveryLayout) {
  const Tensor x = reshape(arange(0, 2 * 600 * 24, 1, on(float32)), {2, 600, 24});
  // No view of the library's has negative strides; one made by hand is read right all the same.
  const Tensor reversed(x.storage(), 600 * 24, x.shape(), {-600 * 24, 24, 1}, float32);
  const Tensor y = sum(reversed, 1);
  EXPECT_EQ(select(select(y, 0, 0), 0, 0).item<float>(), 12'952'800);
  EXPECT_EQ(select(select(y, 0, 1), 0, 0).item<float>(), 4'312'800);
  for (const test::Layout& layout : test::layouts(reversed))
    EXPECT_THAT(sum(layout.tensor, 1), BitEqual(y)) << layout.name;
  // Shapes for every way to walk rows and columns.
  for (const Shape& shape :
       {Shape{3, 5, 7}, {5, 1, 33}, {2, 40, 64}, {2, 1500, 3}, {3, 1100, 36}, {2, 3000, 1}, {4, 2, 1030}}) {
    const std::int64_t block = shape[1] * shape[2];
    const Tensor dense = reshape(arange(0, shape.numel(), 1, on(float32)), shape);
    const Tensor backwards(dense.storage(), (shape[0] - 1) * block, shape, {-block, shape[2], 1}, float32);
    for (const Dims& dims : {Dims{0}, Dims{1}, Dims{2}, Dims{0, 1}, Dims{0, 2}, Dims{}})
      EXPECT_THAT(sum(backwards, dims), BitEqual(sum(backwards.clone(), dims))) << to_string(shape);
  }
  const Tensor wide = expand(narrow(x, 1, 0, 1), {2, 600, 24});
  EXPECT_EQ(select(select(sum(wide, 1), 0, 1), 0, 3).item<float>(), 600 * (600 * 24 + 3));
}

TEST_P(Faults, B11_FloatSumsDoNotStopAt2To24) {
  // Down a column of three, and along a list: a float32 counter stops at 2^24.
  if (emulated()) GTEST_SKIP() << "the emulated device would take minutes";
  EXPECT_THAT(mean(ones({19'000'000, 3}, on()), 0).to_vector<float>(), Each(1));
  const Tensor many = ones({100'000'000}, on());
  EXPECT_EQ(sum(many).item<float>(), 1e8f);
  EXPECT_EQ(norm(many).item<float>(), 1e4f);
  // One element with stride 0 counts as often as it stands there.
  const Tensor column = expand(ones({1, 1}, on()), {(1 << 24) + 1000, 1});
  EXPECT_EQ(sum(column).item<float>(), (1 << 24) + 1000);
  EXPECT_EQ(sum(column, 0).item<float>(), (1 << 24) + 1000);
}

TEST_P(Faults, B13_SmallIntegersAddUpInInt64) {
  EXPECT_EQ(sum(ones({520}, on(uint8))).dtype(), int64);
  EXPECT_EQ(sum(ones({520}, on(uint8))).item<std::int64_t>(), 520);
  EXPECT_EQ(sum(ones({520}, on(boolean))).item<std::int64_t>(), 520);
  for (const DType dtype : {uint8, boolean}) {
    EXPECT_EQ(cumsum(ones({520}, on(dtype)), 0).dtype(), int64);
    EXPECT_EQ(cumsum(ones({520}, on(dtype)), 0).to_vector<std::int64_t>()[519], 520);
  }
  EXPECT_EQ(prod(full({10}, 4, on(uint8))).item<std::int64_t>(), 1 << 20);
  EXPECT_THROW(mean(ones({520}, on(uint8))), DTypeError);
  try {
    mean(ones({520}, on(int64)));
  } catch (const DTypeError& error) {
    EXPECT_THAT(error.what(), HasSubstr(".to(float32)"));
  }
}

TEST_P(Faults, B14_RunsAgreeInEveryBit) {
  Generator generator(1);
  Tensor x = empty({1'000'003}, on());
  fill_normal(x, generator);
  x.requires_grad_();
  const Tensor columns = narrow(x.detach(), 0, 0, 999'999);
  const Tensor parts = columns.clone().requires_grad_();
  const auto run = [&] {
    const Tensor total = sum(x), column_sum = sum(reshape(parts, {333'333, 3}), 0), size = norm(x), spread = var(x);
    const Tensor upstream = tensor({0.5, -1, 3}, on());
    return std::vector{total.detach(),         column_sum.detach(),
                       size.detach(),          spread.detach(),
                       grad({total}, {x})[0],  grad({size}, {x})[0],
                       grad({spread}, {x})[0], grad({column_sum}, {parts}, {upstream})[0]};
  };
  const auto first = run();
  const int before = num_threads();
  const int threads[] = {1, 2, 8};
  for (int repeat = 0; repeat < (emulated() ? 3 : 50); ++repeat) {
    set_num_threads(threads[repeat % 3]);
    const auto again = run();
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_THAT(again[i], BitEqual(first[i])) << repeat << " " << i;
  }
  set_num_threads(before);
}

TEST_P(Faults, B15_AnIndexPast2To31) {
  if (emulated() || !std::getenv("TALLY_LARGE_TESTS")) GTEST_SKIP() << "2 GB: set TALLY_LARGE_TESTS";
  const std::int64_t n = (std::int64_t{1} << 31) + 4096;
  const Tensor x = zeros({n}, on(uint8));
  select(x, 0, n - 1).fill_(1);
  EXPECT_EQ(argmax(x).item<std::int64_t>(), n - 1);
  EXPECT_EQ(sum(x).item<std::int64_t>(), 1);
  EXPECT_EQ(max(x).item<std::uint8_t>(), 1);
}

TEST_P(Faults, B17_ManyRowsAndNone) {
  const Tensor rows = zeros({70'000, 2, 3}, on()), columns = zeros({1, 2, 70'001}, on()), none = zeros({3, 0, 7}, on());
  for (const Tensor& x : {rows, columns}) {
    test::poison_like(x);
    EXPECT_THAT(softmax(x, 1).to_vector<float>(), Each(0.5f));
    EXPECT_THAT(sum(x + 1, 1).to_vector<float>(), Each(2));
  }
  EXPECT_THAT(softmax(none, 1), HasShape({3, 0, 7}));
  EXPECT_THAT(sum(none, 1), HasShape({3, 7}));
  EXPECT_THAT(sum(none, 1).to_vector<float>(), Each(0));
  EXPECT_EQ(sum(ones({1}, on())).item<float>(), 1);  // no error is left behind
  // The same number of rows, short enough to be always tested; the whole is 2^31 elements.
  EXPECT_THAT(softmax(zeros({65'537, 8}, on()), 1).to_vector<float>(), Each(0.125f));
  if (emulated() || !std::getenv("TALLY_LARGE_TESTS")) return;  // 17 GB
  const Tensor wide = softmax(expand(zeros({1, 1}, on()), {65'537, 32'768}), 1);
  EXPECT_EQ(amin(wide).item<float>(), 0x1p-15f);
  EXPECT_EQ(amax(wide).item<float>(), 0x1p-15f);
}

TEST_P(Faults, B18_ProdThroughZeros) {
  const Tensor one = leaf({3, 0, 5}), two = leaf({0, 2, 0}), rows = leaf({{2, 0}, {3, 4}});
  EXPECT_THAT(gradient(prod(one), one), ElementsAre(0, 15, 0));
  EXPECT_THAT(gradient(prod(two), two), Each(0));
  EXPECT_THAT(prod(rows, 1).to_vector<float>(), ElementsAre(0, 12));
  EXPECT_THAT(gradient(prod(rows, 1), rows), ElementsAre(0, 2, 4, 3));
}

TEST_P(Faults, B19_NormAtTheZeroVector) {
  const Tensor zero = leaf({0, 0, 0}), rows = leaf({{0, 0}, {3, 4}});
  EXPECT_EQ(norm(zero).item<float>(), 0);
  EXPECT_THAT(gradient(norm(zero), zero), Each(0));
  const Tensor y = norm(rows, 2, 1);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(0, 5));
  EXPECT_THAT(gradient(y, rows), ElementsAre(0, 0, 0.6f, 0.8f));
}

TEST_P(Faults, B22_SquaresThatLeaveTheRange) {
  const Tensor large = leaf({3e19, 4e19}), small = leaf({3e-30, 4e-30}), half = leaf({900, 1200}, float16);
  EXPECT_EQ(norm(large).item<float>(), 5e19f);
  EXPECT_FLOAT_EQ(norm(small).item<float>(), 5e-30f);
  EXPECT_EQ(norm(half).item<double>(), 1500);
  for (const Tensor& x : {large, small, half}) {
    const auto g = gradient(norm(x), x);
    EXPECT_NEAR(g[0], 0.6, x.dtype() == float16 ? 3e-4 : 1e-7);
    EXPECT_NEAR(g[1], 0.8, x.dtype() == float16 ? 3e-4 : 1e-7);
  }
  const Tensor alternating = reshape(expand(reshape(leaf({2e18, 6e18}), {1, 2}), {256, 2}), {512});
  EXPECT_FLOAT_EQ(var(alternating).item<float>(), 4e36f);
  EXPECT_FLOAT_EQ(tally::std(alternating).item<float>(), 2e18f);
  EXPECT_TRUE(std::isnan(norm(leaf({3e19, kNan})).item<float>()));
  EXPECT_EQ(norm(leaf({3e19, kInf})).item<float>(), kInf);
  EXPECT_EQ(norm(leaf({3e38, 3e38})).item<float>(), kInf);  // the true norm does not fit
}

TEST_P(Faults, B24_StdOfAConstant) {
  const Tensor same = leaf({7, 7, 7}), control = leaf({1, 2, 4}, float64);
  EXPECT_EQ(tally::std(same, {}, sample).item<float>(), 0);
  EXPECT_THAT(gradient(tally::std(same, {}, sample), same), Each(0));
  EXPECT_NEAR(tally::std(control, {}, sample).item<double>(), 1.5275252, 1e-7);
  const auto g = gradient(tally::std(control, {}, sample), control);
  EXPECT_NEAR(g[0], -0.4364358, 1e-7);
  EXPECT_NEAR(g[1], -0.1091089, 1e-7);
  EXPECT_NEAR(g[2], 0.5455447, 1e-7);
}

TEST_P(Faults, B25_VarOfLargeNumbersClose) {
  const Tensor x = leaf({20000, 20000.5, 20001, 20001.5}), y = leaf({3e8, 3e8 + 2, 3e8 + 4}, float64);
  EXPECT_EQ(var(x).item<float>(), 0.3125f);
  EXPECT_FLOAT_EQ(var(x, {}, sample).item<float>(), 0.4166667f);
  EXPECT_DOUBLE_EQ(var(y).item<double>(), 8.0 / 3);
  EXPECT_DOUBLE_EQ(var(y, {}, sample).item<double>(), 4);
}

TEST_P(Faults, B27_LogSumExpOfInfinities) {
  const Tensor none = leaf({-kInf, -kInf}), one = leaf({-kInf, 2}), up = leaf({kInf, 1});
  EXPECT_EQ(logsumexp(none).item<float>(), -kInf);
  EXPECT_THAT(gradient(logsumexp(none), none), Each(0));
  EXPECT_EQ(logsumexp(one).item<float>(), 2);
  EXPECT_THAT(gradient(logsumexp(one), one), ElementsAre(0, 1));
  EXPECT_EQ(logsumexp(up).item<float>(), kInf);
  EXPECT_THAT(gradient(logsumexp(up), up), ElementsAre(1, 0));
  EXPECT_TRUE(std::isnan(logsumexp(leaf({kNan, 1})).item<float>()));
}

TEST_P(Faults, B28_AMaskedRowStaysAlone) {
  const Tensor x = leaf({{1, 2}, {-kInf, -kInf}}, float64);
  const Tensor y = softmax(x, 1);
  const auto values = y.to_vector<double>();
  EXPECT_NEAR(values[0], 0.2689414, 1e-7);
  EXPECT_NEAR(values[1], 0.7310586, 1e-7);
  EXPECT_TRUE(std::isnan(values[2]) && std::isnan(values[3]));  // documented: NaN, that row only
  const auto of_ones = grad({y}, {x}, {tensor({{1, 1}, {0, 0}}, on(float64))}, {.retain_graph = true})[0];
  for (const int column : {0, 1}) EXPECT_NEAR(select(select(of_ones, 0, 0), 0, column).item<double>(), 0, 1e-15);
  const auto g = grad({y}, {x}, {tensor({{1, 3}, {0, 0}}, on(float64))})[0].to_vector<double>();
  // p0 (c0 - sum c p) = 0.2689414 · (1 - 2.4621172).
  EXPECT_NEAR(g[0], -0.3932239, 1e-7);
  EXPECT_NEAR(g[1], 0.3932239, 1e-7);
}

TEST_P(Faults, B29_LogSoftmaxOfLargeShifts) {
  EXPECT_THAT(log_softmax(leaf({1000, 0, -1000}), 0).to_vector<float>(), ElementsAre(0, -1000, -2000));
  for (const float value : log_softmax(leaf({5e8, 5e8, 5e8}), 0).to_vector<float>())
    EXPECT_FLOAT_EQ(value, -1.0986123f);
}

}  // namespace
}  // namespace tally
