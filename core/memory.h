// How much memory tensors take, for one device: what Tally's allocators count themselves.
//
//   std::cout << memory_report(cuda);
//   cuda: 1.50 MiB live, 512 KiB cached, 2.25 MiB at the peak, 153 allocations, 140 of them from the cache
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include <tally/core/device.h>

namespace tally {

/// Bytes and counts of one device at one moment. Borrowed memory (Storage::borrow) is its owner's and not in it.
struct MemoryReport {
  Device device = Device::cpu;
  std::size_t live_bytes = 0;    ///< under tensors now; on CUDA rounded up to the allocator's size classes
  std::size_t cached_bytes = 0;  ///< free, but kept for the next allocation; on the CPU 256 MiB at most
  std::size_t peak_bytes = 0;    ///< most live bytes since the start, or since reset_peak_memory
  std::int64_t allocations = 0;  ///< since the start
  std::int64_t cache_hits = 0;   ///< of these, how many were served from the cache
};

/// Waits for nothing. DeviceError for CUDA in a build without it.
MemoryReport memory_report(Device device = Device::cpu);

/// The peak starts anew from what is live now. DeviceError as above.
void reset_peak_memory(Device device = Device::cpu);

/// One line for a reader, with binary units: 1 KiB is 1024 bytes.
std::string to_string(const MemoryReport& report);
std::ostream& operator<<(std::ostream& out, const MemoryReport& report);

}  // namespace tally
