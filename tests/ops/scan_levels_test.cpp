// Scans of more than 1024 tiles, whose totals are scanned in tiles themselves: the third level, on every device.
#include <gtest/gtest.h>

#include <tally/ops/scan.h>
#include <tally/tests/support/devices.h>

namespace tally {
namespace {

class ScanLevels : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(ScanLevels);

TEST_P(ScanLevels, CountPastTheFirstTileOfTotals) {
  const std::int64_t n = 1026 * 1024 + 5;
  const auto counted = cumsum(ones({n}, on(uint8)), 0).to_vector<std::int64_t>();
  ASSERT_EQ(counted.size(), static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(counted[static_cast<std::size_t>(i)], i + 1);
}

}  // namespace
}  // namespace tally
