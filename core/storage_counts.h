// What storage.cpp counts of the CPU's memory, for core/memory.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::detail {

struct CpuMemory {
  std::size_t live_bytes = 0, peak_bytes = 0;
  std::int64_t allocations = 0;
};
CpuMemory cpu_memory();
void reset_cpu_peak();

}  // namespace tally::detail
