// Sums whose parts lie on both sides of a step of the unbounded exponent (core/wide.h): the smaller one still counts.
#include <gtest/gtest.h>

#include <cmath>

#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/tests/support/devices.h>

namespace tally {
namespace {

class WideSteps : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(WideSteps);

TEST_P(WideSteps, SquaresOnBothSidesOfAStep) {
  // 2^62 + 2^58 = 17 · 2^58: exact in float32, and its root is one rounding away.
  const float root = std::sqrt(17.0f);
  for (const float size : {0x1p29f, 0x1p-31f, 0x1p59f, 0x1p-61f}) {
    const Tensor x = tensor({4.0 * size, 1.0 * size}, on());
    EXPECT_EQ(norm(x).item<float>(), root * size) << size;
    // Deviations from the mean are 1.5 · size both.
    EXPECT_EQ(tally::std(x).item<float>(), 1.5f * size) << size;
  }
  const double wide = 0x1p249;
  EXPECT_EQ(norm(tensor({4 * wide, wide}, on(float64))).item<double>(), std::sqrt(17.0) * wide);
}

}  // namespace
}  // namespace tally
