#include <tally/examples/classifier/dataset.h>

#include <tally/core/error.h>
#include <tally/core/random.h>
#include <tally/examples/support/digits.h>
#include <tally/nn/data/idx.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>

namespace tally::examples {
namespace {

/// Its own stream, so that the split does not depend on what else the seed is used for.
std::vector<std::int64_t> split_by(std::uint64_t seed) {
  Generator generator(seed ^ 0x73706c6974ull);  // "split"
  return permutation(kDigitsCount, generator);
}

Samples samples_of(const ImageSet& set) {
  const std::vector<std::int64_t> labels(set.labels.begin(), set.labels.end());
  return {tensor(set.pixels, Shape{set.count, set.rows * set.cols}).to(float32), tensor(labels)};
}

}  // namespace

Dataset load_dataset(const ClassifierOptions& options) {
  const ImageData data = options.data.empty() ? load_digits(split_by(options.seed)) : load_idx(options.data);
  Dataset set{samples_of(data.train), samples_of(data.test), data.train.rows * data.train.cols, data.classes,
              options.data.empty() ? "digits" : options.data};
  const Tensor mean = tally::mean(set.train.images), spread = tally::std(set.train.images);
  const double scale = spread.item<float>() > 0 ? 1 / spread.item<double>() : 1;
  set.train.images = (set.train.images - mean) * scale;
  set.test.images = (set.test.images - mean) * scale;
  try {
    Dataset there = set;
    for (Tensor* one : {&there.train.images, &there.train.labels, &there.test.images, &there.test.labels})
      *one = one->to(options.device);
    return there;
  } catch (const OutOfMemoryError&) {
    return set;  // batches travel one by one
  }
}

}  // namespace tally::examples
