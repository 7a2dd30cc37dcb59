// The documented order of a reduction (design: lanes of 128, tiles of 1024, the textbook's tree), as a plain program of
// its own: what the library's loops are compared with, bit for bit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tally::test::order {

/// All rounds of the textbook's tree over a list: neighbours pair up, a leftover passes through.
template <class Acc, class Combine>
std::vector<std::vector<Acc>> rounds(const std::vector<Acc>& list, Combine combine) {
  std::vector<std::vector<Acc>> all{list};
  while (all.back().size() > 1) {
    const std::vector<Acc> before = all.back();
    std::vector<Acc> next;
    for (std::size_t i = 0; i + 1 < before.size(); i += 2) next.push_back(combine(before[i], before[i + 1]));
    if (before.size() % 2) next.push_back(before.back());
    all.push_back(next);
  }
  return all;
}

/// The accumulator of a list of at least one element. `lane` makes one of a lane's elements, in their order; `combine`
/// merges two, the earlier first.
template <class T, class Lane, class Combine> auto reduce(const std::vector<T>& list, Lane lane, Combine combine) {
  using Acc = decltype(lane(list));
  constexpr std::size_t kTile = 1024, kLanes = 128;
  std::vector<Acc> tiles;
  for (std::size_t start = 0; start < list.size(); start += kTile) {
    const std::size_t end = std::min(start + kTile, list.size());
    std::vector<Acc> lanes;
    for (std::size_t l = start; l < std::min(start + kLanes, end); ++l) {
      std::vector<T> elements;
      for (std::size_t i = l; i < end; i += kLanes) elements.push_back(list[i]);
      lanes.push_back(lane(elements));
    }
    tiles.push_back(rounds(lanes, combine).back()[0]);
  }
  return rounds(tiles, combine).back()[0];
}

}  // namespace tally::test::order
