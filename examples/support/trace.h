// The rounds of a reduction in the documented order (ops/reduction.h), one accumulator at a time: what the kernels do,
// slowly and in the open.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <tally/ops/reductions.h>

namespace tally::examples {

/// One step: what is left after it, and which rule of the order it was.
template <class Acc> struct Round {
  std::string rule;
  std::vector<Acc> left;
};

/// All rounds of `op` over `values`, from the lanes of each tile to the one accumulator that is left. `values` not
/// empty.
template <class Op>
std::vector<Round<typename Op::template Acc<float>>> trace(const Op& op, const std::vector<float>& values) {
  using Acc = typename Op::template Acc<float>;
  const auto pair_up = [&](const std::vector<Acc>& all) {
    std::vector<Acc> left;
    for (std::size_t k = 0; k + 1 < all.size(); k += 2) left.push_back(op.combine(all[k], all[k + 1]));
    if (all.size() % 2) left.push_back(all.back());
    return left;
  };
  std::vector<Round<Acc>> rounds;
  std::vector<Acc> tiles;
  for (std::size_t first = 0; first < values.size(); first += kTile) {
    const std::string where = values.size() > kTile ? "tile " + std::to_string(first / kTile) + ": " : "";
    const std::size_t count = std::min<std::size_t>(kTile, values.size() - first);
    std::vector<Acc> lanes;
    for (std::size_t l = 0; l < std::min<std::size_t>(kLanes, count); ++l) {
      float lane[kPerLane] = {};
      int length = 0;
      for (std::size_t i = l; i < count; i += kLanes) lane[length++] = values[first + i];
      lanes.push_back(Fold<Op, float>::lane(op, lane, length, static_cast<std::int64_t>(first + l), values[0]));
    }
    rounds.push_back({where + "lanes", lanes});
    while (lanes.size() > 1) rounds.push_back({where + "pairs", lanes = pair_up(lanes)});
    tiles.push_back(lanes[0]);
  }
  while (tiles.size() > 1) rounds.push_back({"pairs of tiles", tiles = pair_up(tiles)});
  return rounds;
}

}  // namespace tally::examples
