// The devices a test runs on: the CPU, and CUDA where a device is. Where none is, the test shows as skipped.
//
//   class Sum : public tally::test::OnDevice {};
//   TALLY_TEST_ON_DEVICES(Sum);
//   TEST_P(Sum, OfNothing) { EXPECT_EQ(sum(zeros({0}, on())).item<float>(), 0); }
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <tally/core/tensor.h>

namespace tally::test {

class OnDevice : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (!is_available(device()))
      GTEST_SKIP() << (kHasCuda ? "no CUDA device on this machine" : "this build has no CUDA");
  }
  Device device() const { return GetParam(); }
  /// The CUDA half on the CPU: 2^20 elements take a tenth of a second.
  bool emulated() const {
#if defined(TALLY_SIMT)
    return device() != cpu;
#else
    return false;
#endif
  }
  Options on(DType dtype = float32) const { return {.dtype = dtype, .device = device()}; }
};

inline std::string device_name(const ::testing::TestParamInfo<Device>& info) { return name_of(info.param); }

}  // namespace tally::test

#define TALLY_TEST_ON_DEVICES(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::Values(::tally::Device::cpu, ::tally::Device::cuda), \
                           ::tally::test::device_name)
