// The one-sided ops against the C library in double, in every dtype and layout, at special values, and their gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/unary.h>

#include "../support/devices.h"
#include "../support/layouts.h"

namespace tally {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double bell(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }
double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

struct Case {
  const char* name;
  Tensor (*op)(const Tensor&, Where);
  double (*value)(double);
  double (*slope)(double);
  double low = -3, high = 3;  // of the inputs
  bool smooth = true;
  bool keeps_integers = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

Tensor clamp_to_one(const Tensor& x, Where where) { return clamp(x, -1, 1.5, where); }

const Case kCases[] = {
    {"neg", neg, [](double x) { return -x; }, [](double) { return -1.0; }, -3, 3, true, true},
    {"abs", abs, [](double x) { return std::fabs(x); }, [](double x) { return x > 0 ? 1.0 : -1.0; }, -3, 3, true, true},
    {"sign", sign, [](double x) { return x > 0 ? 1.0 : -1.0; }, [](double) { return 0.0; }, -3, 3, true, true},
    {"square", square, [](double x) { return x * x; }, [](double x) { return 2 * x; }, -3, 3, true, true},
    {"relu", relu, [](double x) { return std::fmax(x, 0); }, [](double x) { return x > 0 ? 1.0 : 0.0; }, -3, 3, true,
     true},
    {"clamp", clamp_to_one, [](double x) { return std::fmin(std::fmax(x, -1), 1.5); },
     [](double x) { return x > -1 && x < 1.5 ? 1.0 : 0.0; }},
    {"floor", floor, [](double x) { return std::floor(x); }, [](double) { return 0.0; }, -3, 3, true, true},
    {"ceil", ceil, [](double x) { return std::ceil(x); }, [](double) { return 0.0; }, -3, 3, true, true},
    {"round", round, [](double x) { return std::nearbyint(x); }, [](double) { return 0.0; }, -3, 3, true, true},
    {"exp", exp, [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }},
    {"expm1", expm1, [](double x) { return std::expm1(x); }, [](double x) { return std::exp(x); }},
    {"log", log, [](double x) { return std::log(x); }, [](double x) { return 1 / x; }, 0.1, 5},
    {"log1p", log1p, [](double x) { return std::log1p(x); }, [](double x) { return 1 / (1 + x); }, -0.8, 5},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, [](double x) { return 0.5 / std::sqrt(x); }, 0.1, 5},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, [](double x) { return -0.5 * std::pow(x, -1.5); }, 0.1,
     5},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }, [](double x) { return -1 / (x * x); }, 0.2, 5},
    {"sin", sin, [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }},
    {"cos", cos, [](double x) { return std::cos(x); }, [](double x) { return -std::sin(x); }},
    {"tanh", tanh, [](double x) { return std::tanh(x); }, [](double x) { return 1 / (std::cosh(x) * std::cosh(x)); }},
    {"sigmoid", sigmoid, sigmoid_of, [](double x) { return sigmoid_of(x) * sigmoid_of(-x); }},
    {"softplus", softplus, [](double x) { return std::log1p(std::exp(x)); }, sigmoid_of},
    {"silu", silu, [](double x) { return x * sigmoid_of(x); },
     [](double x) { return sigmoid_of(x) + x * sigmoid_of(x) * sigmoid_of(-x); }},
    {"gelu", gelu, [](double x) { return x * normal_cdf(x); }, [](double x) { return normal_cdf(x) + x * bell(x); }},
    {"erf", erf, [](double x) { return std::erf(x); }, [](double x) { return 2 / std::sqrt(M_PI) * std::exp(-x * x); }},
};

/// 129 values between the bounds that meet no kink: odd multiples of an irrational step.
std::vector<double> samples(const Case& c, int count = 129) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    const double place = std::fmod((i + 0.5) * 0.6180339887498949, 1);
    values.push_back(c.low + (c.high - c.low) * place);
  }
  return values;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 1e-15;
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    default:
      return 2.5e-7;
  }
}

class Unary : public test::OnDeviceWith<Case> {
 protected:
  const Case& op() const { return which(); }
  Tensor run(const Tensor& x) const { return op().op(x, Where::here()); }
  Tensor input(DType dtype, int count = 129) const { return tensor(samples(op(), count)).to(dtype).to(device()); }
};
TALLY_TEST_ON_DEVICES_WITH(Unary, ::testing::ValuesIn(kCases));

TEST_P(Unary, IsTheFunctionInEveryDtype) {
  for (DType dtype : {float64, float32, float16, bfloat16}) {
    const Tensor x = input(dtype);
    const Tensor y = run(x);
    EXPECT_EQ(y.dtype(), dtype);
    std::vector<double> expected;
    for (double value : x.to_vector<double>()) expected.push_back(op().value(value));
    // The absolute part: 1 + erf, 1 - y^2 and the like lose digits near their zeros.
    EXPECT_THAT(y, AllClose(tensor(expected), 4 * tolerance(dtype), tolerance(dtype))) << name_of(dtype);
  }
}

TEST_P(Unary, SlopeTimesUpstreamGradient) {
  for (DType dtype : {float64, float32}) {
    const Tensor x = input(dtype);
    x.requires_grad_();
    const Tensor upstream = linspace(-2, 2, x.numel(), {.dtype = dtype, .device = device()});
    run(x).backward(upstream);
    std::vector<double> expected;
    const auto values = x.to_vector<double>(), weights = upstream.to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) expected.push_back(weights[i] * op().slope(values[i]));
    EXPECT_THAT(x.grad(), AllClose(tensor(expected), 8 * tolerance(dtype), 8 * tolerance(dtype)));
  }
}

TEST_P(Unary, PassesGradientChecks) {
  EXPECT_THAT([&](const Tensor& x) { return run(x); }, PassesGradCheck(input(float64, 12)));
}

TEST_P(Unary, PassesGradientChecksOfSecondOrder) {
  EXPECT_THAT([&](const Tensor& x) { return run(x * x + 0.3) * x * x; }, PassesGradGradCheck(input(float64, 12)));
}

TEST_P(Unary, LayoutChangesNoBit) {
  for (DType dtype : {float32, float64, float16}) {
    const Tensor x = input(dtype, 3 * 5 * 67);
    const Tensor dense(x.storage(), 0, {3, 5, 67}, {335, 67, 1}, dtype);
    const Tensor expected = run(dense);
    for (const auto& [name, view] : test::layouts(dense)) {
      view.requires_grad_();
      const Tensor y = run(view);
      EXPECT_THAT(y.detach(), BitEqual(expected)) << name;
      const Tensor upstream = linspace(0.5, 1, 1005, {.dtype = dtype, .device = device()});
      const Tensor weights(upstream.storage(), 0, {3, 5, 67}, {335, 67, 1}, dtype);
      const Tensor leaf = dense.clone();
      leaf.requires_grad_();
      const Tensor whole = grad({run(leaf)}, {leaf}, {weights})[0];
      EXPECT_THAT(grad({y}, {view}, {weights})[0], BitEqual(whole)) << name;
    }
  }
  const Tensor row = input(float32, 7);
  EXPECT_THAT(run(test::repeated(row, 3)), BitEqual(run(test::repeated(row, 3).clone())));
}

TEST_P(Unary, SameBitsOnBothDevices) {
  if (device() == Device::cpu) GTEST_SKIP() << "compared in the CUDA case";
  for (DType dtype : {float64, float32, float16, bfloat16}) {
    const Tensor x = input(dtype, 1021);
    EXPECT_THAT([&](const Tensor& x) { return run(x); }, SameOnBothDevices(x));
    const auto slope = [&](const Tensor& x) {
      const Tensor leaf = x.clone();
      leaf.requires_grad_();
      return grad({run(leaf)}, {leaf}, {full(x.shape(), 0.7, {.dtype = dtype, .device = x.device()})})[0];
    };
    EXPECT_THAT(slope, SameOnBothDevices(x)) << name_of(dtype);
  }
}

TEST_P(Unary, OfNothingAndOfOneNumber) {
  EXPECT_THAT(run(empty({0, 3}, {.device = device()})), HasShape({0, 3}));
  const Tensor scalar = full({}, 0.75, {.dtype = float64, .device = device()});
  const Tensor y = run(scalar);
  EXPECT_EQ(y.dim(), 0);
  EXPECT_NEAR(y.item<double>(), op().value(0.75), 1e-15);
}

TEST_P(Unary, NanStays) {
  const Tensor y = run(full({5}, kNan, {.device = device()}));
  for (float value : y.to_vector<float>()) EXPECT_TRUE(std::isnan(value));
}

TEST_P(Unary, Integers) {
  const Tensor x = tensor(std::vector<std::int64_t>{-3, -1, 0, 2, 5}).to(device());
  const Tensor y = run(x);
  if (op().keeps_integers) {
    EXPECT_EQ(y.dtype(), int64);
    EXPECT_EQ(run(x.to(int32)).dtype(), int32);
    for (std::size_t i = 0; i < 5; ++i) {
      const std::int64_t value = x.to_vector<std::int64_t>()[i];
      const double expected = value == 0 ? 0 : op().value(static_cast<double>(value));
      EXPECT_EQ(y.to_vector<std::int64_t>()[i], static_cast<std::int64_t>(expected));
    }
  } else {
    EXPECT_EQ(y.dtype(), float32);
    EXPECT_THAT(y, BitEqual(run(x.to(float32))));
  }
}

class UnaryAt : public test::OnDevice {
 protected:
  double at(Tensor (*op)(const Tensor&, Where), double x) {
    return op(full({}, x, on(float64)), Where::here()).item<double>();
  }
  double slope_at(Tensor (*op)(const Tensor&, Where), double x, double upstream = 1) {
    const Tensor leaf = full({}, x, on(float64));
    leaf.requires_grad_();
    return grad({op(leaf, Where::here())}, {leaf}, {full({}, upstream, on(float64))})[0].item<double>();
  }
};
TALLY_TEST_ON_DEVICES(UnaryAt);

TEST_P(UnaryAt, Kinks) {
  EXPECT_EQ(slope_at(relu, 0.0), 0);
  EXPECT_EQ(slope_at(abs, 0.0), 0);
  EXPECT_EQ(slope_at(sqrt, 0.0), kInf);
  EXPECT_EQ(slope_at(clamp_to_one, -1), 1);
  EXPECT_EQ(slope_at(clamp_to_one, 1.5), 1);
  EXPECT_EQ(slope_at(clamp_to_one, 1.5000001), 0);
  EXPECT_EQ(slope_at(relu, -1, kInf), 0) << "nothing passes a flat piece, not even infinity";
}

TEST_P(UnaryAt, SpecialValues) {
  EXPECT_EQ(at(exp, -kInf), 0);
  EXPECT_EQ(at(exp, kInf), kInf);
  EXPECT_EQ(at(log, 0.0), -kInf);
  EXPECT_TRUE(std::isnan(at(log, -1)));
  EXPECT_EQ(at(tanh, kInf), 1);
  EXPECT_EQ(at(sigmoid, -kInf), 0);
  EXPECT_EQ(at(softplus, kInf), kInf);
  EXPECT_EQ(at(relu, -kInf), 0);
  EXPECT_EQ(at(sign, -kInf), -1);
  EXPECT_EQ(at(reciprocal, -0.0), -kInf);
  EXPECT_TRUE(std::signbit(at(neg, 0.0)));
  EXPECT_FALSE(std::signbit(at(abs, -0.0)));
  EXPECT_TRUE(std::signbit(at(ceil, -0.5)));
  EXPECT_EQ(at(round, 0.5), 0);
  EXPECT_EQ(at(round, 1.5), 2);
  EXPECT_EQ(at(round, -2.5), -2);
}

TEST_P(UnaryAt, SubnormalsStay) {
  const Tensor x = full({1000}, 0x1p-140, on());
  for (float value : neg(x).to_vector<float>()) ASSERT_EQ(value, -0x1p-140f);
  for (float value : relu(x).to_vector<float>()) ASSERT_EQ(value, 0x1p-140f);
}

TEST_P(UnaryAt, IntegersWrap) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Tensor x = full({3}, least, on(int64));
  EXPECT_EQ(neg(x).to_vector<std::int64_t>()[0], least);
  EXPECT_EQ(abs(x).to_vector<std::int64_t>()[0], least);
  EXPECT_EQ(square(full({1}, std::int64_t{1} << 33, on(int64))).item<std::int64_t>(), 0);
  EXPECT_EQ(neg(full({1}, 1, on(uint8))).item<std::int64_t>(), 255);
}

TEST_P(UnaryAt, Questions) {
  const Tensor x = tensor({0.0, kNan, kInf, -kInf, -2.0}).to(device());
  EXPECT_EQ(isnan(x).dtype(), boolean);
  EXPECT_THAT(isnan(x).to_vector<bool>(), ::testing::ElementsAre(false, true, false, false, false));
  EXPECT_THAT(isinf(x).to_vector<bool>(), ::testing::ElementsAre(false, false, true, true, false));
  EXPECT_THAT(isfinite(x).to_vector<bool>(), ::testing::ElementsAre(true, false, false, false, true));
  EXPECT_THAT(logical_not(x).to_vector<bool>(), ::testing::ElementsAre(true, false, false, false, false));
  EXPECT_THAT(isnan(x.to(float16)).to_vector<bool>(), ::testing::ElementsAre(false, true, false, false, false));
  EXPECT_THAT(isfinite(ones({2}, on(int32))).to_vector<bool>(), ::testing::ElementsAre(true, true));
  EXPECT_FALSE(isnan(ones({2}, {.device = device(), .requires_grad = true})).requires_grad());
}

TEST_P(UnaryAt, ClampOfIntegers) {
  const Tensor x = tensor(std::vector<std::int64_t>{-5, 0, std::int64_t{1} << 60}).to(device());
  EXPECT_THAT(clamp(x, -1, std::int64_t{1} << 59).to_vector<std::int64_t>(),
              ::testing::ElementsAre(-1, 0, std::int64_t{1} << 59));
  EXPECT_EQ(clamp(x, -1, 0.5).dtype(), float32);
}

TEST_P(UnaryAt, SquareOfBoolsCounts) {
  const Tensor y = square(tensor({1.0, 0.0}).to(boolean).to(device()));
  EXPECT_EQ(y.dtype(), int64);
  EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0}));
}

TEST_P(UnaryAt, BadInput) {
  EXPECT_THROW(neg(ones({2}, on(boolean))), DTypeError);
  EXPECT_THROW(clamp(ones({2}, on()), 1, 0), ValueError);
  EXPECT_THROW(clamp(ones({2}, on()), kNan, 0.0), ValueError);
  try {
    neg(ones({2}, on(boolean)));
  } catch (const DTypeError& error) {
    EXPECT_EQ(error.where().line, __LINE__ - 2);
    EXPECT_THAT(error.where().file, ::testing::EndsWith("unary_test.cpp"));
  }
}

}  // namespace
}  // namespace tally
