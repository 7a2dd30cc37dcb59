// The textbook's sums: right, since something is measured against them.
#include <gtest/gtest.h>

#include <tally/core/error.h>
#include <tally/examples/support/textbook.h>
#include <tally/ops/operators.h>

namespace tally::examples {
namespace {

TEST(Textbook, BothSumsAreExactWhereEveryOrderIs) {
  // 0 + 1 + ... + n - 1, small enough for float32 to hold every partial sum.
  for (const std::int64_t n : {1, 31, 256, 257, 1000, 5000}) {
    const float expected = static_cast<float>(n * (n - 1) / 2);
    const Tensor x = arange(0, n, 1, {.dtype = float32});
    EXPECT_EQ(naive_sum(x).item<float>(), expected) << n;
    if (!is_available(cuda)) continue;
    EXPECT_EQ(naive_sum(x.to(cuda)).item<float>(), expected) << n;
    EXPECT_EQ(block_sum(x.to(cuda)).item<float>(), expected) << n;
  }
}

TEST(Textbook, TheOneThreadDrifts) {
  // 2^24 is where a float32 counter stops.
  const std::int64_t n = (1 << 24) + 1000;
  EXPECT_EQ(naive_sum(ones({n})).item<float>(), 0x1p24f);
}

TEST(Textbook, OthersThanDenseFloatsAreRefused) {
  EXPECT_THROW(naive_sum(zeros({3}, {.dtype = float64})), DTypeError);
  EXPECT_THROW(naive_sum(Tensor(zeros({6}).storage(), 0, {3}, {2}, float32)), ShapeError);
  EXPECT_THROW(block_sum(zeros({3})), DeviceError);
}

}  // namespace
}  // namespace tally::examples
