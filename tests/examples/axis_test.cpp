#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <tally/examples/support/axis.h>

namespace tally::examples {
namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> texts;
  for (const double tick : axis.ticks) texts.push_back(tick_label(tick));
  return texts;
}

using Labels = std::vector<std::string>;

TEST(Axis, LinearTicksAreRound) {
  EXPECT_EQ(labels(linear_axis(0, 1, 5)), (Labels{"0", "0.2", "0.4", "0.6", "0.8", "1"}));
  EXPECT_EQ(labels(linear_axis(0, 30, 6)), (Labels{"0", "5", "10", "15", "20", "25", "30"}));
  EXPECT_EQ(labels(linear_axis(86.2, 97.9, 5)), (Labels{"85", "90", "95", "100"}));
  EXPECT_EQ(labels(linear_axis(-0.3, 0.3, 4)), (Labels{"-0.4", "-0.2", "0", "0.2", "0.4"}));
}

TEST(Axis, LogTicksAreRound) {
  EXPECT_EQ(labels(log_axis(0.03, 2.3)), (Labels{"0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5"}));
  EXPECT_EQ(labels(log_axis(1e-5, 30)), (Labels{"1e-5", "0.0001", "0.001", "0.01", "0.1", "1", "10", "100"}));
  EXPECT_EQ(labels(log_axis(1, 1)).front(), "1");
}

TEST(Axis, PlacesValues) {
  const Axis linear = linear_axis(0, 10, 5);
  EXPECT_DOUBLE_EQ(linear.at(0), 0);
  EXPECT_DOUBLE_EQ(linear.at(2.5), 0.25);
  EXPECT_DOUBLE_EQ(linear.at(20), 1);
  const Axis log = log_axis(0.01, 100);
  EXPECT_DOUBLE_EQ(log.at(1), 0.5);
}

TEST(Axis, TakesTheScaleThatFits) {
  EXPECT_FALSE(axis_for(0, 100, 5).logarithmic);
  EXPECT_FALSE(axis_for(1, 19, 5).logarithmic);
  EXPECT_TRUE(axis_for(0.1, 2, 5).logarithmic);
}

// Any range is covered, by ticks that are few and rise.
TEST(Axis, CoversAnyRange) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-12, 12), part(0, 1);
  for (int i = 0; i < 2000; ++i) {
    const double high = std::pow(10, exponent(random)), low = i % 3 == 0 ? high : high * part(random);
    for (const Axis& axis : {linear_axis(low, high, 5), linear_axis(-high, -low, 5), log_axis(low, high)}) {
      const double slack = 1e-3 * std::abs(axis.high - axis.low);
      EXPECT_LE(axis.low, (axis.high <= 0 ? -high : low) + slack);
      EXPECT_GE(axis.high, (axis.high <= 0 ? -low : high) - slack);
      EXPECT_GE(axis.ticks.size(), 2u);
      EXPECT_LE(axis.ticks.size(), 12u);
      for (std::size_t k = 1; k < axis.ticks.size(); ++k) EXPECT_LT(axis.ticks[k - 1], axis.ticks[k]);
    }
  }
}

}  // namespace
}  // namespace tally::examples
