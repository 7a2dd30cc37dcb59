// What storage.cpp counts of the CPU's memory, for core/memory.h, and how it fills fresh memory, for checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tally/core/cpu_cache.h>

namespace tally::detail {

struct CpuMemory {
  std::size_t live_bytes = 0, peak_bytes = 0;
  std::int64_t allocations = 0;
  CpuCacheCounts cache;
};
CpuMemory cpu_memory();
void reset_cpu_peak();

/// While it lives, each byte of fresh CPU memory is `byte`, on all threads: what is never written then shows.
class FreshMemoryFilled {
 public:
  explicit FreshMemoryFilled(unsigned char byte);
  ~FreshMemoryFilled();
  FreshMemoryFilled(const FreshMemoryFilled&) = delete;
  FreshMemoryFilled& operator=(const FreshMemoryFilled&) = delete;
};

}  // namespace tally::detail
