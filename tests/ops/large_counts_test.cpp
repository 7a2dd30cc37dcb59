// Counts and integer sums past what 24 and 32 bits hold.
#include <gtest/gtest.h>

#include <tally/ops/reduce.h>
#include <tally/ops/view.h>
#include <tally/tests/support/devices.h>

namespace tally {
namespace {

class LargeCounts : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(LargeCounts);

TEST_P(LargeCounts, IntegersAddUpIn64Bits) {
  const std::int64_t large = (std::int64_t{1} << 31) - 1;
  const std::vector<std::int64_t> list(1500, large);
  EXPECT_EQ(sum(tensor(list, {1500}, device())).item<std::int64_t>(), 1500 * large);
  EXPECT_EQ(sum(tensor(list, {1500}, device()).to(int32)).item<std::int64_t>(), 1500 * large);
  EXPECT_EQ(prod(tensor(std::vector<std::int64_t>{large, 3, -5}, {3}, device())).item<std::int64_t>(), -15 * large);
}

// A float32 cannot hold 2^24 + 3. The emulated device would take its time.
TEST(LargeCount, IsExactPast2To24) {
  const std::int64_t n = (1 << 24) + 3;
  const Tensor many = expand(ones({1}, {.dtype = float32}), {n});
  EXPECT_EQ(count_nonzero(many).item<std::int64_t>(), n);
  EXPECT_TRUE(all(many).item<bool>());
}

}  // namespace
}  // namespace tally
