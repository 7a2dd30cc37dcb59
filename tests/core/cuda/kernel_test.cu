#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <tally/core/error.h>

#include "support.h"

namespace tally::gpu {
namespace {

class Kernel : public CudaTest {};

__global__ void write_indices(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  out[i] = static_cast<int>(10 * block + thread);
}

TEST_F(Kernel, EveryThreadOfEveryDimensionRunsOnce) {
  Array<int> out(3 * 2 * 2 * 64);
  launch(write_indices, {{3, 2, 2}, {4, 8, 2}}, out.data());
  const std::vector<int> host = out.host();
  for (int block = 0; block < 12; ++block)
    for (int thread = 0; thread < 64; ++thread) ASSERT_EQ(host[block * 64 + thread], 10 * block + thread);
}

TEST_F(Kernel, EmptyGridsStartNothing) {
  launch(write_indices, {0, 32}, nullptr);
  launch(write_indices, {{5, 0}, 32}, nullptr);
  launch(write_indices, {1, {32, 1, 0}}, nullptr);
  synchronize();
}

TEST_F(Kernel, GridsTheDeviceCannotHaveAreErrorsByName) {
  const auto start = [](Extent grid, Extent block, std::size_t bytes = 0) {
    return message_of<CudaError>([&] { launch(write_indices, {grid, block, bytes, "write_indices"}, nullptr); });
  };
  EXPECT_EQ(start({1, 65536}, 32),
            "write_indices: a grid has at most 2147483647 x 65535 x 65535 blocks, not 1 x 65536 x 1");
  EXPECT_NE(start({1, 1, 65536}, 32), "");
  EXPECT_NE(start(std::int64_t{1} << 31, 32), "");
  EXPECT_NE(start(-1, 32), "");
  EXPECT_EQ(start(1, 1056), "write_indices: a block has at most 1024 threads (1024 x 1024 x 64), not 1056 x 1 x 1");
  EXPECT_NE(start(1, {64, 32}), "");
  EXPECT_NE(start(1, {1, 1, 96}), "");
  EXPECT_NE(start(1, 32, 1 << 20), "");
  Array<int> out(32);
  launch(write_indices, {1, 32}, out.data());  // nothing is left behind
  EXPECT_EQ(out.host()[31], 31);
}

// Reverses a block's numbers twice: through shared memory of fixed and of given size.
__global__ void reverse_twice(const int* in, int* out) {
  struct Shared {
    int values[96];
  };
  Shared& fixed = shared<Shared>();
  int* given = shared_memory<int>();
  const int n = blockDim.x, t = threadIdx.x, first = blockIdx.x * n;
  fixed.values[t] = in[first + t];
  __syncthreads();
  given[t] = fixed.values[n - 1 - t] + 1;
  __syncthreads();
  out[first + t] = given[n - 1 - t];
}

TEST_F(Kernel, SharedMemoryOfBothKinds) {
  std::vector<int> values(5 * 96);
  std::iota(values.begin(), values.end(), 7);
  Array<int> in(values), out(values.size());
  launch(reverse_twice, {5, 96, 96 * sizeof(int)}, in.data(), out.data());
  for (int& value : values) ++value;
  EXPECT_EQ(out.host(), values);
}

__global__ void plain_shared(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = threadIdx.x + blockIdx.x;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = values[63 - threadIdx.x];
}

TEST_F(Kernel, PlainSharedArraysBelongToTheBlock) {
  Array<int> out(64 * 40);
  launch(plain_shared, {40, 64}, out.data());
  const std::vector<int> host = out.host();
  for (int block = 0; block < 40; ++block)
    for (int t = 0; t < 64; ++t) ASSERT_EQ(host[block * 64 + t], 63 - t + block);
}

__global__ void last_of_large(char* out) {
  char* given = shared_memory<char>();
  given[100 * 1024 - 1 - threadIdx.x] = static_cast<char>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = given[100 * 1024 - 32 + threadIdx.x];
}

TEST_F(Kernel, MoreSharedMemoryThanTheDefaultLimit) {
  Array<char> out(32);
  launch(last_of_large, {1, 32, 100 * 1024}, out.data());
  EXPECT_EQ(out.host()[0], 31);
}

// Threads past `n` return at once; the others go on to meet at barriers.
__global__ void some_return(int n, int* out) {
  struct Shared {
    int values[64];
  };
  Shared& s = shared<Shared>();
  const int t = threadIdx.x;
  if (t >= n) return;
  s.values[t] = t;
  for (int round = 0; round < 3; ++round) {
    __syncthreads();
    const int next = s.values[(t + 1) % n];
    __syncthreads();
    s.values[t] = next;
  }
  out[t] = s.values[t];
}

TEST_F(Kernel, BarriersOfTheThreadsThatHaveNotReturned) {
  Array<int> out(50);
  launch(some_return, {1, 64}, 50, out.data());
  const std::vector<int> host = out.host();
  for (int t = 0; t < 50; ++t) EXPECT_EQ(host[t], (t + 3) % 50);
}

__global__ void barrier_votes(int* out) {
  const int t = threadIdx.x;
  const int any = __syncthreads_or(t == 77), none = __syncthreads_or(t == 1000);
  const int all = __syncthreads_and(t < 96), most = __syncthreads_and(t != 5);
  const int count = __syncthreads_count(t % 3 == 0);
  if (t == 40) {
    out[0] = any != 0;
    out[1] = none != 0;
    out[2] = all != 0;
    out[3] = most != 0;
    out[4] = count;
  }
}

TEST_F(Kernel, BarriersThatVote) {
  Array<int> out(5);
  launch(barrier_votes, {1, 96}, out.data());
  EXPECT_EQ(out.host(), (std::vector<int>{1, 0, 1, 0, 32}));
}

// The last block to finish adds up what all have written. The ticket resets itself.
__global__ void sum_blocks(const float* in, float* partial, unsigned* ticket, float* out) {
  struct Shared {
    float warps[8];
    bool last;
  };
  Shared& s = shared<Shared>();
  const int t = threadIdx.x;
  float sum = in[blockIdx.x * blockDim.x + t];
  for (int offset = 1; offset < kWarp; offset *= 2) sum += shuffle_xor(sum, offset);
  if (t % kWarp == 0) s.warps[t / kWarp] = sum;
  __syncthreads();
  if (t == 0) {
    sum = 0;
    for (unsigned w = 0; w < blockDim.x / kWarp; ++w) sum += s.warps[w];
    partial[blockIdx.x] = sum;
    __threadfence();
    s.last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!s.last || t > 0) return;
  __threadfence();
  sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += load_coherent(partial + b);
  *out = sum;
}

TEST_F(Kernel, LastBlockByTicket) {
  const int blocks = 37, threads = 256;
  std::vector<float> values(blocks * threads);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 100);  // sums are exact
  const float expected = std::accumulate(values.begin(), values.end(), 0.f);
  Array<float> in(values), partial(blocks), out(1);
  Array<unsigned> ticket(std::vector<unsigned>{0});
  for (int repeat = 0; repeat < 5; ++repeat) {
    launch(sum_blocks, {blocks, threads}, in.data(), partial.data(), ticket.data(), out.data());
    EXPECT_EQ(out.host()[0], expected);
    EXPECT_EQ(ticket.host()[0], 0u);
  }
}

// Each element is one more than its place in a reversed, shifted copy: every kernel reads what others of the one before
// have written, and overwrites what that one has read.
__global__ void step_early(const int* in, int* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  begin_early();
  if (i < n) out[i] = in[(n - 1 - i + 77) % n] + 1;
}

TEST_F(Kernel, EarlyOnesSeeWhatThoseBeforeHaveWritten) {
  // Few blocks, which let the next kernel begin while they run, and many; in turn, too.
  for (const auto& [even, odd] : {std::pair(1024, 1024), std::pair(1 << 20, 1 << 20), std::pair(1024, 1 << 20)}) {
    const int n = std::max(even, odd), launches = 100;
    std::vector<int> expected(static_cast<std::size_t>(n));
    std::iota(expected.begin(), expected.end(), 0);
    Array<int> a(expected), b(expected);
    for (int k = 0; k < launches; ++k) {
      const int count = k % 2 == 0 ? even : odd;
      launch(step_early, {(count + 255) / 256, 256, 0, "step_early", true}, k % 2 == 0 ? a.data() : b.data(),
             k % 2 == 0 ? b.data() : a.data(), count);
    }
    std::vector<int> from = expected, to = expected;
    for (int k = 0; k < launches; ++k) {
      const int count = k % 2 == 0 ? even : odd;
      for (int i = 0; i < count; ++i)
        to[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>((count - 1 - i + 77) % count)] + 1;
      std::swap(from, to);
    }
    EXPECT_EQ(a.host(), from);
    EXPECT_EQ(b.host(), to);
  }
}

__global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f) {
  const int t = threadIdx.x + blockIdx.x * blockDim.x;
  atomicAdd(i, t);
  atomicSub(i + 1, 2);
  atomicMax(i + 2, t);
  atomicMin(i + 3, t);
  atomicAdd(u, 1u);
  atomicOr(u + 1, 1u << (t % 32));
  atomicAnd(u + 2, ~(1u << (t % 16)));
  atomicInc(u + 3, 9u);
  atomicAdd(l, 1ull << 32);
  atomicMax(l + 1, static_cast<unsigned long long>(t) << 40);
  if (atomicCAS(l + 2, 0ull, static_cast<unsigned long long>(t + 1)) == 0)
    atomicExch(u + 4, static_cast<unsigned>(t + 1));
  atomicAdd(f, 0.5f);
}

TEST_F(Kernel, Atomics) {
  Array<int> i(std::vector<int>{0, 0, -5, 5000});
  Array<unsigned> u(std::vector<unsigned>{0, 0, ~0u, 0, 0});
  Array<unsigned long long> l(std::vector<unsigned long long>{0, 0, 0});
  Array<float> f(std::vector<float>{0});
  launch(atomics, {8, 128}, i.data(), u.data(), l.data(), f.data());  // threads 0..1023
  EXPECT_EQ(i.host(), (std::vector<int>{1023 * 1024 / 2, -2048, 1023, 0}));
  const std::vector<unsigned> unsigneds = u.host();
  EXPECT_EQ(unsigneds[0], 1024u);
  EXPECT_EQ(unsigneds[1], ~0u);
  EXPECT_EQ(unsigneds[2], 0xffff0000u);
  EXPECT_EQ(unsigneds[3], 1024u % 10);
  const std::vector<unsigned long long> longs = l.host();
  EXPECT_EQ(longs[0], 1024ull << 32);
  EXPECT_EQ(longs[1], 1023ull << 40);
  EXPECT_EQ(longs[2], unsigneds[4]);  // one thread alone won
  EXPECT_EQ(f.host()[0], 512.f);
}

}  // namespace
}  // namespace tally::gpu
