// Tiles of lists that lie side by side: what a column's kernel does of reduce_kernels.h.
#pragma once

#include <tally/ops/cpu/packed_finish.h>
#include <tally/ops/cpu/packed_quick.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

using detail::kTileColumns;
using detail::TileColumns;

/// Levels of the tree over lanes until as many factors have met as the quick form is for.
template <class Op, class Form> constexpr int low_levels() {
  int levels = 0;
  if constexpr (!std::is_same_v<Op, Form>)
    while (2 << levels <= kLanes && kPerLane * 2 << levels <= Form::kFactors) ++levels;
  return levels;
}

/// Lane after lane of all columns; a binary counter over the lanes makes the tree. Its lowest levels are Form's: Op's
/// own or its quick one. Whether all columns are for it.
template <class Op, class Form> [[gnu::noinline]] bool columns_in(const TileColumns<ElementOf<Op>>& job) {
  using C = ElementOf<Op>;
  constexpr int W = kWidth<C>, K = kTileColumns / W;
  constexpr int kLevels = 8;
  constexpr bool kQuick = !std::is_same_v<Op, Form>;
  constexpr int kLow = low_levels<Op, Form>();
  AccOf<Form> low_stack[(kQuick ? kLow : 1) * K];
  AccOf<Op> own_stack[kLevels * K];
  int size[kLevels] = {};  // elements in the lanes at each level
  Weight<C> weights[kLevels];
  const int vectors = (job.width + W - 1) / W, used = job.count < kLanes ? job.count : kLanes;
  const auto low = [&](int level, int v) TALLY_LAMBDA -> AccOf<Form>& { return low_stack[level * vectors + v]; };
  const auto stack = [&](int level, int v) TALLY_LAMBDA -> AccOf<Op>& { return own_stack[level * vectors + v]; };
  // Of each vector, where that costs little.
  BadOf<Op> bad[kQuick ? K : 1];
  const auto bad_at = [&](int v) TALLY_LAMBDA -> BadOf<Op>& { return bad[kQuick ? v : 0]; };
  const auto merged = [&](AccOf<Op> acc, int v, int first, int levels) TALLY_LAMBDA {
    for (int level = first; level < levels; ++level)
      if (size[level] > 0) acc = Op::combine(stack(level, v), acc, weights[level], bad_at(v));
    return acc;
  };
  const auto weigh = [&](int level, int n) {
    if constexpr (Op::kCounts) weights[level] = weight_of<C>(size[level], n);
  };
  for (int l = 0; l < used; ++l) {
    const int length = (job.count - l + kLanes - 1) / kLanes;
    const C* row[kPerLane];
    for (int j = 0; j < length; ++j) row[j] = job.x + job.rows[l + kLanes * j];
    int level = 0, n = length;
    for (; size[level] > 0; ++level) {
      weigh(level, n);
      n += size[level];
    }
    const LaneEnds<C> ends{splat(static_cast<C>(length)), ~Mask<C>{}};
    const auto column = [&](int v, auto get, auto rows) TALLY_LAMBDA {
      const Vec<C> pivot = load_part(job.pivot + W * v, job.width - W * v, C(0));
      AccOf<Op> acc;
      int below = 0;
      if constexpr (kQuick) {
        BadOf<Form> nothing;
        AccOf<Form> some = Form::lane(get, rows, ends, pivot, nothing);
        for (const int end = level < kLow ? level : kLow; below < end; ++below)
          some = Form::combine(low(below, v), some, weights[0], nothing);
        if (level < kLow) {
          low(level, v) = some;
          return;
        }
        acc = Op::from(some, bad_at(v));
      } else {
        acc = Op::lane(get, rows, ends, pivot, bad_at(v));
      }
      for (; below < level; ++below) acc = Op::combine(stack(below, v), acc, weights[below], bad_at(v));
      stack(level, v) = acc;
    };
    const int whole = job.width / W;
    const auto all = [&](auto rows) TALLY_LAMBDA {
      for (int v = 0; v < whole; ++v)
        column(
            v, [&](int j) { return load(row[j] + W * v); }, rows);
    };
    if (length == kPerLane)
      all(written_out<kPerLane>());
    else if (length == 1)
      all(std::integral_constant<int, 1>());
    else
      all(length);
    for (int v = whole; v < vectors; ++v)
      column(
          v, [&](int j) { return load_part(row[j] + W * v, job.width - W * v, Op::pad(C(0))); }, length);
    for (int below = 0; below < level; ++below) size[below] = 0;
    size[level] = n;
  }
  if constexpr (kQuick)
    for (int level = 0; level < kLow; ++level)
      if (size[level] > 0)
        for (int v = 0; v < vectors; ++v) stack(level, v) = Op::from(low(level, v), bad_at(v));
  int lowest = 0;
  while (size[lowest] == 0) ++lowest;
  for (int level = lowest + 1, n = size[lowest]; level < kLevels; ++level)
    if (size[level] > 0) {
      weigh(level, n);
      n += size[level];
    }
  bool good = true;
  for (int v = 0; v < vectors; ++v) {
    const AccOf<Op> acc = merged(stack(lowest, v), v, lowest + 1, kLevels);
    const Mask<C> refused = bad_at(v).places(acc.f[0]);
    finish<Op>(acc, job.width - W * v < W ? job.width - W * v : W, job.count, job.out + W * v,
               [&](int w, bool fine) TALLY_LAMBDA { good &= job.done[W * v + w] = fine && !refused[w]; });
  }
  return good;
}

/// Columns that the quick form is not for go in Op's own: all, or a vector of them.
template <class Op> bool columns(const TileColumns<ElementOf<Op>>& job) {
  if constexpr (has_quick_form<Op>()) {
    constexpr int W = kWidth<ElementOf<Op>>;
    if (Underflow::is_kept() && trials<Op>().are_due()) {
      const Underflow note;
      note.clear();
      bool good = columns_in<Op, typename Op::Quick>(job);
      const bool bits_lost = note.noted(Vec<float>{});
      trials<Op>().went(!bits_lost);
      if (bits_lost) return columns_in<Op, Op>(job);
      if (good) return true;
      good = true;
      for (int w = 0; w < job.width; w += W) {
        auto some = job;
        some.x += w, some.pivot += w, some.out += w, some.done += w;
        some.width = job.width - w < W ? job.width - w : W;
        bool done = true;
        for (int i = 0; i < some.width; ++i) done &= some.done[i];
        good &= done || columns_in<Op, Op>(some);
      }
      return good;
    }
  }
  return columns_in<Op, Op>(job);
}

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
