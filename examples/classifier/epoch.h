// What the steps of one epoch measured. Read from the device in one go, and only when somebody looks.
#pragma once

#include <vector>

#include <tally/core/tensor.h>
#include <tally/examples/support/metrics.h>
#include <tally/examples/support/progress.h>

namespace tally::examples {

class EpochMeasures {
 public:
  /// `clip`: the gradient norm above which a step was clipped.
  EpochMeasures(std::int64_t epoch, std::int64_t epochs, std::int64_t steps, double clip);

  void add(std::int64_t images, const Tensor& loss, const Tensor& accuracy, const Tensor& gradient_norm);
  RunState state();
  EpochMetrics metrics();
  std::vector<StepMetrics> steps();

 private:
  struct Series {
    std::vector<Tensor> unread;
    std::vector<double> values;
    void read();
  };
  void read();
  double mean(const Series& series, bool by_images) const;

  std::int64_t epoch_, epochs_, steps_;
  double clip_;
  std::vector<double> images_;
  Series loss_, accuracy_, norm_;
};

}  // namespace tally::examples
