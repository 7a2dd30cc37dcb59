// Values of the reductions, on every device: against plain loops, over layouts, dims and dtypes.
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/view.h>

#include <set>

#include <tally/tests/ops/reduce_support.h>
#include <tally/tests/support/layouts.h>
#include <tally/tests/support/lengths.h>
#include <tally/tests/support/poison.h>

namespace tally {
namespace {

using test::draw;
using test::expect_value;
using test::Reduce;
using test::reduce_cases;
using test::ReduceCase;

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

}  // namespace
}  // namespace tally
