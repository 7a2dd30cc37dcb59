// A sum in the order of ops/reduction.h over a list that is looked up element by element. For both devices.
#pragma once

#include <cstdint>

#include <tally/core/hd.h>
#include <tally/ops/reduction.h>

namespace tally::detail {

/// The textbook tree over what is pushed, as a binary counter: equal runs merge as soon as there are two.
template <class A, int Levels> class TreeSum {
 public:
  TALLY_HD void push(A sum) {
    int level = 0;
    for (; (count_ >> level) & 1; ++level) sum = runs_[level] + sum;
    runs_[level] = sum;
    ++count_;
  }
  /// Of at least one.
  TALLY_HD A total() const {
    int level = 0;
    while (!((count_ >> level) & 1)) ++level;
    A sum = runs_[level];
    for (++level; count_ >> level; ++level)
      if ((count_ >> level) & 1) sum = runs_[level] + sum;
    return sum;
  }

 private:
  A runs_[Levels];
  std::int64_t count_ = 0;
};

/// The sum of get(0), ..., get(n - 1), n > 0. A adds with +.
template <class A, class Get> TALLY_HD A sum_in_order(std::int64_t n, Get get) {
  TreeSum<A, 40> tiles;
  for (std::int64_t tile = 0; tile < n; tile += kTile) {
    const int size = n - tile < kTile ? static_cast<int>(n - tile) : kTile;
    TreeSum<A, 8> lanes;
    for (int lane = 0; lane < size && lane < kLanes; ++lane) {
      A sum = get(tile + lane);
      for (int i = lane + kLanes; i < size; i += kLanes) sum = sum + get(tile + i);
      lanes.push(sum);
    }
    tiles.push(lanes.total());
  }
  return tiles.total();
}

}  // namespace tally::detail
