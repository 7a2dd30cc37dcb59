// The two-sided ops, where and masked_fill: values, broadcasting, dtypes, numbers, gradients, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/ops/binary.h>
#include <tally/ops/operators.h>
#include <tally/ops/where.h>

#include "../support/devices.h"
#include "../support/layouts.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

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

class BinaryAt : public test::OnDevice {
 protected:
  Tensor of(const std::vector<double>& values, DType dtype = float64) { return tensor(values).to(dtype).to(device()); }
  std::vector<double> gradients(Tensor (*op)(const Tensor&, const Operand&, Where), double a, double b) {
    const Tensor x = full({}, a, on(float64)), y = full({}, b, on(float64));
    x.requires_grad_();
    y.requires_grad_();
    const auto grads = grad({op(x, y, Where::here())}, {x, y});
    return {grads[0].item<double>(), grads[1].item<double>()};
  }
};
TALLY_TEST_ON_DEVICES(BinaryAt);

TEST_P(BinaryAt, MaximumAtTiesNanAndZeros) {
  EXPECT_THAT(gradients(maximum, 2, 2), ElementsAre(0.5, 0.5));
  EXPECT_THAT(gradients(minimum, 2, 2), ElementsAre(0.5, 0.5));
  EXPECT_THAT(gradients(maximum, 3, 2), ElementsAre(1, 0));
  EXPECT_THAT(gradients(minimum, 3, 2), ElementsAre(0, 1));
  const Tensor a = of({kNan, 1, -0.0, 0.0, -kInf}), b = of({1, kNan, 0.0, -0.0, kInf});
  const auto high = maximum(a, b).to_vector<double>(), low = minimum(a, b).to_vector<double>();
  EXPECT_TRUE(std::isnan(high[0]) && std::isnan(high[1]) && std::isnan(low[0]) && std::isnan(low[1]));
  EXPECT_FALSE(std::signbit(high[2]) || std::signbit(high[3]));
  EXPECT_TRUE(std::signbit(low[2]) && std::signbit(low[3]));
  EXPECT_EQ(high[4], kInf);
  EXPECT_EQ(low[4], -kInf);
}

TEST_P(BinaryAt, PowerRules) {
  EXPECT_THAT(gradients(pow_tensors, 0, 0), ElementsAre(0, 0));
  EXPECT_THAT(gradients(pow_tensors, 0, 1), ElementsAre(1, 0));
  EXPECT_THAT(gradients(pow_tensors, 0, 2), ElementsAre(0, 0));
  EXPECT_THAT(gradients(pow_tensors, -2, 3)[0], 12);
  EXPECT_THAT(gradients(pow_tensors, kInf, 0)[0], 0);
  EXPECT_EQ(pow(full({}, kNan, on()), 0).item<double>(), 1);
  const Tensor x = of({-3, 0, 2});
  x.requires_grad_();
  const Tensor slope = grad({pow(x, 3)}, {x}, {ones({3}, on(float64))}, {.create_graph = true})[0];
  EXPECT_THAT(slope.to_vector<double>(), ElementsAre(27, 0, 12));
  EXPECT_THAT(grad({slope}, {x}, {ones({3}, on(float64))})[0].to_vector<double>(), ElementsAre(-18, 0, 12));
  const Tensor flat = grad({pow(x, 0)}, {x}, {ones({3}, on(float64))}, {.create_graph = true})[0];
  EXPECT_THAT(flat.to_vector<double>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(grad({flat}, {x}, {ones({3}, on(float64))})[0].to_vector<double>(), ElementsAre(0, 0, 0));
}

TEST_P(BinaryAt, SecondDerivativesOfPowersAtTheExponentZero) {
  // The mixed one is a^-1.
  EXPECT_THAT([](const Tensor& a, const Tensor& b) { return pow(a, b); },
              PassesGradGradCheck(of({2, 0.5, 4, 3}), of({0, 0, 0, 1})));
  const Tensor a = of({0.1, 0, kNan, kInf}), b = of({0, 0, 0, 0});
  a.requires_grad_();
  b.requires_grad_();
  const Tensor slope = grad({pow(a, b)}, {a}, {ones({4}, on(float64))}, {.create_graph = true})[0];
  EXPECT_THAT(slope.to_vector<double>(), ElementsAre(0, 0, 0, 0));
  EXPECT_NEAR(grad({slope}, {b}, {ones({4}, on(float64))})[0].to_vector<double>()[0], 10, 1e-12);
}

TEST_P(BinaryAt, IntegerPowers) {
  const Tensor base = of({-2, 3, 1, -1, 0, 5}, int64);
  EXPECT_THAT(pow(base, 3).to_vector<std::int64_t>(), ElementsAre(-8, 27, 1, -1, 0, 125));
  EXPECT_THAT(pow(base, -3).to_vector<std::int64_t>(), ElementsAre(0, 0, 1, -1, 0, 0));
  EXPECT_THAT(pow(base, 0).to_vector<std::int64_t>(), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(pow(2, of({0, 10, 62}, int64)).to_vector<std::int64_t>(), ElementsAre(1, 1024, std::int64_t{1} << 62));
}

TEST_P(BinaryAt, Comparisons) {
  const Tensor a = of({1, 2, 3, kNan}), b = of({2, 2, 2, 2});
  EXPECT_EQ(eq(a, b).dtype(), boolean);
  EXPECT_THAT(eq(a, b).to_vector<bool>(), ElementsAre(false, true, false, false));
  EXPECT_THAT(ne(a, b).to_vector<bool>(), ElementsAre(true, false, true, true));
  EXPECT_THAT(lt(a, b).to_vector<bool>(), ElementsAre(true, false, false, false));
  EXPECT_THAT(le(a, b).to_vector<bool>(), ElementsAre(true, true, false, false));
  EXPECT_THAT(gt(a, b).to_vector<bool>(), ElementsAre(false, false, true, false));
  EXPECT_THAT(ge(a, b).to_vector<bool>(), ElementsAre(false, true, true, false));
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  EXPECT_FALSE(eq(full({1}, big, on(int64)), big - 1).item<bool>()) << "integers compare as integers";
}

TEST_P(BinaryAt, Logic) {
  const Tensor a = of({0, 0, 2, kNan}), b = of({0, 1, 0, -1});
  EXPECT_THAT(logical_and(a, b).to_vector<bool>(), ElementsAre(false, false, false, true));
  EXPECT_THAT(logical_or(a, b).to_vector<bool>(), ElementsAre(false, true, true, true));
  EXPECT_THAT(logical_xor(a, b).to_vector<bool>(), ElementsAre(false, true, true, false));
}

TEST_P(BinaryAt, DtypesPromote) {
  const auto dtype = [&](DType a, DType b) { return add(ones({2}, on(a)), ones({2}, on(b))).dtype(); };
  EXPECT_EQ(dtype(float32, float64), float64);
  EXPECT_EQ(dtype(float16, bfloat16), float32);
  EXPECT_EQ(dtype(int64, float16), float16);
  EXPECT_EQ(dtype(uint8, int32), int32);
  EXPECT_EQ(dtype(boolean, boolean), boolean);
  EXPECT_EQ(add(of({1}, int32), of({0.5}, float64)).item<double>(), 1.5);
  EXPECT_EQ(div(of({3}, int64), of({2}, int64)).dtype(), float32);
  EXPECT_EQ(div(of({3}, int64), of({2}, int64)).item<double>(), 1.5);
}

TEST_P(BinaryAt, NumbersTakeTheTensorsDtype) {
  EXPECT_EQ(add(ones({2}, on(float16)), 0.5).dtype(), float16);
  EXPECT_EQ(add(ones({2}, on(int32)), 2).dtype(), int32);
  EXPECT_EQ(add(ones({2}, on(int32)), 0.5).dtype(), float32);
  EXPECT_EQ(add(ones({2}, on(boolean)), 1).dtype(), int64);
  EXPECT_EQ(mul(ones({2}, on(boolean)), true).dtype(), boolean);
  const std::int64_t big = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(add(zeros({1}, on(int64)), big).item<std::int64_t>(), big) << "no detour through double";
  // 0.1 is rounded to float16 first, as if it were a tensor.
  EXPECT_TRUE(eq(full({1}, 0.1, on(float16)), 0.1).item<bool>());
  EXPECT_THROW(add(ones({2}, on(uint8)), 300), ValueError);
  EXPECT_THROW(add(ones({2}, on(uint8)), -1), ValueError);
}

TEST_P(BinaryAt, IntegersWrap) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(add(full({1}, most, on(int64)), 1).item<std::int64_t>(), -most - 1);
  EXPECT_EQ(sub(full({1}, -most, on(int64)), 3).item<std::int64_t>(), most - 1);
  EXPECT_EQ(mul(full({1}, most, on(int64)), 2).item<std::int64_t>(), -2);
  EXPECT_EQ(add(full({1}, 200, on(uint8)), 100).item<std::int64_t>(), 44);
  EXPECT_EQ(mul(full({1}, 1 << 30, on(int32)), 4).item<std::int64_t>(), 0);
}

TEST_P(BinaryAt, MixedDtypesGiveEachSideItsGradient) {
  const Tensor a = ones({2, 3}, on(float32)), b = ones({3}, on(float64));
  a.requires_grad_();
  b.requires_grad_();
  mul(a, b).backward(ones({2, 3}, on(float64)));
  EXPECT_THAT(a.grad(), BitEqual(ones({2, 3})));
  EXPECT_THAT(b.grad(), BitEqual(full({3}, 2, {.dtype = float64})));
}

TEST_P(BinaryAt, WhereChooses) {
  const Tensor condition = tensor(std::vector<std::int64_t>{1, 0, 5}).to(device());
  EXPECT_THAT(where(condition, of({1, 2, 3}), of({4, 5, 6})).to_vector<double>(), ElementsAre(1, 5, 3));
  EXPECT_THAT(where(condition, 7, of({4, 5, 6})).to_vector<double>(), ElementsAre(7, 5, 7));
  EXPECT_THAT(where(condition, of({1, 2, 3}, int32), 9).to_vector<double>(), ElementsAre(1, 9, 3));
  EXPECT_THAT(where(condition, of({1}), full({2, 1}, 8, on(float64))), HasShape({2, 3}));
  EXPECT_THAT(masked_fill(of({1, 2, 3}), condition, -kInf).to_vector<double>(), ElementsAre(-kInf, 2, -kInf));
  for (DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean})
    EXPECT_THAT(where(condition, ones({3}, on(dtype)), zeros({3}, on(dtype))).to_vector<double>(),
                ElementsAre(1, 0, 1));
}

TEST_P(BinaryAt, WhereGradient) {
  const Tensor condition = of({1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1}).to(boolean);
  const Tensor mask(condition.storage(), 0, {3, 4}, {4, 1}, boolean);
  const Tensor row = of({0.3, 1.2, -0.7, 2.2}), square = test::repeated(row, 3).clone();
  EXPECT_THAT([&](const Tensor& a, const Tensor& b) { return where(mask, a, b); }, PassesGradCheck(square, row));
  EXPECT_THAT([&](const Tensor& a, const Tensor& b) { return where(mask, a * a, b * b); },
              PassesGradGradCheck(square, row));
  const Tensor x = of({1, 0});
  x.requires_grad_();
  // The side not chosen gets exactly 0, even from an infinite upstream gradient.
  const Tensor first = of({1, 0}).to(boolean);
  const Tensor g = grad({where(first, x, 0)}, {x}, {of({2, kInf})})[0];
  EXPECT_THAT(g.to_vector<double>(), ElementsAre(2, 0));
}

TEST_P(BinaryAt, InPlace) {
  const Tensor x = of({1, 2, 3, 4, 5, 6});
  const Tensor grid(x.storage(), 0, {2, 3}, {3, 1}, float64), turned(x.storage(), 0, {3, 2}, {1, 3}, float64);
  grid.add_(of({10, 20, 30}), 2);
  EXPECT_THAT(x.to_vector<double>(), ElementsAre(21, 42, 63, 24, 45, 66));
  turned.mul_(-1);
  EXPECT_THAT(x.to_vector<double>(), ElementsAre(-21, -42, -63, -24, -45, -66));
  x.add_(x);
  EXPECT_EQ(x.to_vector<double>()[0], -42);
  const Tensor corner(x.storage(), 0, {2, 2}, {3, 1}, float64), mirror(x.storage(), 0, {2, 2}, {1, 3}, float64);
  corner.add_(mirror);  // reads what it writes: as if from a copy
  EXPECT_THAT(x.to_vector<double>(), ElementsAre(-84, -132, -126, -132, -180, -132));
  const auto before = x.storage()->version();
  x.mul_(2);
  EXPECT_EQ(x.storage()->version(), before + 1);
}

TEST_P(BinaryAt, InPlaceRefuses) {
  const Tensor x = ones({2}, on());
  EXPECT_THROW(x.add_(ones({3}, on())), ShapeError);
  EXPECT_THROW(x.add_(ones({2, 2}, on())), ShapeError);
  EXPECT_THROW(test::repeated(x, 3).add_(x), ShapeError);
  EXPECT_THROW(ones({2}, on(int32)).add_(x), DTypeError);
  EXPECT_THROW(ones({2}, on(int32)).mul_(0.5), DTypeError);
  EXPECT_EQ(x.to_vector<float>()[0], 1) << "nothing is half done";
  const Tensor leaf = ones({2}, {.device = device(), .requires_grad = true});
  EXPECT_THROW(leaf.add_(x), AutogradError);
  EXPECT_THROW((leaf * 2).mul_(2), AutogradError);
  NoGrad guard;
  EXPECT_NO_THROW(leaf.add_(x, 0.5));
  EXPECT_EQ(leaf.to_vector<float>()[1], 1.5f);
}

TEST_P(BinaryAt, WholeQuotientsOfIntegers) {
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min(), large = (std::int64_t{1} << 62) + 1;
  const auto put = [&](const std::vector<std::int64_t>& values) { return tensor(values).to(device()); };
  const Tensor a = put({7, -7, 7, -7, 6, -6, 5, lowest, large}), b = put({2, 2, -2, -2, 3, 3, 0, -1, 1});
  EXPECT_THAT(div(a, b, Rounding::floor).to_vector<std::int64_t>(), ElementsAre(3, -4, -4, 3, 2, -2, 0, lowest, large));
  EXPECT_THAT(div(a, b, Rounding::trunc).to_vector<std::int64_t>(), ElementsAre(3, -3, -3, 3, 2, -2, 0, lowest, large));
  EXPECT_EQ(div(a.to(int32), 2, Rounding::floor).dtype(), int32);
  EXPECT_EQ(div(full({}, 255, on(uint8)), 2, Rounding::floor).item<std::uint8_t>(), 127);
  EXPECT_THAT(div(7, put({2, -2}), Rounding::floor).to_vector<std::int64_t>(), ElementsAre(3, -4));
}

TEST_P(BinaryAt, WholeQuotientsOfFloats) {
  // As Python's //: 0.1 is a little more than a tenth.
  struct Quotient {
    double a, b, floor, trunc;
  };
  for (const DType dtype : {float32, float64})
    for (const auto& [a, b, down, cut] : {Quotient{7, 2, 3, 3},
                                          {-7, 2, -4, -3},
                                          {7, -2, -4, -3},
                                          {-7, -2, 3, 3},
                                          {1, 0.1, 9, 10},
                                          {-1, 0.1, -10, -10},
                                          {6, 3, 2, 2},
                                          {-6, 3, -2, -2},
                                          {1, kInf, 0, 0},
                                          {-1, kInf, -1, -0.0},
                                          {0, -2, -0.0, -0.0},
                                          {1, 0, kInf, kInf},
                                          {kInf, 1, kNan, kInf},
                                          {kNan, 1, kNan, kNan}}) {
      const Tensor x = full({}, a, on(dtype)), y = full({}, b, on(dtype));
      EXPECT_THAT(div(x, y, Rounding::floor), BitEqual(full({}, down, on(dtype)))) << a << " by " << b;
      EXPECT_THAT(div(x, y, Rounding::trunc), BitEqual(full({}, cut, on(dtype)))) << a << " by " << b;
    }
  const Tensor x = full({3}, 7, on()), y = full({3}, 2, on());
  x.requires_grad_();
  y.requires_grad_();
  for (const Tensor& g : grad({div(x, y, Rounding::floor)}, {x, y}, {ones({3}, on())}))
    EXPECT_THAT(g.to_vector<float>(), ElementsAre(0, 0, 0));
}

TEST_P(BinaryAt, Errors) {
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
  EXPECT_THROW(where(a, 1, 2), ShapeError);
  EXPECT_THROW(masked_fill(b, ones({2, 4}, on()), 0), ShapeError);
  if (device() == Device::cuda) {
    try {
      add(a, ones({2, 3}));
      FAIL();
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("on cuda"));
      EXPECT_THAT(error.what(), ::testing::HasSubstr("on cpu"));
    }
    EXPECT_THROW(where(ones({3}), b, b), DeviceError);
    EXPECT_THROW(a.add_(ones({2, 3})), DeviceError);
  }
}

}  // namespace
}  // namespace tally
