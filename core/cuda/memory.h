// Device memory, from an allocator that keeps what is freed and hands it out again. Safe with several threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::gpu {

/// At least `bytes` of device memory for the current stream, aligned to 256; null for 0 bytes. Where there is none
/// left, the cache is emptied and the request tried once more; then OutOfMemoryError, after which the library stays
/// usable. During a capture (graph.h) the memory stays with the graph, and the cache is not emptied.
void* allocate(std::size_t bytes);

/// Gives memory back to the cache; kernels that still use it on its stream may go on.
void deallocate(void* pointer, std::size_t bytes) noexcept;
/// What the allocator has done so far.
struct MemoryStats {
  std::size_t live_bytes = 0;    ///< handed out now, size classes included
  std::size_t cached_bytes = 0;  ///< free, but not given back to the driver
  std::size_t peak_bytes = 0;    ///< most live bytes since the start or `reset_peak`
  std::int64_t allocations = 0;  ///< calls of `allocate` that returned memory
  std::int64_t cache_hits = 0;   ///< of these, how many needed no driver
};
MemoryStats memory_stats();  ///< now
void reset_peak();           ///< to the live bytes

/// Gives cached memory back to the driver, all but what graphs hold.
void empty_cache();

/// For tests: the n-th allocation from now (1 is the next) runs out of memory, once. 0 calls it off.
void fail_allocation(int n);

/// For tests: fresh memory is filled with 0xFF bytes, a NaN in every floating type. Always so on the emulated device.
void poison_allocations(bool on);

}  // namespace tally::gpu
