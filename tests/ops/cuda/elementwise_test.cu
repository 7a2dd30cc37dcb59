// map and zip with a user's own structs in a .cu file: both devices, the same bits.
#include <gtest/gtest.h>

#include <tally/autograd/backward.h>
#include <tally/core/random.h>
#include <tally/ops/elementwise.h>

namespace tally {
namespace {

struct Swirl {
  static constexpr auto name = "swirl";
  double rate;
  template <class C> TALLY_HD C f(C x) const { return x * math::exp(static_cast<C>(rate) * x); }
  template <class C> TALLY_HD C df(C x) const {
    return math::exp(static_cast<C>(rate) * x) * (1 + static_cast<C>(rate) * x);
  }
};

struct Blend {
  static constexpr auto name = "blend";
  template <class C> TALLY_HD C f(C a, C b) const { return a * a * b; }
  template <class C> TALLY_HD C da(C a, C b) const { return 2 * a * b; }
  template <class C> TALLY_HD C db(C a, C) const { return a * a; }
};

Tensor draws(const Shape& shape, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  Tensor x = empty(shape, {.dtype = dtype});
  fill_normal(x, generator);
  return x;
}

template <class F> std::vector<std::vector<double>> results(F f, std::vector<Tensor> inputs, Device device) {
  for (Tensor& input : inputs) {
    input = input.clone().to(device).detach();
    input.requires_grad_();
  }
  const Tensor y = f(inputs);
  std::vector<std::vector<double>> all{y.to_vector<double>()};
  for (const Tensor& gradient : grad({y}, inputs, {ones(y.shape(), {.dtype = y.dtype(), .device = device})}))
    all.push_back(gradient.to_vector<double>());
  return all;
}

TEST(DeviceMap, SameBitsOnBothDevices) {
  if (!is_available(Device::cuda)) GTEST_SKIP() << "no CUDA device";
  for (DType dtype : {float32, float64, float16, bfloat16}) {
    const auto f = [](const std::vector<Tensor>& x) { return map(Swirl{-0.5}, x[0]); };
    const Tensor x = draws({3, 341}, dtype, 1);
    EXPECT_EQ(results(f, {x}, Device::cuda), results(f, {x}, Device::cpu)) << name_of(dtype);
  }
}

TEST(DeviceZip, SameBitsOnBothDevices) {
  if (!is_available(Device::cuda)) GTEST_SKIP() << "no CUDA device";
  const auto f = [](const std::vector<Tensor>& x) { return zip(Blend{}, x[0], x[1]); };
  for (DType dtype : {float32, float64}) {
    const Tensor a = draws({16, 24}, dtype, 2), b = draws({24}, dtype, 3);
    EXPECT_EQ(results(f, {a, b}, Device::cuda), results(f, {a, b}, Device::cpu)) << name_of(dtype);
  }
}

TEST(DeviceMap, OnTheCpuToo) {
  const Tensor y = map(Swirl{0}, full({3}, 2.5));
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(3, 2.5f));
}

}  // namespace
}  // namespace tally
