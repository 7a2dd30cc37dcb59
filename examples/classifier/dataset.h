// A data set as tensors.
#pragma once

#include <tally/core/tensor.h>
#include <tally/examples/classifier/options.h>

namespace tally::examples {

struct Samples {
  Tensor images;  // float32 [N, rows * cols]
  Tensor labels;  // int64 [N]
  std::int64_t count() const { return labels.size(0); }
};

struct Dataset {
  Samples train, test;
  std::int64_t features = 0, classes = 0;
  std::string name;
};

/// The digits, split by the seed, or the IDX files in `options.data`. Pixels have mean 0 and standard deviation 1 over
/// the training images. On the chosen device if it has the memory, else on the CPU.
Dataset load_dataset(const ClassifierOptions& options);

}  // namespace tally::examples
