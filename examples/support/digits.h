// The UCI optical digits that the programs carry with them (examples/data/README.md): 1797 images of 8x8, values 0 to
// 16, ten classes.
#pragma once

#include <cstdint>
#include <span>

#include <tally/nn/data/image_set.h>

namespace tally::examples {

inline constexpr std::int64_t kDigitsCount = 1797, kDigitsTrainCount = 1437, kDigitsClasses = 10;

ImageSet load_digits();

/// Split for training: the first 1437 places of `permutation` (of 0 to 1796) train, the other 360 test.
ImageData load_digits(std::span<const std::int64_t> permutation);

}  // namespace tally::examples
