// What the checks weight outputs with: one gradient of their weighted sum tells of every element.
#pragma once

#include <tally/core/random.h>

namespace tally::detail {

/// Of either sign, never near zero and exact in every float type, so that no element is lost beside others.
inline double random_weight(std::uint64_t seed, std::uint64_t position) {
  const std::uint32_t bits = philox(seed, position).word[0];
  return (bits & 1 ? 1.0 : -1.0) * (0.5 + static_cast<double>(bits >> 25) / 128);
}

}  // namespace tally::detail
