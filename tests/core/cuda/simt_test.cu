// What the emulation finds beyond what a GPU does. On a GPU these kernels would be undefined.
#include "support.h"

#if defined(TALLY_SIMT)

#include <xmmintrin.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <tally/core/cuda/simt/sanitizer.h>
#include <tally/core/error.h>

namespace tally::gpu {
namespace {

class Simt : public testing::Test {
 protected:
  void TearDown() override { simt::set_seed(1); }
};

template <class... Parameters, class... Arguments>
std::string report_of(void (*kernel)(Parameters...), const Grid& grid, Arguments... arguments) {
  const std::string text = message_of<CudaError>([&] { launch(kernel, grid, arguments...); });
  if (!text.empty() && text.rfind(grid.name, 0) != 0) ADD_FAILURE() << "does not begin with its name: " << text;
  return text;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr int kStuckLine = __LINE__ + 5;
__global__ void waits_in_two_ways() {
  const int t = threadIdx.x;
  if (t == 40) return;
  if (t < 31)
    __shfl_sync(kAllLanes, t, 0);
  else
    __syncthreads();
}

TEST_F(Simt, StuckKernelsAreReportedWithThreadsAndLines) {
  const std::string text = report_of(waits_in_two_ways, {1, 64, 0, "two_ways"});
  const auto line = [](int offset) { return "simt_test.cu:" + std::to_string(kStuckLine + offset); };
  EXPECT_TRUE(contains(text, "two_ways: is stuck in block (0, 0, 0)")) << text;
  EXPECT_TRUE(contains(text, "threads 0-30 wait at __shfl_sync with mask 0xffffffff at ")) << text;
  EXPECT_TRUE(contains(text, line(0))) << text;
  EXPECT_TRUE(contains(text, "threads 31-39, 41-63 wait at __syncthreads at ")) << text;
  EXPECT_TRUE(contains(text, line(2))) << text;
  EXPECT_TRUE(contains(text, "threads 40 returned")) << text;
}

__global__ void different_masks() { __syncwarp(threadIdx.x < 16 ? 0xffffffffu : 0x0000fff0u | 1u << threadIdx.x); }

TEST_F(Simt, MasksThatDifferAreReported) { EXPECT_TRUE(contains(report_of(different_masks, {3, 32}), "is stuck")); }

__global__ void two_barriers() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}

TEST_F(Simt, BarriersAtDifferentLinesAreReported) {
  EXPECT_TRUE(contains(report_of(two_barriers, {1, 64}), "is at another barrier than those that wait at "));
}

__global__ void not_in_mask() { __shfl_sync(threadIdx.x == 3 ? 0xfffffff0u : 0xffffffffu, 1, 5); }
__global__ void names_returned() {
  if (threadIdx.x >= 30) return;
  __syncwarp();
}
__global__ void reads_unnamed() {
  if (threadIdx.x < 16) __shfl_xor_sync(0xffffu, 1, 16);
}

TEST_F(Simt, WrongMasksAreReported) {
  EXPECT_TRUE(contains(report_of(not_in_mask, {1, 32}), "is lane 3 and calls __shfl_sync with mask 0xfffffff0"));
  EXPECT_NE(report_of(names_returned, {1, 32}), "");
  EXPECT_TRUE(contains(report_of(names_returned, {1, 16}), "have returned or never were: 16-31"));
  EXPECT_TRUE(
      contains(report_of(reads_unnamed, {1, 32}), "by __shfl_xor_sync with mask 0x0000ffff, which does not name it"));
}

__global__ void begins_at_once(int* out) { out[threadIdx.x] = 1; }
__global__ void some_begin_early(int* out) {
  if (threadIdx.x < 16) begin_early();
  out[threadIdx.x] = 1;
}

TEST_F(Simt, AnEarlyKernelThatDoesNotWaitIsReported) {
  Array<int> out(32);
  const Grid early{1, 32, 0, "early", true};
  EXPECT_TRUE(contains(report_of(begins_at_once, early, out.data()), "not all its threads call begin_early()"));
  EXPECT_TRUE(contains(report_of(some_begin_early, early, out.data()), "not all its threads call begin_early()"));
  EXPECT_EQ(report_of(begins_at_once, {1, 32}, out.data()), "");
}

__global__ void vector_at(const float* address) { load_vector(address + 1); }

TEST_F(Simt, MisalignedVectorsAreReported) {
  Array<float> values(8);
  EXPECT_TRUE(contains(report_of(vector_at, {1, 32}, values.data()), "accesses 16 bytes at an address that is 4 past"));
}

__global__ void one_type_twice(int* out) {
  shared<int[32]>()[threadIdx.x] = 1;
  shared<int[32]>()[threadIdx.x] = 2;
  out[threadIdx.x] = 0;
}

TEST_F(Simt, SharedMemoryNamedTwiceIsReported) {
  Array<int> out(32);
  EXPECT_TRUE(contains(report_of(one_type_twice, {1, 32}, out.data()), "they are one memory"));
}

__global__ void throws_where_others_wait(int* live) {
  struct Held {
    explicit Held(int* live) : live(live) { atomicAdd(live, 1); }
    ~Held() { atomicSub(live, 1); }
    int* live;
  } held(live);
  std::vector<int> memory(100);
  if (threadIdx.x == 13) throw std::runtime_error("thirteen");
  __syncthreads();
}

TEST_F(Simt, ExceptionsReachTheLaunchAndReleaseWhatThreadsHold) {
  Array<int> live(std::vector<int>{0});
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              launch(throws_where_others_wait, {8, 64}, live.data());
            }),
            "thirteen");
  EXPECT_EQ(live.host()[0], 0);
}

__global__ void read_fresh(float* out) {
  struct Shared {
    float value;
  };
  float* given = shared_memory<float>();
  float& fixed = shared<Shared>().value;
  if (threadIdx.x > 0) return;
  out[2 * blockIdx.x] = given[0];
  out[2 * blockIdx.x + 1] = fixed;
  given[0] = fixed = 1;
}

TEST_F(Simt, SharedMemoryIsPoisonedBeforeEachBlock) {
  Array<float> out(40);
  launch(read_fresh, {20, 32, 4}, out.data());
  for (float value : out.host()) EXPECT_NE(value, value);
}

// Thread 0 adds up what all have written; the barrier before is what makes it right.
template <bool Barrier> __global__ void sum_by_one(float* out) {
  struct Shared {
    float values[64];
  };
  Shared& s = shared<Shared>();
  s.values[threadIdx.x] = 1;
  if (Barrier) __syncthreads();
  if (threadIdx.x > 0) return;
  float sum = 0;
  for (float value : s.values) sum += value;
  out[blockIdx.x] = sum;
}

#if !defined(TALLY_TSAN)

TEST_F(Simt, AMissingBarrierChangesTheResult) {
  const int blocks = 10;
  Array<float> out(blocks);
  for (int seed = 1; seed < 10; ++seed) {
    simt::set_seed(seed);
    launch(sum_by_one<true>, {blocks, 64}, out.data());
    EXPECT_EQ(out.host(), std::vector<float>(blocks, 64.f));
    launch(sum_by_one<false>, {blocks, 64}, out.data());
    EXPECT_NE(out.host(), std::vector<float>(blocks, 64.f));
  }
}

#else

template <bool Barrier> __global__ void read_neighbour(float* out) {
  struct Shared {
    float values[32];
  };
  Shared& s = shared<Shared>();
  s.values[threadIdx.x] = shuffle_xor(1.f, 1);
  shuffle_xor(1.f, 1);  // waits for the others, but does not order memory
  if (Barrier) __syncwarp();
  const float value = s.values[threadIdx.x ^ 1];
  if (threadIdx.x == 0) *out = value;
}

__global__ void write_one(float* out) { *out = static_cast<float>(blockIdx.x); }

TEST(SimtDeathTest, DataRaces) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](auto kernel, Grid grid) {
    Array<float> out(1);
    launch(kernel, grid, out.data());
    std::exit(0);
  };
  const auto fine = testing::ExitedWithCode(0), race = testing::ExitedWithCode(66);
  const Grid two_warps{1, 64}, warp{1, 32};
  EXPECT_EXIT(run(sum_by_one<true>, two_warps), fine, "");
  EXPECT_EXIT(run(sum_by_one<false>, two_warps), race, "data race");
  EXPECT_EXIT(run(read_neighbour<true>, warp), fine, "");
  EXPECT_EXIT(run(read_neighbour<false>, warp), race, "data race");
  EXPECT_EXIT(run(write_one, warp), race, "data race");
}

#endif

__global__ void take_turns(int* next, int* order) { order[atomicAdd(next, 1)] = threadIdx.x + 64 * blockIdx.x; }

std::vector<int> order_of(std::uint64_t seed) {
  simt::set_seed(seed);
  Array<int> next(std::vector<int>{0}), order(64 * 12);
  launch(take_turns, {12, 64}, next.data(), order.data());
  return order.host();
}

TEST_F(Simt, TheSeedOrdersThreadsAndBlocks) {
  simt::set_threads(1);
  std::vector<int> first = order_of(1);
  EXPECT_EQ(first, order_of(1));
  const std::vector<int> second = order_of(2);
  EXPECT_NE(first, second);
  std::vector<int> first_blocks, second_blocks;
  for (int i = 0; i < 12; ++i) {
    first_blocks.push_back(first[i * 64] / 64);
    second_blocks.push_back(second[i * 64] / 64);
  }
  EXPECT_NE(first_blocks, second_blocks);
  std::sort(first.begin(), first.end());
  for (int i = 0; i < 64 * 12; ++i) EXPECT_EQ(first[i], i);
  simt::set_threads(2);
}

__global__ void half(float* value) { *value = *value / 2; }

TEST_F(Simt, SubnormalsAreKeptWhateverTheCallerSet) {
  Array<float> value(std::vector<float>{1.17549435e-38f});
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, subnormals are zero
  launch(half, {1, 1}, value.data());
  _mm_setcsr(before);
  EXPECT_EQ(value.host()[0], 5.87747175e-39f);
}

__global__ void past_shared() {
  struct Shared {
    int values[40];
  };
  int* values = shared<Shared>().values;
  values[threadIdx.x] = 0;
}
__global__ void past_dynamic() { shared_memory<int>()[threadIdx.x] = 0; }
__global__ void copy(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x]; }

#if defined(TALLY_ASAN)

TEST(SimtDeathTest, AccessesOutOfBounds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* const overflow = "heap-buffer-overflow";
  const auto copy_between = [](std::size_t in_size, std::size_t out_size) {
    Array<int> in(in_size);
    Array<int> out(out_size);
    launch(copy, {1, 64}, in.data(), out.data());
  };
  const Grid fixed{1, 64}, given{1, 64, 63 * 4};
  copy_between(64, 64);
  EXPECT_DEATH(copy_between(63, 64), overflow);
  EXPECT_DEATH(copy_between(64, 63), overflow);
  EXPECT_DEATH(launch(past_shared, fixed), "index 40 out of bounds|heap-buffer-overflow");
  EXPECT_DEATH(launch(past_dynamic, given), overflow);
  const auto copy_to_freed = [] {
    Array<int> in(64);
    int* gone = Array<int>(64).data();
    launch(copy, {1, 64}, in.data(), gone);
  };
  EXPECT_DEATH(copy_to_freed(), "use-after-poison");
}

#else

TEST_F(Simt, WritesPastSharedMemoryAreReported) {
  EXPECT_TRUE(contains(report_of(past_shared, {1, 41}), "writes past the end of its shared memory"));
  EXPECT_TRUE(contains(report_of(past_dynamic, {1, 64, 63 * 4}), "writes past the end of its shared memory"));
  EXPECT_EQ(report_of(past_dynamic, {1, 64, 64 * 4}), "");
}

#endif

TEST_F(Simt, AReportLeavesTheDeviceUsable) {
  Array<int> in(std::vector<int>(64, 3)), out(64);
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_NE(report_of(waits_in_two_ways, {20, 64}), "");
    EXPECT_NE(report_of(names_returned, {20, 32}), "");
    launch(copy, {1, 64}, in.data(), out.data());
    EXPECT_EQ(out.host(), std::vector<int>(64, 3));
  }
}

}  // namespace
}  // namespace tally::gpu

#endif
