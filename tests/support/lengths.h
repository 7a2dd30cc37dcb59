// List lengths at which a reduction's loops change: lanes of 128, tiles of 1024, powers of two of tiles, and primes.
#pragma once

#include <cstdint>
#include <vector>

namespace tally::test {

inline const std::vector<std::int64_t>& edge_lengths() {
  static const std::vector<std::int64_t> lengths = {
      1,    2,    3,    5,    7,    8,    9,    31,   32,   33,   127,  128,  129,  255,  256,  257,  1000, 1023,
      1024, 1025, 1151, 1152, 1153, 2047, 2048, 2049, 3071, 3073, 4095, 4097, 5119, 7919, 8191, 8192, 8193};
  return lengths;
}

}  // namespace tally::test
