// The bytes under a tensor and its views. CPU memory is 64-byte aligned; device memory comes from the caching
// allocator.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <tally/core/device.h>

namespace tally {

/// One block of memory with its version: the number of in-place changes, by which backward sees that a saved tensor
/// moved on.
class Storage {
 public:
  /// Uninitialised memory; `bytes` may be 0. Throws OutOfMemoryError, or DeviceError where the device is missing.
  static std::shared_ptr<Storage> allocate(std::size_t bytes, Device device);
  /// Memory that belongs to someone else; `release` runs when the last tensor on it is gone.
  static std::shared_ptr<Storage> borrow(void* data, std::size_t bytes, Device device, std::function<void()> release);

  /// What the two above use: without `release` the memory is the allocator's.
  Storage(void* data, std::size_t bytes, Device device, std::function<void()> release)
      : data_(static_cast<std::byte*>(data)), bytes_(bytes), device_(device), release_(std::move(release)) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// On the device; null for 0 bytes there.
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  /// Changes in place so far; each counts one on.
  std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::byte* data_;
  std::size_t bytes_;
  Device device_;
  std::atomic<std::uint64_t> version_{0};
  std::function<void()> release_;  // empty: the memory is ours
};

/// Bytes held by live CPU storages, for leak tests and reports.
std::int64_t live_cpu_bytes();

}  // namespace tally
