#include <memory>
#include <stdexcept>

#include <tally/core/error.h>

#include "support.h"

namespace tally::gpu {
namespace {

class CudaGraph : public CudaTest {};

__global__ void add(float* target, const float* amount, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) target[i] += *amount;
}

__global__ void square(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

TEST_F(CudaGraph, RecordsWithoutRunningAndReplays) {
  Array<float> values(std::vector<float>(100, 1.f)), amount(std::vector<float>{2});
  Graph graph = capture([&] {
    EXPECT_TRUE(capturing());
    launch(add, {4, 32}, values.data(), amount.data(), 100);
    launch(add, {4, 32}, values.data(), amount.data(), 100);
  });
  EXPECT_FALSE(capturing());
  EXPECT_EQ(values.host(), std::vector<float>(100, 1.f));
  graph.replay();
  EXPECT_EQ(values.host(), std::vector<float>(100, 5.f));
  const float larger = 10;
  copy_to_device(amount.data(), &larger, sizeof larger);
  graph.replay();
  graph.replay();
  EXPECT_EQ(values.host(), std::vector<float>(100, 45.f));
}

TEST_F(CudaGraph, CopiesFromTheHostKeepTheirBytes) {
  Array<float> small(4), large(10000);
  Graph graph = capture([&] {
    const std::vector<float> few{1, 2, 3, 4}, many(10000, 5.f);
    copy_to_device(small.data(), few.data(), 16);
    copy_to_device(large.data(), many.data(), 40000);
  });
  for (int repeat = 0; repeat < 2; ++repeat) {
    fill_bytes(small.data(), 0, 16);
    fill_bytes(large.data(), 0, 40000);
    graph.replay();
    EXPECT_EQ(small.host(), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(large.host(), std::vector<float>(10000, 5.f));
  }
}

// Memory allocated inside stays the graph's: nobody else gets it, replay finds it, and the end gives it back.
TEST_F(CudaGraph, MemoryAllocatedInsideIsPinned) {
  empty_cache();
  const MemoryStats before = memory_stats();
  {
    Array<float> in(std::vector<float>(64, 3.f)), out(64);
    std::unique_ptr<Array<float>> kept;
    void* freed = nullptr;
    Graph graph = capture([&] {
      Array<float> scratch(64);
      freed = scratch.data();
      kept = std::make_unique<Array<float>>(64);
      launch(square, {2, 32}, in.data(), scratch.data(), 64);
      launch(square, {2, 32}, scratch.data(), kept->data(), 64);
      copy_on_device(out.data(), kept->data(), 64 * 4);
    });
    float* result = kept->data();
    kept.reset();
    Array<float> a(64), b(64), c(64);
    for (const Array<float>* other : {&a, &b, &c}) {
      EXPECT_NE(other->data(), freed);
      EXPECT_NE(other->data(), result);
      fill_bytes(other->data(), 0, 64 * 4);
    }
    empty_cache();
    graph.replay();
    EXPECT_EQ(out.host(), std::vector<float>(64, 81.f));
  }
  EXPECT_EQ(memory_stats().live_bytes, before.live_bytes);
  empty_cache();
  EXPECT_EQ(memory_stats().cached_bytes, before.cached_bytes);
}

TEST_F(CudaGraph, MemoryFreedInsideIsReusedInside) {
  Graph graph = capture([&] {
    void* first = allocate(1000);
    deallocate(first, 1000);
    void* second = allocate(1000);
    EXPECT_EQ(second, first);
    deallocate(second, 1000);
  });
  graph.replay();
  synchronize();
}

// What is allocated outside and dropped inside is read by every replay.
TEST_F(CudaGraph, MemoryFromOutsideDroppedInsideIsHeld) {
  auto in = std::make_unique<Array<float>>(std::vector<float>(64, 3.f));
  Array<float> out(64);
  float* address = in->data();
  Graph graph = capture([&] {
    launch(square, {2, 32}, in->data(), out.data(), 64);
    in.reset();
    Array<float> next(64);
    EXPECT_NE(next.data(), address);
    fill_bytes(next.data(), 0, 64 * 4);
  });
  Array<float> other(64);
  EXPECT_NE(other.data(), address);
  fill_bytes(other.data(), 0, 64 * 4);
  graph.replay();
  graph.replay();
  EXPECT_EQ(out.host(), std::vector<float>(64, 9.f));
}

TEST_F(CudaGraph, WaitingInsideIsAnErrorAndLeavesTheDeviceUsable) {
  Array<float> values(std::vector<float>(4, 1.f)), amount(std::vector<float>{2});
  const std::size_t live = memory_stats().live_bytes;
  EXPECT_THROW(capture([&] { values.host(); }), CudaError);
  EXPECT_THROW(capture([&] { synchronize(); }), CudaError);
  EXPECT_THROW(capture([&] { capture([] {}); }), CudaError);
  EXPECT_THROW(capture([&] {
                 Array<float> inside(1000);
                 launch(add, {1, 32}, values.data(), amount.data(), 4);
                 throw std::runtime_error("of the program's own");
               }),
               std::runtime_error);
  EXPECT_FALSE(capturing());
  EXPECT_EQ(memory_stats().live_bytes, live);
  launch(add, {1, 32}, values.data(), amount.data(), 4);
  EXPECT_EQ(values.host(), std::vector<float>(4, 3.f));
}

TEST_F(CudaGraph, OutOfMemoryInside) {
  const std::size_t live = memory_stats().live_bytes;
  fail_allocation(2);
  EXPECT_THROW(capture([] {
                 Array<float> first(10);
                 Array<float> second(10);
               }),
               OutOfMemoryError);
  EXPECT_EQ(memory_stats().live_bytes, live);
}

TEST_F(CudaGraph, EmptyAndMoved) {
  Graph graph = capture([] {});
  Graph moved = std::move(graph);
  moved.replay();
  graph = capture([] {});
  graph.replay();
  synchronize();
}

}  // namespace
}  // namespace tally::gpu
