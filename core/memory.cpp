#include <tally/core/memory.h>

#include <array>
#include <cstdio>
#include <ostream>

#include <tally/core/cuda/memory.h>
#include <tally/core/storage_counts.h>

namespace tally {
namespace {

std::string readable(std::size_t bytes) {
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) value /= 1024, ++unit;
  std::array<char, 32> text{};
  // Three digits at least, and no fraction of a byte.
  std::snprintf(text.data(), text.size(), unit == 0 || value >= 100 ? "%.0f %s" : "%.3g %s", value, units[unit]);
  return text.data();
}

}  // namespace

MemoryReport memory_report(Device device) {
  return on(device, [&](auto backend) -> MemoryReport {
    if constexpr (std::is_same_v<decltype(backend), Cpu>) {
      const detail::CpuMemory cpu = detail::cpu_memory();
      return {device, cpu.live_bytes, cpu.cache.cached_bytes, cpu.peak_bytes, cpu.allocations, cpu.cache.hits};
    } else {
      const gpu::MemoryStats stats = gpu::memory_stats();
      return {device, stats.live_bytes, stats.cached_bytes, stats.peak_bytes, stats.allocations, stats.cache_hits};
    }
  });
}

void reset_peak_memory(Device device) {
  on(device, [](auto backend) {
    if constexpr (std::is_same_v<decltype(backend), Cpu>)
      detail::reset_cpu_peak();
    else
      gpu::reset_peak();
  });
}

std::string to_string(const MemoryReport& report) {
  std::string text = std::string(name_of(report.device)) + ": " + readable(report.live_bytes) + " live, ";
  text += readable(report.cached_bytes) + " cached, ";
  text += readable(report.peak_bytes) + " at the peak, " + std::to_string(report.allocations) + " allocations";
  return text + ", " + std::to_string(report.cache_hits) + " of them from the cache";
}

std::ostream& operator<<(std::ostream& out, const MemoryReport& report) { return out << to_string(report); }

}  // namespace tally
