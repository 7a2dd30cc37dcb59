#include <tally/core/storage.h>

#include <cstring>

#include <tally/core/cpu_cache.h>
#include <tally/core/cuda/device.h>
#include <tally/core/error.h>
#include <tally/core/storage_counts.h>

namespace tally {
namespace {

std::atomic<std::int64_t> live_bytes{0}, peak_bytes{0}, allocations{0};
std::atomic<int> fill_byte{-1};  // negative: fresh memory stays as it is

void raise_peak(std::int64_t live) {
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) continue;
}

void* allocate_cpu(std::size_t bytes) {
  void* data = detail::allocate_block(bytes);
  if (!data) throw OutOfMemoryError("allocate", std::to_string(bytes) + " bytes on cpu are not to be had", {});
  const auto size = static_cast<std::int64_t>(bytes);
  raise_peak(live_bytes.fetch_add(size, std::memory_order_relaxed) + size);
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (const int byte = fill_byte.load(std::memory_order_relaxed); byte >= 0) std::memset(data, byte, bytes);
  return data;
}

}  // namespace

void detail::throw_no_cuda() {
  throw DeviceError("device", "this build of Tally has no CUDA; use cpu, or build where a CUDA toolkit is", {});
}

bool is_available(Device device) {
  if (device == Device::cpu) return true;
  if constexpr (kHasCuda) return gpu::available();
  return false;
}

std::shared_ptr<Storage> Storage::allocate(std::size_t bytes, Device device) {
  void* data = on(device, [&](auto backend) -> void* {
    if constexpr (std::is_same_v<decltype(backend), Cpu>)
      return allocate_cpu(bytes);
    else
      return gpu::allocate(bytes);
  });
  return std::make_shared<Storage>(data, bytes, device, nullptr);
}

std::shared_ptr<Storage> Storage::borrow(void* data, std::size_t bytes, Device device, std::function<void()> release) {
  return std::make_shared<Storage>(
      data, bytes, device, release ? std::move(release) : [] {});
}

Storage::~Storage() {
  if (release_) {
    release_();
  } else if (device_ == Device::cpu) {
    detail::free_block(data_, bytes_);
    live_bytes -= static_cast<std::int64_t>(bytes_);
  } else {
    if constexpr (kHasCuda) gpu::deallocate(data_, bytes_);
  }
}

std::int64_t live_cpu_bytes() { return live_bytes; }

detail::CpuMemory detail::cpu_memory() {
  return {static_cast<std::size_t>(live_bytes), static_cast<std::size_t>(peak_bytes), allocations, cpu_cache_counts()};
}

detail::FreshMemoryFilled::FreshMemoryFilled(unsigned char byte) { fill_byte = byte; }
detail::FreshMemoryFilled::~FreshMemoryFilled() { fill_byte = -1; }

void detail::reset_cpu_peak() { peak_bytes = live_bytes.load(); }

}  // namespace tally
