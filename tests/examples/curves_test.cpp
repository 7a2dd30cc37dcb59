#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <tally/examples/support/curves.h>
#include <tally/examples/support/svg.h>

#include "xml.h"

namespace tally::examples {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

History run(int epochs, int steps) {
  History history;
  for (int e = 1; e <= epochs; ++e) {
    for (int s = 1; s <= steps; ++s) {
      StepMetrics step;
      step.epoch = e - 1 + static_cast<double>(s) / steps;
      step.loss = 2 / step.epoch;
      step.gradient_norm = 1 / step.epoch;
      history.steps.push_back(step);
    }
    history.epochs.push_back({e, 1e-3, 2.0 / e, 0.9, 2.1 / e, 0.875, 1.0 / e, 0.25, 1});
  }
  return history;
}

TEST(Curves, HoldTheFourCharts) {
  const std::string svg = curves_svg(run(5, 20), "digits", 0.5);
  test::expect_well_formed(svg);
  for (const char* text : {"Loss", "Accuracy", "Gradient norm before clipping", "Share of steps clipped", "limit 0.5",
                           "5 epochs, test accuracy 87.50 %", "87.50 %", "epoch", "prefers-color-scheme: dark"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_EQ(occurrences(svg, "class=\"green-fill\""), 5u);  // a bar an epoch
}

TEST(Curves, StayWellFormedForAnyHistory) {
  test::expect_well_formed(curves_svg({}, "nothing", 0));
  test::expect_well_formed(curves_svg(run(1, 1), "one", 1));
  test::expect_well_formed(curves_svg(run(3, 0), "no steps", 1));
  History only_steps = run(2, 5);
  only_steps.epochs.clear();
  test::expect_well_formed(curves_svg(only_steps, "no epochs", 1));
  History constant = run(3, 3);
  for (StepMetrics& step : constant.steps) step.loss = step.gradient_norm = 0;
  for (EpochMetrics& epoch : constant.epochs)
    epoch.train_loss = epoch.test_loss = epoch.gradient_norm = epoch.train_accuracy = epoch.test_accuracy = 0;
  test::expect_well_formed(curves_svg(constant, "zeros", 1));
}

TEST(Curves, LeaveGapsAndSayHowMany) {
  History history = run(5, 4);
  const std::string whole = curves_svg(history, "whole", 0);
  EXPECT_THAT(whole, Not(HasSubstr("not finite")));
  history.epochs[2].train_loss = std::numeric_limits<double>::quiet_NaN();
  history.steps[9].loss = std::numeric_limits<double>::infinity();
  const std::string svg = curves_svg(history, "gaps", 0);
  test::expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("1 values not finite"));
  // The training curve and the steps' curve fall into two pieces each.
  EXPECT_EQ(occurrences(svg, "<polyline"), occurrences(whole, "<polyline") + 2);
}

TEST(Curves, ManyStepsMakeNoLargeFile) { EXPECT_LT(curves_svg(run(10, 2000), "long", 1).size(), 60000u); }

TEST(Svg, EscapesText) {
  EXPECT_EQ(svg_escape("<a href=\"x\">&\n"), "&lt;a href=&quot;x&quot;&gt;&amp; ");
  EXPECT_EQ(svg_escape("Bäg"), "Bäg");
}

}  // namespace
}  // namespace tally::examples
