// The training run: model, optimizer, shuffles, and everything that a checkpoint holds.
#pragma once

#include <memory>

#include <tally/core/random.h>
#include <tally/examples/classifier/dataset.h>
#include <tally/examples/support/confusion.h>
#include <tally/examples/support/metrics.h>
#include <tally/examples/support/progress.h>
#include <tally/nn/checkpoint.h>
#include <tally/nn/optimizer.h>
#include <tally/nn/sequential.h>

namespace tally::examples {

class Training {
 public:
  Training(const ClassifierOptions& options, Dataset data);

  /// One pass over the shuffled training images, then over the test images. A last batch of one image is left out:
  /// batch norm cannot train on it.
  EpochMetrics run_epoch(Progress* progress = nullptr);

  struct TestResult {
    Confusion confusion;
    double loss = 0;
  };
  TestResult test();

  std::int64_t epochs_done() const { return static_cast<std::int64_t>(history_.epochs.size()); }
  const History& history() const { return history_; }
  nn::Sequential& model() { return model_; }

  void save(const std::string& path);
  /// Throws ValueError for a checkpoint of another recipe, naming what differs.
  void load(const std::string& path);

 private:
  struct Step {
    Tensor loss, accuracy, gradient_norm;  // on the device: nothing waits for them
  };
  /// Trains on the images that `rows` picks.
  Step step(const Tensor& rows);
  double learning_rate() const;
  double largest_norm() const;  // infinity: no clipping
  nn::Metadata recipe() const;

  ClassifierOptions options_;
  Dataset data_;
  Generator generator_;
  nn::Sequential model_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  std::int64_t steps_per_epoch_, steps_done_ = 0;
  History history_;
};

}  // namespace tally::examples
