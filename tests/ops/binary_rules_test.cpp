// What two-sided ops make of special operands: ties, zeros and NaN, powers of zero and of integers, whole quotients,
// comparisons and logic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/ops/binary.h>

#include "../support/devices.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Tensor pow_tensors(const Tensor& a, const Operand& b, Where where) { return pow(a, b, where); }

class BinaryRules : public test::OnDevice {
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
TALLY_TEST_ON_DEVICES(BinaryRules);

TEST_P(BinaryRules, MaximumAtTiesNanAndZeros) {
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

TEST_P(BinaryRules, PowerRules) {
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

TEST_P(BinaryRules, SecondDerivativesOfPowersAtTheExponentZero) {
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

TEST_P(BinaryRules, IntegerPowers) {
  const Tensor base = of({-2, 3, 1, -1, 0, 5}, int64);
  EXPECT_THAT(pow(base, 3).to_vector<std::int64_t>(), ElementsAre(-8, 27, 1, -1, 0, 125));
  EXPECT_THAT(pow(base, -3).to_vector<std::int64_t>(), ElementsAre(0, 0, 1, -1, 0, 0));
  EXPECT_THAT(pow(base, 0).to_vector<std::int64_t>(), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(pow(2, of({0, 10, 62}, int64)).to_vector<std::int64_t>(), ElementsAre(1, 1024, std::int64_t{1} << 62));
}

TEST_P(BinaryRules, WholeQuotientsOfIntegers) {
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min(), large = (std::int64_t{1} << 62) + 1;
  const auto put = [&](const std::vector<std::int64_t>& values) { return tensor(values).to(device()); };
  const Tensor a = put({7, -7, 7, -7, 6, -6, 5, lowest, large}), b = put({2, 2, -2, -2, 3, 3, 0, -1, 1});
  EXPECT_THAT(div(a, b, Rounding::floor).to_vector<std::int64_t>(), ElementsAre(3, -4, -4, 3, 2, -2, 0, lowest, large));
  EXPECT_THAT(div(a, b, Rounding::trunc).to_vector<std::int64_t>(), ElementsAre(3, -3, -3, 3, 2, -2, 0, lowest, large));
  EXPECT_EQ(div(a.to(int32), 2, Rounding::floor).dtype(), int32);
  EXPECT_EQ(div(full({}, 255, on(uint8)), 2, Rounding::floor).item<std::uint8_t>(), 127);
  EXPECT_THAT(div(7, put({2, -2}), Rounding::floor).to_vector<std::int64_t>(), ElementsAre(3, -4));
}

TEST_P(BinaryRules, WholeQuotientsOfFloats) {
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

TEST_P(BinaryRules, Comparisons) {
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

TEST_P(BinaryRules, Logic) {
  const Tensor a = of({0, 0, 2, kNan}), b = of({0, 1, 0, -1});
  EXPECT_THAT(logical_and(a, b).to_vector<bool>(), ElementsAre(false, false, false, true));
  EXPECT_THAT(logical_or(a, b).to_vector<bool>(), ElementsAre(false, true, true, true));
  EXPECT_THAT(logical_xor(a, b).to_vector<bool>(), ElementsAre(false, true, true, false));
}

}  // namespace
}  // namespace tally
