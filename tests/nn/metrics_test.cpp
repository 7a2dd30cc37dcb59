#include <tally/core/error.h>
#include <tally/nn/metrics.h>

#include "support.h"

namespace tally::nn {
namespace {

using MetricsTest = OnEachDevice;
TALLY_ON_EACH_DEVICE(MetricsTest);

TEST_P(MetricsTest, AccuracyTakesTheFirstLargest) {
  const Tensor logits = make({1, 2, 0, 5, 5, 1, 0, 0, 3}, {3, 3});
  EXPECT_EQ(predicted_classes(logits).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_TRUE(near(accuracy(logits, classes({1, 1, 2})), {2.0 / 3}));
  EXPECT_THROW(accuracy(logits, classes({1, 1})), ShapeError);
}

TEST_P(MetricsTest, ConfusionCounts) {
  const Tensor counts = confusion_matrix(classes({0, 0, 1, 2, 2, 2}), classes({0, 1, 1, 2, 2, 0}), 3);
  EXPECT_EQ(counts.dtype(), int64);
  EXPECT_EQ(counts.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 1, 0, 0, 1, 0, 1, 0, 2}));
  EXPECT_THROW(confusion_matrix(classes({0, 3}), classes({0, 0}), 3).to_vector<double>(), IndexError);
}

}  // namespace
}  // namespace tally::nn
