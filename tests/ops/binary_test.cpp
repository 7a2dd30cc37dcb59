// Each two-sided op: values, broadcasting, layouts, gradients, equal bits on both devices, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/binary.h>
#include <tally/ops/operators.h>

#include "../support/devices.h"
#include "../support/layouts.h"

namespace tally {
namespace {

struct Case {
  const char* name;
  Tensor (*op)(const Tensor&, const Operand&, Where);
  double (*value)(double, double);
  bool exact = true;  // one rounding of the exact result
};

double larger(double a, double b) { return a > b ? a : b; }
double smaller(double a, double b) { return a < b ? a : b; }
Tensor sub_tensors(const Tensor& a, const Operand& b, Where where) { return sub(a, b, where); }
Tensor div_tensors(const Tensor& a, const Operand& b, Where where) { return div(a, b, where); }
Tensor pow_tensors(const Tensor& a, const Operand& b, Where where) { return pow(a, b, where); }

const Case kCases[] = {
    {"add", add, [](double a, double b) { return a + b; }},
    {"sub", sub_tensors, [](double a, double b) { return a - b; }},
    {"mul", mul, [](double a, double b) { return a * b; }},
    {"div", div_tensors, [](double a, double b) { return a / b; }},
    {"pow", pow_tensors, [](double a, double b) { return std::pow(a, b); }, false},
    {"maximum", maximum, larger},
    {"minimum", minimum, smaller},
};

class Binary : public test::OnDeviceWith<Case> {
 protected:
  const Case& op() const { return which(); }
  Tensor run(const Tensor& a, const Operand& b) const { return op().op(a, b, Where::here()); }
  /// Positive, no two equal.
  Tensor left(const Shape& shape, DType dtype = float64) const { return spread(shape, 0.618033988, dtype); }
  Tensor right(const Shape& shape, DType dtype = float64) const { return spread(shape, 0.414213562, dtype); }

 private:
  Tensor spread(const Shape& shape, double step, DType dtype) const {
    std::vector<double> values;
    for (std::int64_t i = 0; i < shape.numel(); ++i) values.push_back(0.5 + std::fmod((i + 1) * step, 1) * 2);
    return tensor(values, shape).to(dtype).to(device());
  }
};
TALLY_TEST_ON_DEVICES_WITH(Binary, ::testing::ValuesIn(kCases));

/// What the op should give: each pair in double, rounded once.
template <class T> std::vector<T> reference(const Case& op, const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  std::vector<T> expected;
  for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(static_cast<T>(op.value(x[i], y[i])));
  return expected;
}

TEST_P(Binary, IsTheFunctionInEveryDtype) {
  const Shape shape{1031};
  for (DType dtype : {float64, float32}) {
    const Tensor a = left(shape, dtype), b = right(shape, dtype);
    visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_floating_point_v<T>) {
        const Tensor expected = tensor(reference<T>(op(), a, b), shape);
        if (op().exact)
          EXPECT_THAT(run(a, b), BitEqual(expected)) << name_of(dtype);
        else
          EXPECT_THAT(run(a, b), AllClose(expected, dtype == float64 ? 4e-16 : 1.2e-7));
      }
    });
  }
  for (DType dtype : {float16, bfloat16}) {
    const Tensor a = left(shape, dtype), b = right(shape, dtype);
    // Arithmetic in float32, then one rounding more.
    const Tensor expected = run(a.to(float32), b.to(float32)).to(dtype);
    EXPECT_THAT(run(a, b), BitEqual(expected)) << name_of(dtype);
  }
}

TEST_P(Binary, Broadcasts) {
  struct Shapes {
    Shape a, b, result;
  };
  for (const auto& [sa, sb, result] : std::vector<Shapes>{{{3, 4}, {4}, {3, 4}},
                                                          {{4}, {3, 4}, {3, 4}},
                                                          {{3, 1}, {1, 8}, {3, 8}},
                                                          {{}, {2, 3}, {2, 3}},
                                                          {{2, 3}, {}, {2, 3}},
                                                          {{5, 1, 8}, {3, 1}, {5, 3, 8}},
                                                          {{1}, {1, 1}, {1, 1}},
                                                          {{0, 3}, {1}, {0, 3}},
                                                          {{3, 1}, {0}, {3, 0}}}) {
    const Tensor a = left(sa), b = right(sb), y = run(a, b);
    ASSERT_THAT(y, HasShape(result));
    const auto x = a.to_vector<double>(), z = b.to_vector<double>(), values = y.to_vector<double>();
    // The place of a broadcast element, by division alone.
    const auto place = [&, result = result](std::int64_t i, const Shape& shape) {
      std::int64_t at = 0, step = 1;
      for (int d = result.size() - 1; d >= 0; i /= result[d--]) {
        const int own = d - (result.size() - shape.size());
        if (own < 0) continue;
        at += (shape[own] == 1 ? 0 : i % result[d]) * step;
        step *= shape[own];
      }
      return static_cast<std::size_t>(at);
    };
    for (std::int64_t i = 0; i < y.numel(); ++i) {
      const double expected = op().value(x[place(i, sa)], z[place(i, sb)]);
      EXPECT_NEAR(values[static_cast<std::size_t>(i)], expected, 1e-14) << i;
    }
  }
}

TEST_P(Binary, LayoutChangesNoBit) {
  for (DType dtype : {float32, float16, float64}) {
    const Tensor a = left({6, 5, 40}, dtype), b = right({6, 5, 40}, dtype), expected = run(a, b);
    for (const auto& [name, x] : test::layouts(a))
      for (const auto& [other, y] : test::layouts(b))
        EXPECT_THAT(run(x, y), BitEqual(expected)) << name << " " << other;
    const Tensor bias = right({40}, dtype);
    EXPECT_THAT(run(a, test::repeated(bias, 5)), BitEqual(run(a, bias)));
  }
}

TEST_P(Binary, PassesGradientChecks) {
  const auto f = [&](const Tensor& a, const Tensor& b) { return run(a, b); };
  EXPECT_THAT(f, PassesGradCheck(left({3, 4}), right({3, 4})));
  EXPECT_THAT(f, PassesGradCheck(left({3, 4}), right({4})));
  EXPECT_THAT(f, PassesGradCheck(left({3, 1}), right({2, 1, 4})));
  EXPECT_THAT(f, PassesGradCheck(left({}), right({3})));
}

TEST_P(Binary, PassesGradientChecksOfSecondOrder) {
  EXPECT_THAT([&](const Tensor& a, const Tensor& b) { return run(a, b); },
              PassesGradGradCheck(left({2, 3}), right({2, 1})));
}

TEST_P(Binary, PassesGradientChecksOfSecondOrderBehindSquares) {
  const auto curved = [&](const Tensor& a, const Tensor& b) { return run(a * a, b * b); };
  EXPECT_THAT(curved, PassesGradGradCheck(left({2, 3}), right({3})));
}

TEST_P(Binary, GradientBesideANumber) {
  EXPECT_THAT([&](const Tensor& x) { return run(x, 1.75); }, PassesGradCheck(left({7})));
  EXPECT_THAT([&](const Tensor& x) { return run(x * x, 1.75); }, PassesGradGradCheck(left({7})));
}

TEST_P(Binary, GradientsShareNoMemory) {
  const Tensor a = left({3}), b = right({3});
  a.requires_grad_();
  b.requires_grad_();
  const Tensor upstream = ones({3}, {.dtype = float64, .device = device()});
  run(a, b).backward(upstream);
  EXPECT_NE(a.grad().storage(), b.grad().storage());
  EXPECT_NE(a.grad().storage(), upstream.storage());
  EXPECT_NE(b.grad().storage(), upstream.storage());
}

TEST_P(Binary, SameBitsOnBothDevices) {
  if (device() == Device::cpu) GTEST_SKIP() << "compared in the CUDA case";
  for (DType dtype : {float64, float32, float16, bfloat16}) {
    const auto everything = [&](const Tensor& a, const Tensor& b) {
      const Tensor x = a.clone(), y = b.clone();
      x.requires_grad_();
      y.requires_grad_();
      const Tensor value = run(x, y);
      auto results = grad({value}, {x, y}, {full(value.shape(), 0.7, {.dtype = dtype, .device = a.device()})});
      results.push_back(value.detach());
      return results;
    };
    EXPECT_THAT(everything, SameOnBothDevices(left({9, 57}, dtype), right({9, 57}, dtype))) << name_of(dtype);
  }
  for (DType dtype : {int64, int32, uint8}) {
    const Tensor a = left({101}).to(dtype), b = right({101}).to(dtype);
    EXPECT_THAT([&](const Tensor& a, const Tensor& b) { return run(a, b); }, SameOnBothDevices(a, b));
  }
}

TEST_P(Binary, SavedOperandChangedInPlace) {
  const Tensor a = left({3}), b = right({3});
  a.requires_grad_();
  const Tensor y = run(a, b);
  b.fill_(0);
  const std::string name = op().name;
  if (name == "add" || name == "sub")
    EXPECT_NO_THROW(y.backward(ones({3}, {.dtype = float64, .device = device()})));
  else
    EXPECT_THROW(y.backward(ones({3}, {.dtype = float64, .device = device()})), AutogradError);
}

class BinaryErrors : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(BinaryErrors);

TEST_P(BinaryErrors, Errors) {
  const Tensor a = ones({2, 3}, on()), b = ones({4}, on());
  try {
    add(a, b);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.where().line, __LINE__ - 3);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("add: "));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("[2, 3]"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("[4]"));
  }
  EXPECT_THROW(sub(ones({1}, on(boolean)), ones({1}, on(boolean))), DTypeError);
  if (device() == Device::cuda) {
    try {
      add(a, ones({2, 3}));
      FAIL();
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("on cuda"));
      EXPECT_THAT(error.what(), ::testing::HasSubstr("on cpu"));
    }
  }
}

}  // namespace
}  // namespace tally
