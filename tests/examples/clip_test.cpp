#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <tally/autograd/gtest.h>
#include <tally/examples/clip/picture.h>
#include <tally/tally.h>

#include "../support/devices.h"
#include "xml.h"

namespace tally::examples {
namespace {

class Clip : public test::OnDevice {
 protected:
  AdderOptions options() const { return {.device = device()}; }
};
TALLY_TEST_ON_DEVICES(Clip);

struct Exact {
  double loss, by_w, by_u, norm;
};
// h = u · sum of x_t·w^(T-1-t), so the gradient has a closed form.
Exact closed_form(const AdderOptions& options, std::int64_t step, double w, double u) {
  const std::vector<double> x = adder_lists(options, step).to_vector<double>();
  const std::size_t length = static_cast<std::size_t>(options.length), rows = x.size() / length;
  Exact exact{};
  for (std::size_t row = 0; row < rows; ++row) {
    double value = 0, slope = 0, target = 0;
    for (std::size_t t = 0; t < length; ++t) {
      const double power = static_cast<double>(length - 1 - t), one = x[row * length + t];
      value += one * std::pow(w, power);
      slope += one * power * std::pow(w, power - 1);
      target += one;
    }
    const double error = u * value - target;
    exact.loss += error * error / static_cast<double>(rows);
    exact.by_w += 2 * error * u * slope / static_cast<double>(rows);
    exact.by_u += 2 * error * value / static_cast<double>(rows);
  }
  exact.norm = std::hypot(exact.by_w, exact.by_u);
  return exact;
}

// Each step from where the run stood: what it measured, and where it went.
void expect_closed_form(const AdderOptions& options, const std::vector<AdderStep>& steps, double max_norm) {
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const AdderStep& at = steps[i];
    const Exact exact = closed_form(options, static_cast<std::int64_t>(i), at.w, at.u);
    const double scale = max_norm > 0 && exact.norm > max_norm ? max_norm / exact.norm : 1;
    EXPECT_NEAR(at.loss, exact.loss, 1e-4 * exact.loss) << i;
    EXPECT_NEAR(at.gradient_norm, exact.norm, 1e-3 * exact.norm) << i;
    const double move = options.learning_rate * scale;
    EXPECT_NEAR(steps[i + 1].w, at.w - move * exact.by_w, 1e-3 * move * exact.norm + 1e-6 * std::abs(at.w)) << i;
    EXPECT_NEAR(steps[i + 1].u, at.u - move * exact.by_u, 1e-3 * move * exact.norm + 1e-6 * std::abs(at.u)) << i;
  }
}

TEST_P(Clip, WithoutItTheLossExplodes) {
  const std::vector<AdderStep> steps = train_adder(options(), 0);
  EXPECT_LT(steps.size(), 20u);
  EXPECT_FALSE(std::isfinite(steps.back().loss));
  EXPECT_LT(steps[4].loss, steps[0].loss);  // it had been learning
  expect_closed_form(options(), steps, 0);
}

TEST_P(Clip, WithItTheLossFalls) {
  AdderOptions options = this->options();
  if (device() == Device::cuda) options.steps = 30;
  const std::vector<AdderStep> steps = train_adder(options, 1);
  ASSERT_EQ(steps.size(), static_cast<std::size_t>(options.steps));
  expect_closed_form(options, steps, 1);
  // A step is at most the limit times the rate.
  for (std::size_t i = 1; i < steps.size(); ++i)
    EXPECT_LE(std::hypot(steps[i].w - steps[i - 1].w, steps[i].u - steps[i - 1].u), options.learning_rate * 1.001);
  if (device() == Device::cpu) {
    EXPECT_LT(steps.back().loss, steps.front().loss / 20);
    EXPECT_NEAR(steps.back().w, 1, 0.05);
  }
}

TEST_P(Clip, TheGradientPassesTheCheck) {
  AdderOptions options = this->options();
  options.length = 6;
  options.batch = 3;
  const Tensor x = adder_lists(options, 0);
  EXPECT_THAT([](const Tensor& w, const Tensor& u, const Tensor& x) { return adder_loss(w, u, x); },
              PassesGradCheck(full({}, 0.8, on()), full({}, 0.5, on()), x));
}

TEST_P(Clip, ListsAreEqualOnBothDevicesAndDifferFromStepToStep) {
  AdderOptions here;
  EXPECT_THAT(adder_lists(options(), 3).to(Device::cpu), BitEqual(adder_lists(here, 3)));
  EXPECT_THAT(adder_lists(options(), 4), testing::Not(BitEqual(adder_lists(options(), 3))));
}

TEST(ClipPicture, ShowsBothRuns) {
  std::vector<AdderStep> clipped, unclipped;
  for (int i = 0; i < 50; ++i) clipped.push_back({0.8, 0.5, 10.0 / (i + 1), 5});
  for (int i = 0; i < 5; ++i) unclipped.push_back({0.8, 0.5, std::pow(10.0, 3 * i), 5});
  unclipped.push_back({0.8, 0.5, INFINITY, NAN});
  const std::string svg = clip_svg(unclipped, clipped, 1);
  test::expect_well_formed(svg);
  for (const char* text : {"without clipping", "clipped", "Loss, first steps", "Gradient norm", "ends after 6 steps"})
    EXPECT_THAT(svg, testing::HasSubstr(text));
  EXPECT_THAT(clip_svg(clipped, clipped, 1), testing::HasSubstr("stays finite for 50 steps"));
}

TEST(ClipPicture, StaysWellFormedForAnyRun) {
  const std::vector<AdderStep> broken{{0, 0, NAN, NAN}}, one{{0, 0, 1, 1}}, zero{{0, 0, 0, 0}, {0, 0, 0, 0}};
  for (const auto& a : {broken, one, zero})
    for (const auto& b : {broken, one, zero}) test::expect_well_formed(clip_svg(a, b, 1));
}

}  // namespace
}  // namespace tally::examples
