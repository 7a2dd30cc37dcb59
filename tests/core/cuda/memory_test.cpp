#include <tally/core/cuda/memory.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tally/core/cuda/device.h>
#include <tally/core/error.h>

namespace tally::gpu {
namespace {

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    if (!available()) GTEST_SKIP() << describe();
    empty_cache();
    before_ = memory_stats();
  }
  void TearDown() override { EXPECT_EQ(memory_stats().live_bytes, before_.live_bytes); }
  MemoryStats before_;
};

TEST_F(Memory, NothingIsNull) {
  EXPECT_EQ(allocate(0), nullptr);
  deallocate(nullptr, 0);
  EXPECT_EQ(memory_stats().allocations, before_.allocations);
}

TEST_F(Memory, FreedMemoryIsHandedOutAgain) {
  void* first = allocate(5000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 256, 0u);
  const std::size_t size = memory_stats().live_bytes - before_.live_bytes;
  EXPECT_GE(size, 5000u);
  EXPECT_LE(size, 5000u + 5000 / 8 + 512);
  deallocate(first, 5000);
  EXPECT_EQ(memory_stats().cached_bytes - before_.cached_bytes, size);
  void* second = allocate(5000);
  EXPECT_EQ(second, first);
  void* third = allocate(5000);
  EXPECT_NE(third, first);
  const MemoryStats stats = memory_stats();
  EXPECT_EQ(stats.allocations - before_.allocations, 3);
  EXPECT_EQ(stats.cache_hits - before_.cache_hits, 1);
  EXPECT_EQ(stats.cached_bytes, before_.cached_bytes);
  EXPECT_EQ(stats.live_bytes - before_.live_bytes, 2 * size);
  deallocate(second, 5000);
  deallocate(third, 5000);
  empty_cache();
  EXPECT_EQ(memory_stats().cached_bytes, before_.cached_bytes);
}

TEST_F(Memory, PeakIsTheMostThatWasLive) {
  reset_peak();
  const std::size_t start = memory_stats().peak_bytes;
  void* a = allocate(4096);
  void* b = allocate(4096);
  deallocate(a, 4096);
  deallocate(b, 4096);
  EXPECT_EQ(memory_stats().peak_bytes - start, 8192u);
  reset_peak();
  EXPECT_EQ(memory_stats().peak_bytes, start);
}

TEST_F(Memory, TooMuchIsATypedErrorAndTheDeviceStaysUsable) {
  const std::size_t gigabyte = std::size_t{1} << 30;
  void* cached = allocate(1 << 20);
  deallocate(cached, 1 << 20);
  EXPECT_THROW(allocate(1024 * gigabyte), OutOfMemoryError);
  EXPECT_EQ(memory_stats().live_bytes, before_.live_bytes);
  EXPECT_EQ(memory_stats().cached_bytes, before_.cached_bytes) << "the cache was to be given back";
  void* some = allocate(1024);
  fill_bytes(some, 7, 1024);
  unsigned char last = 0;
  copy_to_host(&last, static_cast<char*>(some) + 1023, 1);
  EXPECT_EQ(last, 7);
  deallocate(some, 1024);
}

#if defined(TALLY_SIMT)
TEST_F(Memory, TheCacheMakesRoomForAnotherSize) {  // the emulated device has 1024 MiB unless told otherwise
  const std::size_t most = std::size_t{600} << 20;
  deallocate(allocate(most), most);
  EXPECT_EQ(memory_stats().cached_bytes, most);
  void* other = allocate(most + 1);  // both do not fit
  EXPECT_EQ(memory_stats().cached_bytes, 0u);
  deallocate(other, most + 1);
  empty_cache();
}
#endif

TEST_F(Memory, TheNthAllocationFails) {
  fail_allocation(3);
  void* a = allocate(100);
  void* b = allocate(100);
  EXPECT_THROW(allocate(100), OutOfMemoryError);
  void* c = allocate(100);
  for (void* p : {a, b, c}) deallocate(p, 100);
  fail_allocation(1);
  fail_allocation(0);
  deallocate(allocate(100), 100);
}

TEST_F(Memory, FreshMemoryIsPoisonedOnRequest) {
  poison_allocations(true);
  for (int repeat = 0; repeat < 2; ++repeat) {
    float* numbers = static_cast<float*>(allocate(40));
    float host[10];
    copy_to_host(host, numbers, 40);
    for (float number : host) EXPECT_NE(number, number);
    fill_bytes(numbers, 0, 40);
    deallocate(numbers, 40);
  }
  poison_allocations(false);
}

TEST_F(Memory, SeveralThreads) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned char id = 1; id <= 4; ++id)
    threads.emplace_back([id, &wrong] {
      for (int round = 0; round < 200; ++round) {
        const std::size_t bytes = 64 + 64 * (round % 5);
        void* memory = allocate(bytes);
        fill_bytes(memory, id, bytes);
        std::vector<unsigned char> host(bytes);
        copy_to_host(host.data(), memory, bytes);
        for (unsigned char byte : host) wrong += byte != id;
        deallocate(memory, bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Memory, EachStreamReusesItsOwn) {
  void* first = allocate(3000);
  deallocate(first, 3000);
  {
    Stream stream;
    StreamScope scope(stream);
    void* other = allocate(3000);
    EXPECT_NE(other, first) << "the library's stream may still use it";
    deallocate(other, 3000);
    void* again = allocate(3000);
    EXPECT_EQ(again, other);
    deallocate(again, 3000);
  }
  empty_cache();
  EXPECT_EQ(memory_stats().cached_bytes, before_.cached_bytes) << "a stream's memory outlives it";
}

}  // namespace
}  // namespace tally::gpu
