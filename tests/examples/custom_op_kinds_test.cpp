#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <tally/autograd/gtest.h>
#include <tally/examples/custom_op_kinds.h>

#include "../support/devices.h"

namespace tally::examples {
namespace {

class CustomOpKinds : public test::OnDevice {
 protected:
  Tensor leaf(const std::vector<double>& values, const Shape& shape) const {
    return tensor(values, shape, device()).requires_grad_();
  }
};
TALLY_TEST_ON_DEVICES(CustomOpKinds);

const std::vector<double> kPoints = {-2, -0.3, 0.7, 3};

std::vector<double> each(double (*f)(double)) {
  std::vector<double> values;
  for (const double x : kPoints) values.push_back(f(x));
  return values;
}
const std::vector<double> kSin = each([](double x) { return std::sin(x); });
const std::vector<double> kCos = each([](double x) { return std::cos(x); });
const std::vector<double> kMinusSin = each([](double x) { return -std::sin(x); });

TEST_P(CustomOpKinds, SeveralResults) {
  const Tensor x = leaf(kPoints, {4});
  const std::vector<Tensor> y = sin_and_cos(x);
  EXPECT_THAT(y[0], AllClose(tensor(kSin, {4}), 1e-14));
  EXPECT_THAT(y[1], AllClose(tensor(kCos, {4}), 1e-14));
  // sin² + cos² is 1 everywhere: the two gradients cancel.
  sum(y[0] * y[0] + y[1] * y[1]).backward();
  EXPECT_THAT(x.grad(), AllClose(zeros({4}, {.dtype = float64}), 0, 1e-15));
  EXPECT_THAT(sin_and_cos, PassesGradCheck(x));
  EXPECT_THAT(sin_and_cos, PassesGradGradCheck(x));
}

TEST_P(CustomOpKinds, AResultThatNobodyUsedReadsAsZeros) {
  const Tensor a = leaf(kPoints, {4}), b = leaf(kPoints, {4});
  sum(sin_and_cos(a)[0]).backward();
  EXPECT_THAT(a.grad(), AllClose(tensor(kCos, {4}), 1e-14));
  sum(sin_and_cos(b)[1]).backward();
  EXPECT_THAT(b.grad(), AllClose(tensor(kMinusSin, {4}), 1e-14));
}

TEST_P(CustomOpKinds, ArgumentsThatAreNoTensors) {
  const Tensor x = leaf({-4, -0.5, 0.25, 8}, {4});
  const Tensor y = leaky_relu(x, 0.25);
  EXPECT_THAT(y, BitEqual(tensor(std::vector{-1.0, -0.125, 0.25, 8.0})));
  sum(y * 3).backward();
  EXPECT_THAT(x.grad(), BitEqual(tensor(std::vector{0.75, 0.75, 3.0, 3.0})));
  for (const double slope : {-1.0, 0.0, 0.5})
    EXPECT_THAT(([slope](const Tensor& x) { return leaky_relu(x, slope); }), PassesGradCheck(x)) << slope;
}

TEST_P(CustomOpKinds, IntegerResultsCarryNoGradient) {
  const Tensor x = leaf({3, 7, 2, 9, 4, 8}, {2, 3}), bias = leaf({0, 0, 2}, {3});
  const Largest largest = largest_of_rows(x, bias);  // 3 7 4, 9 4 10
  EXPECT_THAT(largest.values, BitEqual(tensor(std::vector{7.0, 8.0})));
  EXPECT_THAT(largest.places, BitEqual(tensor(std::vector<std::int64_t>{1, 2})));
  EXPECT_TRUE(largest.values.requires_grad());
  EXPECT_FALSE(largest.places.requires_grad());
  EXPECT_TRUE(largest.places.is_leaf());
  sum(largest.values * tensor(std::vector{5.0, -1.0}, {2}, device())).backward();
  EXPECT_THAT(x.grad(), AllClose(tensor(std::vector{0.0, 5.0, 0.0, 0.0, 0.0, -1.0}, {2, 3}), 0, 0));
  EXPECT_FALSE(bias.grad().defined());  // the op said so
}

TEST_P(CustomOpKinds, SecondDerivativesPassASavedInteger) {
  const Tensor x = leaf({3, 7, 2, 9, 4, 8}, {2, 3}), bias = zeros({3}, on(float64));
  // values² has the gradient 2·values at the places, and that has 2 there.
  const Tensor values = largest_of_rows(x, bias).values;
  const Tensor slope = grad({sum(values * values)}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(slope, BitEqual(tensor(std::vector{0.0, 14.0, 0.0, 18.0, 0.0, 0.0}, {2, 3})));
  EXPECT_THAT(grad({sum(slope)}, {x})[0], BitEqual(tensor(std::vector{0.0, 2.0, 0.0, 2.0, 0.0, 0.0}, {2, 3})));
}

TEST_P(CustomOpKinds, ASavedIntegerResultComesBackWithoutHistory) {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor places = tensor(std::vector<std::int64_t>{4, 5}, {2}, device());
  bool seen = false;
  const auto y = record("both", {x}, std::vector{x.clone(), places}, saving(output[0], output[1]),
                        [&seen](const std::vector<Tensor>& grads, const Tensor& value, const Tensor& places) {
                          seen = value.requires_grad() && !places.requires_grad() && places.is_leaf();
                          return std::vector{grads[0]};
                        });
  sum(y[0]).backward();
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace tally::examples
