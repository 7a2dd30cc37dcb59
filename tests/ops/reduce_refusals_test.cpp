// Reductions of nothing and of too little, and what they refuse.
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>

#include <tally/tests/ops/reduce_support.h>
#include <tally/tests/support/poison.h>

namespace tally {
namespace {

using test::expect_value;
using test::Reduce;
using test::reduce_cases;
using test::ReduceCase;
using test::reference::kNan;
using ::testing::HasSubstr;

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
