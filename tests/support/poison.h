// Memory that a forgotten write would show in: what the allocator hands out next holds a pattern.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/core/raw.h>
#include <tally/core/tensor.h>

namespace tally::test {

/// Fills freed blocks of `bytes` bytes with 0xA5, so that the next results of that size start as garbage: -2.87e-16 as
/// float32, -1.2e-128 as float64, beyond any index as int64.
inline void poison(std::size_t bytes, Device device, int blocks = 4) {
  std::vector<Tensor> held;
  for (int i = 0; i < blocks; ++i) {
    held.push_back(empty({static_cast<std::int64_t>(bytes)}, {.dtype = uint8, .device = device}));
    raw::fill(held.back(), 0xA5);
  }
}

/// Poisons for results like `x` (and for their accumulators' sizes it hits by chance).
inline void poison_like(const Tensor& x) {
  poison(static_cast<std::size_t>(x.numel()) * size_of(x.dtype()), x.device());
}

}  // namespace tally::test
