// What a training run measures, and metrics.csv.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tally::examples {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct StepMetrics {
  double epoch = 0;  // epochs done after this step: 2.5 in the middle of the third
  double loss = kNotMeasured;
  double gradient_norm = kNotMeasured;  // before clipping
  bool clipped = false;
};

struct EpochMetrics {
  std::int64_t epoch = 0;  // from 1
  double learning_rate = kNotMeasured;
  double train_loss = kNotMeasured, train_accuracy = kNotMeasured;  // means over the epoch's steps; accuracies 0 to 1
  double test_loss = kNotMeasured, test_accuracy = kNotMeasured;
  double gradient_norm = kNotMeasured;  // mean over the epoch's steps, before clipping
  double clipped_share = kNotMeasured;  // of the epoch's steps, 0 to 1
  double seconds = kNotMeasured;
};

struct History {
  std::vector<StepMetrics> steps;
  std::vector<EpochMetrics> epochs;
};

/// One line an epoch under a line of names; each number reads back to the same bits, what is not measured is `nan`.
/// Writes atomically, throws IoError.
void write_metrics(const std::string& path, std::span<const EpochMetrics> epochs);

/// Reads what write_metrics wrote, for a run that goes on; throws IoError with the line's number for anything else.
std::vector<EpochMetrics> read_metrics(const std::string& path);

}  // namespace tally::examples
