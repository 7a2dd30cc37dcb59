#include <tally/core/cuda/memory.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include <tally/core/cuda/recording.h>
#include <tally/core/cuda/runtime.h>
#include <tally/core/error.h>
#if defined(TALLY_SIMT)
#include <tally/core/cuda/simt/sanitizer.h>
#endif

namespace tally::gpu {

namespace {

using detail::Recording;

#if defined(TALLY_SIMT)
constexpr bool kEmulated = true;
// Exact sizes, and cached memory is out of bounds, so that a sanitizer sees every wrong access.
std::size_t size_class(std::size_t bytes) { return bytes; }
void mark(void* pointer, std::size_t bytes, bool usable) {
#if defined(TALLY_ASAN)
  usable ? __asan_unpoison_memory_region(pointer, bytes) : __asan_poison_memory_region(pointer, bytes);
#endif
  (void)pointer, (void)bytes, (void)usable;
}
#else
constexpr bool kEmulated = false;
// Eight classes for each power of two: at most an eighth is wasted, and sizes that vary a little share blocks.
std::size_t size_class(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(512, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}
void mark(void*, std::size_t, bool) {}
#endif

struct Block {
  void* pointer = nullptr;
  std::size_t bytes = 0;
  void* stream = nullptr;            // whose work may use it
  const Recording* graph = nullptr;  // which reserves it
  bool live = false;
  Block* next = nullptr;  // in a free list
};

class Allocator {
 public:
  void* allocate(std::size_t bytes) {
    const Recording* graph = detail::recording();
    void* stream = graph ? graph->home : current_stream_handle();
    std::lock_guard lock(mutex_);
    if (fail_in_ > 0 && --fail_in_ == 0) {
      if (!graph) empty();
      fail(bytes);
    }
    const std::size_t size = size_class(bytes);
    Block* block = graph ? take(graph, size) : nullptr;
    if (!block) block = take(stream, size);
    stats_.cache_hits += block != nullptr;
    if (!block) block = make(size, stream, graph == nullptr);
    block->graph = graph;
    block->live = true;
    if (graph) free_[{graph, size}];  // so that freeing need not allocate
    ++stats_.allocations;
    stats_.live_bytes += size;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
    mark(block->pointer, size, true);
    return block->pointer;
  }

  void deallocate(void* pointer) noexcept {
    const Recording* graph = detail::recording();
    std::lock_guard lock(mutex_);
    Block& block = blocks_.at(pointer);
    block.live = false;
    stats_.live_bytes -= block.bytes;
    stats_.cached_bytes += block.bytes;
    if (block.graph == graph)
      keep(block);
    else if (!block.graph)
      block.graph = graph;  // from outside, but a replay will read it: not for anyone until the graph goes
  }

  void release_graph(const Recording* graph) {
    std::lock_guard lock(mutex_);
    std::erase_if(free_, [&](const auto& entry) { return entry.first.first == graph; });
    for (auto& [pointer, block] : blocks_) {
      if (block.graph != graph) continue;
      block.graph = nullptr;
      if (!block.live) keep(block);
    }
  }

  void release_stream(void* stream) {
    std::lock_guard lock(mutex_);
    std::erase_if(free_, [&](const auto& entry) { return entry.first.first == stream; });
    for (auto& [pointer, block] : blocks_) {
      if (block.stream != stream) continue;
      block.stream = detail::library_stream();
      if (!block.live && !block.graph)
        keep(block);
      else
        free_[{block.stream, block.bytes}];
    }
  }

  void empty_cache() {
    std::lock_guard lock(mutex_);
    empty();
  }
  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_peak() {
    std::lock_guard lock(mutex_);
    stats_.peak_bytes = stats_.live_bytes;
  }
  void fail_in(int n) {
    std::lock_guard lock(mutex_);
    fail_in_ = n;
  }

 private:
  using Space = const void*;  // a stream or a recording

  Block* take(Space space, std::size_t size) {
    const auto found = free_.find({space, size});
    if (found == free_.end() || !found->second) return nullptr;
    Block* block = found->second;
    found->second = std::exchange(block->next, nullptr);
    stats_.cached_bytes -= size;
    return block;
  }

  void keep(Block& block) {
    Block*& head = free_[{block.graph ? Space(block.graph) : Space(block.stream), block.bytes}];
    block.next = std::exchange(head, &block);
    if (!block.graph) mark(block.pointer, block.bytes, false);
  }

  Block* make(std::size_t size, void* stream, bool may_empty) {
    void* pointer = nullptr;
    cudaError_t result = cudaMalloc(&pointer, size);
    if (result == cudaErrorMemoryAllocation && may_empty) {
      cudaGetLastError();
      empty();
      result = cudaMalloc(&pointer, size);
    }
    if (result == cudaErrorMemoryAllocation) fail(size);
    check(result, "allocate");
    free_[{stream, size}];
    return &(blocks_[pointer] = {pointer, size, stream});
  }

  void empty() {
    for (auto& [key, head] : free_)
      if (head && !head->graph) head = nullptr;
    std::erase_if(blocks_, [&](const auto& entry) {
      const Block& block = entry.second;
      if (block.live || block.graph) return false;
      stats_.cached_bytes -= block.bytes;
      mark(block.pointer, block.bytes, true);
      cudaFree(block.pointer);
      return true;
    });
  }

  [[noreturn]] void fail(std::size_t bytes) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw OutOfMemoryError("allocate",
                           "no " + std::to_string(bytes) + " bytes of device memory: " + std::to_string(free) + " of " +
                               std::to_string(total) + " free, " + std::to_string(stats_.live_bytes) +
                               " in use by this library",
                           Where{});
  }

  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
  std::map<std::pair<Space, std::size_t>, Block*> free_;
  MemoryStats stats_;
  int fail_in_ = 0;
};

Allocator& allocator() {
  static Allocator& allocator = *new Allocator;  // never destroyed: at exit the driver may be gone before statics are
  return allocator;
}

std::atomic<bool> poisons = false;

}  // namespace

void* allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* pointer = allocator().allocate(bytes);
  if (kEmulated || poisons) check(cudaMemsetAsync(pointer, 0xFF, bytes, current_stream()), "allocate");
  return pointer;
}

void deallocate(void* pointer, std::size_t) noexcept {
  if (pointer) allocator().deallocate(pointer);
}

MemoryStats memory_stats() { return allocator().stats(); }
void reset_peak() { allocator().reset_peak(); }
void empty_cache() { allocator().empty_cache(); }
void fail_allocation(int n) { allocator().fail_in(n); }
void poison_allocations(bool on) { poisons = on; }

void detail::release_graph_memory(const Recording* graph) { allocator().release_graph(graph); }
void detail::release_stream_memory(void* stream) { allocator().release_stream(stream); }

}  // namespace tally::gpu
