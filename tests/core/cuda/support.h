// Device arrays and launches for the tests of the CUDA core.
#pragma once

#include <vector>

#include <gtest/gtest.h>
#include <tally/core/cuda/device.h>
#include <tally/core/cuda/kernel.h>

namespace tally::gpu {

/// Skips where there is no device; the emulated one is always there.
class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!available()) GTEST_SKIP() << describe();
  }
};

template <class T> class Array {
 public:
  explicit Array(std::size_t size) : size_(size), data_(static_cast<T*>(allocate(size * sizeof(T)))) {}
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    copy_to_device(data_, values.data(), size_ * sizeof(T));
  }
  ~Array() { deallocate(data_, size_ * sizeof(T)); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> values(size_);
    copy_to_host(values.data(), data_, size_ * sizeof(T));
    return values;
  }

 private:
  std::size_t size_;
  T* data_;
};

/// What calling `f` throws, or "" if it returns.
template <class Error, class F> std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tally::gpu
