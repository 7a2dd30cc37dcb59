// The devices a test runs on: the CPU, and CUDA where a device is. Where none is, the test shows as skipped.
//
//   class Sum : public tally::test::OnDevice {};
//   TALLY_TEST_ON_DEVICES(Sum);
//   TEST_P(Sum, OfNothing) { EXPECT_EQ(sum(zeros({0}, on())).item<float>(), 0); }
//
// Under compute-sanitizer a launch costs milliseconds. A test of thousands is one for each of some cases instead, which
// have a name_of() or a member `name`:
//
//   class SumOf : public tally::test::OnDeviceWith<DType> {};
//   TALLY_TEST_ON_DEVICES_WITH(SumOf, ::testing::Values(float32, float64));
//   TEST_P(SumOf, Nothing) { sum(zeros({0}, on(which()))); }  // SumOf.Nothing/cuda_float64
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <tuple>

#include <tally/core/tensor.h>

namespace tally::test {

namespace detail {

inline Device device_of(Device device) { return device; }
template <class Case> Device device_of(const std::tuple<Device, Case>& parameter) { return std::get<0>(parameter); }

template <class Parameter> class OnDeviceBy : public ::testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    if (!is_available(device()))
      GTEST_SKIP() << (kHasCuda ? "no CUDA device on this machine" : "this build has no CUDA");
  }
  Device device() const { return device_of(this->GetParam()); }
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

/// As a part of a test's name: "norm, p = -inf" is norm_p_minus_inf.
inline std::string identifier(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const char* word = c == '-' ? "minus_" : c == '<' ? "below_" : c == '>' ? "above_" : "";
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
    name += word;
  }
  return name;
}

template <class Case> std::string name_of_case(const Case& one) {
  if constexpr (requires { one.name; })
    return identifier(one.name);
  else
    return identifier(name_of(one));
}

}  // namespace detail

class OnDevice : public detail::OnDeviceBy<Device> {};

template <class Case> class OnDeviceWith : public detail::OnDeviceBy<std::tuple<Device, Case>> {
 protected:
  const Case& which() const { return std::get<1>(this->GetParam()); }
};

/// Where a test's parameter is the case alone.
struct CaseName {
  template <class Case> std::string operator()(const ::testing::TestParamInfo<Case>& info) const {
    return detail::name_of_case(info.param);
  }
};

/// cuda, or cuda_float64.
struct DeviceName {
  std::string operator()(const ::testing::TestParamInfo<Device>& info) const { return name_of(info.param); }
  template <class Case> std::string operator()(const ::testing::TestParamInfo<std::tuple<Device, Case>>& info) const {
    return std::string(name_of(std::get<0>(info.param))) + "_" + detail::name_of_case(std::get<1>(info.param));
  }
};

}  // namespace tally::test

#define TALLY_TEST_ON_DEVICES(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::Values(::tally::Device::cpu, ::tally::Device::cuda), \
                           ::tally::test::DeviceName())
#define TALLY_TEST_ON_DEVICES_WITH(suite, ...)                                                                  \
  INSTANTIATE_TEST_SUITE_P(                                                                                     \
      , suite, ::testing::Combine(::testing::Values(::tally::Device::cpu, ::tally::Device::cuda), __VA_ARGS__), \
      ::tally::test::DeviceName())
