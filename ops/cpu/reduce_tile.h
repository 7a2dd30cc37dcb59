// One tile of a reduction on the CPU, in the order of ops/reduction.h, for every op and every type.
#pragma once

#include <algorithm>

#include <tally/ops/cpu/reduce_source.h>
#include <tally/ops/reduction.h>

namespace tally::cpu_loops {

/// Whether the op has a lane of its own.
template <class Op, class C>
concept HasOwnLane = requires(const Op& op, const C (&x)[kPerLane]) {
  op.lane(x, 1, std::int64_t{}, C{});
};

/// The textbook tree over acc[0..count): neighbours pair up, a leftover passes through. Overwrites acc; count >= 1.
template <class Op, class Acc> const Acc& tree(const Op& op, Acc* acc, std::int64_t count) {
  for (; count > 1; count = (count + 1) / 2) {
    for (std::int64_t k = 0; k < count / 2; ++k) acc[k] = op.combine(acc[2 * k], acc[2 * k + 1]);
    if (count % 2) acc[count / 2] = acc[count - 1];
  }
  return acc[0];
}

/// One tile of `count` (1 to 1024) elements in a row, the first being element `first` of its list.
template <class Op, class C>
typename Op::template Acc<C> tile(const Op& op, const C* x, int count, std::int64_t first, C pivot) {
  using F = Fold<Op, C>;
  typename F::Acc acc[kLanes];
  const int lanes = std::min(count, kLanes);
  if constexpr (HasOwnLane<Op, C>) {
    for (int l = 0; l < lanes; ++l) {
      C lane[kPerLane] = {};
      const int length = (count - l + kLanes - 1) / kLanes;
      for (int j = 0; j < length; ++j) lane[j] = x[l + kLanes * j];
      acc[l] = op.lane(lane, length, first + l, pivot);
    }
  } else {
    // The same folds, row by row: 128 lanes side by side are what the compiler turns into vectors.
    for (int l = 0; l < lanes; ++l) acc[l] = F::lift(op, x[l], first + l);
    for (int base = kLanes; base < count; base += kLanes) {
      const int row = std::min(count - base, kLanes);
      for (int l = 0; l < row; ++l) acc[l] = op.combine(acc[l], F::lift(op, x[base + l], first + base + l));
    }
  }
  return tree(op, acc, lanes);
}

/// One tile of each of `width` lists that lie side by side in memory.
inline constexpr int kGeneralWidth = 64;
template <class C> struct Columns {
  Source<C> x;               // of the first list
  const std::int64_t* rows;  // offsets of elements 0 to count of all lists
  int count, width;
  std::int64_t first;  // what `rows` begins with in its list
  const C* pivot;      // one a list
};

/// Memory is read along its rows. Up to kGeneralWidth lists; `lanes` has room for kLanes accumulators of each.
template <class Op, class C>
void tile_columns(const Op& op, const Columns<C>& job, typename Op::template Acc<C>* lanes,
                  typename Op::template Acc<C>* out) {
  using F = Fold<Op, C>;
  const int width = job.width;
  alignas(64) C row_buffer[kPerLane][kGeneralWidth];
  const auto row_at = [&](int r, C* buffer) {
    const Source<C> from = job.x.at(job.rows[r]);
    if (from.direct) return from.elements();
    from.read(from.data, 1, width, buffer);
    return static_cast<const C*>(buffer);
  };
  const auto lane_at = [&](int l) { return lanes + static_cast<std::int64_t>(l) * width; };
  const int used = std::min(job.count, kLanes);
  if constexpr (HasOwnLane<Op, C>) {
    for (int l = 0; l < used; ++l) {
      const int length = (job.count - l + kLanes - 1) / kLanes;
      const C* row_of[kPerLane];
      for (int j = 0; j < length; ++j) row_of[j] = row_at(l + kLanes * j, row_buffer[j]);
      for (int w = 0; w < width; ++w) {
        C lane[kPerLane] = {};
        for (int j = 0; j < length; ++j) lane[j] = row_of[j][w];
        lane_at(l)[w] = op.lane(lane, length, job.first + l, job.pivot[w]);
      }
    }
  } else {
    for (int r = 0; r < job.count; ++r) {
      const C* from = row_at(r, row_buffer[0]);
      auto* acc = lane_at(r % kLanes);
      if (r < kLanes)
        for (int w = 0; w < width; ++w) acc[w] = F::lift(op, from[w], job.first + r);
      else
        for (int w = 0; w < width; ++w) acc[w] = op.combine(acc[w], F::lift(op, from[w], job.first + r));
    }
  }
  for (int left = used; left > 1; left = (left + 1) / 2) {
    for (int k = 0; k < left / 2; ++k)
      for (int w = 0; w < width; ++w) lane_at(k)[w] = op.combine(lane_at(2 * k)[w], lane_at(2 * k + 1)[w]);
    if (left % 2) std::copy_n(lane_at(left - 1), width, lane_at(left / 2));
  }
  std::copy_n(lanes, width, out);
}

}  // namespace tally::cpu_loops
