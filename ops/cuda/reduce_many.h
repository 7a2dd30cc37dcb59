// Many dense arrays, each one list, in one launch: how blocks are dealt to them. Plain arithmetic, tested without a
// device.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/ops/reduction_order.h>

namespace tally::cuda_loops {

constexpr int kArraysOfALaunch = 150;  ///< what fits into a kernel's arguments
constexpr int kWarpsOfABlock = 8;

/// The blocks of one launch: array k has blocks [first_block[k], first_block[k + 1]), each warp of them a run of tiles.
struct ManyPlan {
  int arrays = 0;
  std::int64_t run = 1;  ///< tiles a warp, a power of two
  std::int64_t first_block[kArraysOfALaunch + 1] = {};
  std::int64_t blocks() const { return first_block[arrays]; }
};

/// At most kArraysOfALaunch arrays of these lengths. Each gets a block, also an empty one, and at most `most` in all
/// beyond that; the result does not depend on it.
inline ManyPlan plan_many(const std::int64_t* lengths, int arrays, std::int64_t most = 2048) {
  ManyPlan plan{.arrays = arrays};
  const auto blocks_of = [&](std::int64_t length) {
    const std::int64_t of_block = kTile * kWarpsOfABlock * plan.run;
    return length <= of_block ? 1 : (length + of_block - 1) / of_block;
  };
  const auto deal = [&] {
    for (int k = 0; k < arrays; ++k) plan.first_block[k + 1] = plan.first_block[k] + blocks_of(lengths[k]);
  };
  for (deal(); plan.blocks() > arrays + most; deal()) plan.run *= 2;
  return plan;
}

}  // namespace tally::cuda_loops
