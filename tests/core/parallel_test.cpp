#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include <tally/core/cpu_cache.h>
#include <tally/core/parallel.h>

namespace tally {
namespace {

// Under ThreadSanitizer the child of a process that has threads cannot start its own.
#if !defined(__SANITIZE_THREAD__)

constexpr std::int64_t kCount = 100000;

bool sum_is_right() {
  std::atomic<std::int64_t> sum{0};
  parallel_for(kCount, 100, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t part = 0;
    for (std::int64_t i = begin; i < end; ++i) part += i;
    sum += part;
  });
  return sum == kCount * (kCount - 1) / 2;
}

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

/// The status with which a child ends that runs `f`; one that hangs is ended by its alarm.
template <class F> int status_of_child(F&& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    f();
    ::_exit(99);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

class Fork : public testing::Test {
 protected:
  Fork() { set_num_threads(4); }
  ~Fork() override { set_num_threads(before_); }

 private:
  int before_ = num_threads();
};

TEST_F(Fork, TheChildHasThreadsOfItsOwn) {
  ASSERT_TRUE(sum_is_right());
  EXPECT_EQ(status_of_child([] {
              const bool alone = threads_of_process() == 1;
              const bool right = sum_is_right() && num_threads() == 4;
              ::_exit(alone && right && threads_of_process() == 4 ? 0 : 1);
            }),
            0);
  EXPECT_TRUE(sum_is_right());  // and the parent keeps its own
}

TEST_F(Fork, TheChildsChildToo) {
  ASSERT_TRUE(sum_is_right());
  EXPECT_EQ(status_of_child([] {
              if (!sum_is_right()) ::_exit(1);
              ::_exit(status_of_child([] { ::_exit(sum_is_right() ? 0 : 1); }) == 0 ? 0 : 2);
            }),
            0);
}

TEST_F(Fork, TheChildMaySetTheNumberOfThreads) {
  ASSERT_TRUE(sum_is_right());
  EXPECT_EQ(status_of_child([] {
              set_num_threads(1);
              const bool one = sum_is_right() && threads_of_process() == 1;
              set_num_threads(3);
              ::_exit(one && sum_is_right() && threads_of_process() == 3 ? 0 : 1);
            }),
            0);
}

// AddressSanitizer takes what only the gone threads knew for leaks, and its allocator may be locked at fork().
#if !defined(__SANITIZE_ADDRESS__)

TEST_F(Fork, TheChildMayExit) {
  ASSERT_TRUE(sum_is_right());
  EXPECT_EQ(status_of_child([] { std::exit(0); }), 0);
  EXPECT_EQ(status_of_child([] { std::exit(sum_is_right() ? 0 : 1); }), 0);
}

// Whatever the other thread holds at that moment.
TEST_F(Fork, WhileAnotherThreadIsAtWork) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    for (int i = 0; !stop; ++i) {
      set_num_threads(2 + i % 3);
      EXPECT_TRUE(sum_is_right());
    }
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of_child([] { ::_exit(sum_is_right() ? 0 : 1); }), 0);
  stop = true;
  other.join();
}

// Who allocates most of the time holds the cache's lock most of the time.
TEST_F(Fork, WhileOtherThreadsAllocate) {
  constexpr std::size_t kBytes = 1 << 17;
  const auto allocate = [] {
    void* const block = detail::allocate_block(kBytes);
    detail::free_block(block, kBytes);
    return block != nullptr;
  };
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i)
    others.emplace_back([&] {
      while (!stop) allocate();
    });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(status_of_child([&] { ::_exit(allocate() ? 0 : 1); }), 0);
  stop = true;
  for (std::thread& other : others) other.join();
}

#endif
#endif

}  // namespace
}  // namespace tally
