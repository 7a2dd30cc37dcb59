// What the tests of nn share: every test runs on each device, values are compared as doubles, gradients with central
// differences in float64.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/core/random.h>
#include <tally/core/tensor.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>

namespace tally::nn {

/// A test with `device` to put its tensors on.
class OnEachDevice : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam())) GTEST_SKIP() << "no " << name_of(GetParam()) << " device";
  }
  Device device = GetParam();

  Tensor make(const std::vector<double>& values, const Shape& shape, DType dtype = float32) const {
    return tensor(values, shape).to(dtype).to(device);
  }
  Tensor make(const std::vector<double>& values, DType dtype = float32) const {
    return make(values, {static_cast<std::int64_t>(values.size())}, dtype);
  }
  Tensor classes(const std::vector<std::int64_t>& values) const { return tensor(values).to(device); }
};

#define TALLY_ON_EACH_DEVICE(Suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, testing::Values(Device::cpu, Device::cuda), \
                           [](const auto& info) { return std::string(name_of(info.param)); })

inline std::vector<double> values(const Tensor& tensor) { return tensor.to_vector<double>(); }

/// Each element within `tolerance`, relative where the expected value is above 1; NaN equals NaN.
inline testing::AssertionResult near(const Tensor& tensor, const std::vector<double>& expected,
                                     double tolerance = 1e-6) {
  if (!tensor.defined()) return testing::AssertionFailure() << "undefined";
  const std::vector<double> got = values(tensor);
  if (got.size() != expected.size())
    return testing::AssertionFailure() << got.size() << " values, expected " << expected.size();
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
    if (!(std::abs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i]))) && got[i] != expected[i])
      return testing::AssertionFailure() << "element " << i << " is " << got[i] << ", expected " << expected[i];
  }
  return testing::AssertionSuccess();
}

/// The gradient of `loss` (a 0-d float64) with respect to x, by central differences.
inline std::vector<double> central_differences(const std::function<Tensor(const Tensor&)>& loss, const Tensor& x,
                                               double step = 1e-5) {
  NoGrad guard;
  std::vector<double> slopes, at = values(x);
  for (double& element : at) {
    const double before = element;
    const auto value = [&](double moved) {
      element = moved;
      return loss(tensor(at, x.shape()).to(x.device())).item<double>();
    };
    slopes.push_back((value(before + step) - value(before - step)) / (2 * step));
    element = before;
  }
  return slopes;
}

inline Tensor leaf(const Tensor& x) { return x.detach().clone().requires_grad_(); }

/// What calling `f` throws, or "" where it throws nothing or something else.
template <class Error, class F> std::string message_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  } catch (...) {
  }
  return "";
}

}  // namespace tally::nn
