#include <tally/nn/data/image_set.h>

#include <algorithm>
#include <bitset>
#include <string>

#include <tally/core/error.h>

namespace tally {

ImageSet select(const ImageSet& set, std::span<const std::int64_t> indices, Where where) {
  ImageSet chosen{static_cast<std::int64_t>(indices.size()), set.rows, set.cols, {}, {}};
  const std::int64_t size = set.rows * set.cols;
  chosen.pixels.reserve(indices.size() * static_cast<std::size_t>(size));
  chosen.labels.reserve(indices.size());
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= set.count)
      throw IndexError(
          "select", "image " + std::to_string(index) + " of a set of " + std::to_string(set.count) + " images", where);
    const auto first = set.pixels.begin() + index * size;
    chosen.pixels.insert(chosen.pixels.end(), first, first + size);
    chosen.labels.push_back(set.labels[static_cast<std::size_t>(index)]);
  }
  return chosen;
}

ImageData split(const ImageSet& set, std::span<const std::int64_t> permutation, std::int64_t train_count,
                std::int64_t classes, Where where) {
  std::vector<bool> seen(static_cast<std::size_t>(set.count));
  for (const std::int64_t index : permutation)
    if (index >= 0 && index < set.count) seen[static_cast<std::size_t>(index)] = true;
  const bool whole = static_cast<std::int64_t>(permutation.size()) == set.count &&
                     std::all_of(seen.begin(), seen.end(), [](bool is_seen) { return is_seen; });
  if (!whole)
    throw ShapeError("split", "the permutation does not hold each of " + std::to_string(set.count) + " indices once",
                     where);
  if (train_count < 1 || train_count >= set.count)
    throw ShapeError(
        "split",
        std::to_string(train_count) + " of " + std::to_string(set.count) + " images for training leave one half empty",
        where);
  const auto train = static_cast<std::size_t>(train_count);
  return {select(set, permutation.first(train), where), select(set, permutation.subspan(train), where), classes};
}

std::int64_t distinct_labels(const ImageSet& set) {
  std::bitset<256> seen;
  for (const std::uint8_t label : set.labels) seen.set(label);
  return static_cast<std::int64_t>(seen.count());
}

}  // namespace tally
