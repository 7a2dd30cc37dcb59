#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/core/error.h>
#include <tally/examples/support/metrics.h>

#include "../nn/data/scratch.h"

namespace tally::examples {
namespace {

using test::error_text;
using test::Scratch;
using testing::HasSubstr;

const std::string kNames =
    "epoch,learning_rate,train_loss,train_accuracy,test_loss,test_accuracy,gradient_norm,clipped_share,seconds\n";

TEST(Metrics, WritesAndReadsBackTheSameBits) {
  const Scratch scratch;
  std::vector<EpochMetrics> epochs(2);
  epochs[0] = {1, 1e-3, 0.1, 1.0 / 3, 2.5, 0.75, std::numeric_limits<double>::infinity(), 0, 1e-300};
  epochs[1].epoch = 2;
  write_metrics(scratch.file("metrics.csv"), epochs);
  EXPECT_EQ(scratch.get("metrics.csv"), kNames +
                                            "1,0.001,0.1,0.3333333333333333,2.5,0.75,inf,0,1e-300\n"
                                            "2,nan,nan,nan,nan,nan,nan,nan,nan\n");
  const std::vector<EpochMetrics> read = read_metrics(scratch.file("metrics.csv"));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].epoch, 1);
  EXPECT_EQ(read[0].train_accuracy, 1.0 / 3);
  EXPECT_EQ(read[0].seconds, 1e-300);
  EXPECT_TRUE(std::isinf(read[0].gradient_norm));
  EXPECT_TRUE(std::isnan(read[1].test_accuracy));
}

TEST(Metrics, NamesALineThatIsDamaged) {
  const Scratch scratch;
  const auto read = [&](const std::string& text) {
    return error_text<IoError>([&] { read_metrics(scratch.put("m", text)); });
  };
  EXPECT_THAT(read(""), HasSubstr("does not start with the line epoch,learning_rate"));
  const std::string good = "1,1,1,1,1,1,1,1,1\n";
  EXPECT_EQ(read_metrics(scratch.put("m", kNames + good)).size(), 1u);
  EXPECT_THAT(read(kNames + good + "2,1,1\n"), HasSubstr("line 3 does not hold 9 numbers"));
  EXPECT_THAT(read(kNames + "1,1,1,1,1,1,1,1,x\n"), HasSubstr("line 2"));
  EXPECT_THAT(read(kNames + "1,1,1,1,1,1,1,1,1,1\n"), HasSubstr("line 2"));
  EXPECT_THAT(read(kNames + "\n"), HasSubstr("line 2"));
}

}  // namespace
}  // namespace tally::examples
