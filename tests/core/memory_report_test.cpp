#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <thread>
#include <vector>

#include <tally/core/cpu_cache.h>
#include <tally/core/error.h>
#include <tally/core/memory.h>
#include <tally/core/tensor.h>

#include "../support/devices.h"

namespace tally {
namespace {

class MemoryReports : public test::OnDevice {
 protected:
  MemoryReport report() const { return memory_report(device()); }
};
TALLY_TEST_ON_DEVICES(MemoryReports);

TEST_P(MemoryReports, CountWhatIsAliveAndTheMostThatWas) {
  constexpr std::int64_t kElements = 1 << 20;  // 4 MiB, a size class of its own
  constexpr std::size_t kBytes = 4 * kElements;
  reset_peak_memory(device());
  const MemoryReport before = report();
  EXPECT_EQ(before.peak_bytes, before.live_bytes);
  {
    const Tensor one = zeros({kElements}, on());
    { const Tensor two = zeros({kElements}, on()); }
    EXPECT_EQ(report().live_bytes, before.live_bytes + kBytes);
    EXPECT_GE(report().allocations, before.allocations + 2);
  }
  EXPECT_EQ(report().live_bytes, before.live_bytes);
  EXPECT_EQ(report().peak_bytes, before.live_bytes + 2 * kBytes);
  reset_peak_memory(device());
  EXPECT_EQ(report().peak_bytes, before.live_bytes);
  EXPECT_EQ(report().device, device());
}

TEST_P(MemoryReports, CountAViewAndAHandleNotAtAll) {
  const Tensor x = zeros({64}, on());
  const MemoryReport before = report();
  const Tensor handle = x, alias = x.detach();
  EXPECT_EQ(report().live_bytes, before.live_bytes);
  EXPECT_EQ(report().allocations, before.allocations);
}

TEST_P(MemoryReports, CountTheCache) {
  if (!detail::kKeepsBlocks && device() == Device::cpu) GTEST_SKIP() << "freed blocks stay freed";
  { const Tensor x = zeros({1 << 20}, on()); }
  const MemoryReport freed = report();
  EXPECT_GE(freed.cached_bytes, 4u << 20);
  const Tensor again = zeros({1 << 20}, on());
  EXPECT_EQ(report().cache_hits, freed.cache_hits + 1);
  EXPECT_EQ(report().cached_bytes, freed.cached_bytes - (4u << 20));
}

TEST(MemoryReport, TheCpuKeepsNoMoreThanItSays) {
  for (const std::int64_t mebibytes : {100, 99, 57, 200, 300})
    const auto storage = Storage::allocate(static_cast<std::size_t>(mebibytes) << 20, Device::cpu);
  EXPECT_LE(memory_report().cached_bytes, 256u << 20);
  detail::empty_cpu_cache();
  EXPECT_EQ(memory_report().cached_bytes, 0u);
}

TEST(MemoryReport, BlocksOfOneClassServeEachOther) {
  if (!detail::kKeepsBlocks) GTEST_SKIP() << "freed blocks stay freed";
  for (const std::size_t bytes : {std::size_t{65536}, std::size_t{100'000}, std::size_t{1} << 20}) {
    std::byte* data = nullptr;
    {
      const auto storage = Storage::allocate(bytes + 1, Device::cpu);
      data = storage->data();
      std::fill_n(data, bytes + 1, std::byte{1});
    }
    const auto larger = Storage::allocate(bytes + bytes / 16, Device::cpu);
    EXPECT_EQ(larger->data(), data);
    std::fill_n(larger->data(), larger->bytes(), std::byte{2});
    const auto other = Storage::allocate(bytes + bytes / 16, Device::cpu);
    EXPECT_NE(other->data(), data);
  }
}

TEST(MemoryReport, OfAMissingDeviceIsAnError) {
  if (kHasCuda) GTEST_SKIP() << "this build has CUDA";
  EXPECT_THROW(memory_report(Device::cuda), DeviceError);
  EXPECT_THROW(reset_peak_memory(Device::cuda), DeviceError);
}

TEST(MemoryReport, LeavesBorrowedMemoryToItsOwner) {
  const MemoryReport before = memory_report();
  std::vector<float> values(1000);
  const auto storage = Storage::borrow(values.data(), 4000, Device::cpu, {});
  EXPECT_EQ(memory_report().live_bytes, before.live_bytes);
}

TEST(MemoryReport, SurvivesThreads) {
  const MemoryReport before = memory_report();
  reset_peak_memory();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) const auto storage = Storage::allocate(1024, Device::cpu);
    });
  for (std::thread& thread : threads) thread.join();
  const MemoryReport after = memory_report();
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.allocations, before.allocations + 2000);
  EXPECT_GE(after.peak_bytes, before.live_bytes + 1024);
  EXPECT_LE(after.peak_bytes, before.live_bytes + 4 * 1024);
}

TEST(MemoryReport, ReadsAsOneLine) {
  EXPECT_EQ(to_string(MemoryReport{Device::cpu, 1000, 0, 1536, 3, 0}),
            "cpu: 1000 bytes live, 0 bytes cached, 1.5 KiB at the peak, 3 allocations, 0 of them from the cache");
  std::ostringstream text;
  text << MemoryReport{Device::cuda, 3u << 20, 200u << 10, std::size_t{5} << 30, 12, 7};
  EXPECT_EQ(text.str(),
            "cuda: 3 MiB live, 200 KiB cached, 5 GiB at the peak, 12 allocations, 7 of them from the cache");
}

}  // namespace
}  // namespace tally
