// Blocks of one launch dealt to many arrays.
#pragma once

#include <cstdint>

#include <tally/core/hd.h>

namespace tally::gpu {

/// The array that block `block` works on: the last k < arrays with first_block[k] <= block. first_block ascends from 0;
/// arrays without a block share their number with the next one.
TALLY_HD inline int array_of_block(const std::int64_t* first_block, int arrays, std::int64_t block) {
  int low = 0, high = arrays;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (first_block[middle] <= block ? low : high) = middle;
  }
  return low;
}

}  // namespace tally::gpu
