#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include <tally/examples/support/progress.h>
#include <tally/examples/support/text.h>

namespace tally::examples {
namespace {

using testing::HasSubstr;
using testing::Not;

RunState half_way() {
  RunState state;
  state.epoch = 3;
  state.epochs = 4;
  state.step = 0;
  state.steps = 10;
  state.loss = 0.25;
  state.accuracy = 0.9125;
  state.gradient_norm = 1.5;
  state.clipped_share = 0.4;
  return state;
}

Terminal plain() { return {}; }

Terminal drawing(bool utf8, std::size_t width) {
  Terminal terminal;
  terminal.redraws = true;
  terminal.utf8 = utf8;
  terminal.width = [width] { return width; };
  return terminal;
}

TEST(Duration, ReadsLikeAClock) {
  EXPECT_EQ(duration(0), "0:00");
  EXPECT_EQ(duration(41.2), "0:42");
  EXPECT_EQ(duration(59.5), "1:00");
  EXPECT_EQ(duration(725), "12:05");
  EXPECT_EQ(duration(3723), "1:02:03");
  EXPECT_EQ(duration(kNotMeasured), "-:--");
  EXPECT_EQ(duration(-1), "-:--");
  EXPECT_EQ(duration(1e300), "-:--");
}

TEST(BarLine, ShowsEverythingWhereThereIsRoom) {
  const std::string line = bar_line(half_way(), 42, plain(), 120);
  EXPECT_EQ(line,
            "epoch 3/4  [################----------------]  50%  loss 0.2500  acc 91.2%  |g| 1.5    clipped  40%  0:42 "
            "left");
}

TEST(BarLine, DropsTheLeastImportantFirstAndNeverOverflows) {
  for (const bool utf8 : {false, true})
    for (std::size_t width = 1; width < 140; ++width)
      EXPECT_LE(display_width(bar_line(half_way(), 42, drawing(utf8, width), width)), width) << width;
  const std::string narrow = bar_line(half_way(), 42, plain(), 60);
  EXPECT_THAT(narrow, HasSubstr("loss 0.2500"));
  EXPECT_THAT(narrow, Not(HasSubstr("clipped")));
}

TEST(BarLine, FillsByEighths) {
  RunState state = half_way();
  state.epochs = 1;
  state.epoch = 1;
  state.step = 1;
  state.steps = 64;  // an eighth of the first of 8 columns
  Terminal terminal = drawing(true, 0);
  const std::string line = bar_line(state, 42, terminal, 26);
  EXPECT_THAT(line, HasSubstr("▕▏       ▏"));
  state.step = 64;
  EXPECT_THAT(bar_line(state, 42, terminal, 26), HasSubstr("▕████████▏ 100%"));
  terminal.colour = true;
  EXPECT_THAT(bar_line(state, 42, terminal, 26), HasSubstr("\x1b[36m▕████████▏\x1b[0m"));
}

TEST(Progress, RedrawsInPlaceAndTakesTheBarAway) {
  std::ostringstream out;
  double now = 100;
  {
    Progress progress(out, drawing(false, 100), 0, [&] { return now; });
    EXPECT_FALSE(progress.due());
    now += 20;
    EXPECT_TRUE(progress.due());
    progress.draw(half_way());
    EXPECT_FALSE(progress.due());
    EXPECT_THAT(out.str(), HasSubstr("\repoch 3/4"));
    EXPECT_THAT(out.str(), HasSubstr("0:20 left\x1b[K"));  // half of the run took 20 seconds
    EXPECT_THAT(out.str(), Not(HasSubstr("\n")));
    EpochMetrics epoch;
    epoch.epoch = 3;
    epoch.train_loss = 0.5;
    progress.end_epoch(epoch, 4);
    EXPECT_THAT(out.str(), HasSubstr("\r\x1b[Kepoch 3/4  loss 0.5000"));
    EXPECT_EQ(out.str().back(), '\n');
    progress.draw(half_way());
  }
  EXPECT_TRUE(out.str().ends_with("\r\x1b[K"));
}

TEST(Progress, WritesPlainLinesNowAndThenElsewhere) {
  std::ostringstream out;
  double now = 0;
  Progress progress(out, plain(), 0.25, [&] { return now; });
  now = 4.9;
  EXPECT_FALSE(progress.due());
  now = 5;
  EXPECT_TRUE(progress.due());
  progress.draw(half_way());  // a quarter took 5 seconds, a half is left
  EXPECT_EQ(out.str(), "epoch 3/4  step  0/10  loss 0.2500  acc 91.2%  |g| 1.5    clipped  40%  0:10 left\n");
}

TEST(Progress, ShowsThatALossIsNotANumber) {
  RunState state = half_way();
  state.loss = kNotMeasured;
  EXPECT_THAT(plain_line(state, 1), HasSubstr("loss nan"));
}

}  // namespace
}  // namespace tally::examples
