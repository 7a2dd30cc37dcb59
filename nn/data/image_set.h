// Labelled grey images as bytes, and the train and test halves a data set comes in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/core/where.h>

namespace tally {

/// Images with their labels, as bytes.
struct ImageSet {
  std::int64_t count = 0, rows = 0, cols = 0;
  std::vector<std::uint8_t> pixels;  // (count, rows, cols), row-major
  std::vector<std::uint8_t> labels;  // (count)
};

/// What a classifier trains on and what it is tested on.
struct ImageData {
  ImageSet train, test;
  std::int64_t classes = 0;
};

/// The images at `indices`, in that order; throws IndexError for an index outside the set.
ImageSet select(const ImageSet& set, std::span<const std::int64_t> indices, Where where = Where::here());

/// The first `train_count` images of the set in the order of `permutation` are for training, the rest for testing.
/// Throws ShapeError unless `permutation` holds every index of the set once and both halves get an image.
ImageData split(const ImageSet& set, std::span<const std::int64_t> permutation, std::int64_t train_count,
                std::int64_t classes, Where where = Where::here());

/// How many different labels a set has. Sets count their classes 0, 1, ... without a gap.
std::int64_t distinct_labels(const ImageSet& set);

}  // namespace tally
