// A tile of a list as vectors of lanes, merged down to one: a whole tile, and one of any count.
#pragma once

#include <tally/ops/cpu/packed_tree.h>
#include <tally/ops/reduction_order.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

/// Whether Op has one: the same numbers by less work, where none on the way leaves its range. Vectors of 16 bytes are
/// no more than a fallback, which is not to be as much code again.
template <class Op> constexpr bool has_quick_form() {
  return kVectorBytes >= 32 && requires { typename Op::Quick; };
}

/// Neighbouring vectors of a whole tile's lanes: as many as stay in registers, or all where that would be much code.
template <class Op>
inline constexpr int kBlock =
    kVectorBytes >= 32 && !Op::kLong && !has_quick_form<Op>() ? 8 : kLanes / kWidth<ElementOf<Op>>;
template <class Op> inline constexpr int kBlocks = kLanes / kWidth<ElementOf<Op>> / kBlock<Op>;

/// Such a block, merged down to one vector, or to so many as are to be left.
template <class Op, int Left = 1> struct BlockOfLanes {
  using C = ElementOf<Op>;
  AccOf<Op> acc[Left];
  [[gnu::noinline]] static BlockOfLanes of(const C* x, C first, BadOf<Op>& bad) {
    constexpr int W = kWidth<C>, K = kBlock<Op>;
    const LaneEnds<C> ends{splat(C(kPerLane)), ~Mask<C>{}};
    const Vec<C> pivot = splat(first);
    AccOf<Op> acc[K];
    steps(0, written_out<K>(), [&](int k) TALLY_LAMBDA {
      const auto at = [=](int j) TALLY_LAMBDA { return x + kLanes * j + W * k; };
      // Lanes run criss-cross over a tile, which no prefetcher foresees: they ask for the next but one, line by line.
      if (W * k * sizeof(C) % 64 == 0)
        steps(0, written_out<kPerLane>(), [&](int j) TALLY_LAMBDA { __builtin_prefetch(at(j) + 2 * kTile); });
      acc[k] = Op::lane([=](int j) TALLY_LAMBDA { return load(at(j)); }, written_out<kPerLane>(), ends, pivot, bad);
    });
    int left = K / 2, n = kPerLane, k = 0;
    steps(0, written_out<K - Left>(), [&](int) TALLY_LAMBDA {
      acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], equal_weight<C>(n), bad);
      if (++k < left) return;
      k = 0;
      left /= 2;
      n *= 2;
    });
    BlockOfLanes merged;
    for (int i = 0; i < Left; ++i) merged.acc[i] = acc[i];
    return merged;
  }
};

/// A whole tile.
template <class Op> struct FullTile {
  using C = ElementOf<Op>;
  static constexpr int W = kWidth<C>;
  /// For merging inside the vector, level after level.
  Weight<C> inside[Op::kCounts ? kInside<C> : 1];
  FullTile() {
    if constexpr (Op::kCounts)
      for (int level = 0; level < kInside<C>; ++level) inside[level] = equal_weight<C>(kTile / W << level);
  }

  /// Its lanes, merged down to one vector.
  TALLY_INLINE AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    if constexpr (kBlocks<Op> == 1) return BlockOfLanes<Op>::of(x, first, bad).acc[0];
    AccOf<Op> all[kBlocks<Op>];
    TALLY_VECTOR_LOOP
    for (int b = 0; b < kBlocks<Op>; ++b) all[b] = BlockOfLanes<Op>::of(x + kBlock<Op> * W * b, first, bad).acc[0];
    int n = kBlock<Op> * kPerLane;
    TALLY_VECTOR_LOOP
    for (int left = kBlocks<Op> / 2; left > 0; left /= 2, n *= 2) TALLY_VECTOR_LOOP
    for (int k = 0; k < left; ++k) all[k] = merge<Op>(all[2 * k], all[2 * k + 1], equal_weight<C>(n), bad);
    return all[0];
  }
};

/// How tiles of one count lie in vectors and merge.
template <class Op> struct PartPlan {
  using C = ElementOf<Op>;
  static constexpr int W = kWidth<C>, K = kLanes / W;
  explicit PartPlan(int count)
      : lanes(count < kLanes ? count : kLanes),
        full(count / kLanes),
        rest(count % kLanes),
        rows(full + (rest > 0)),
        vectors(1) {
    while (vectors * W < lanes) vectors *= 2;
    if constexpr (Op::kCounts) weigh();
  }
  void weigh() {
    Vec<C> n[K];  // elements in the accumulators
    for (int k = 0; k < vectors; ++k) {
      const Vec<C> base = splat(static_cast<C>(full));
      const Mask<C> longer = ramp<C>() < splat(static_cast<C>(rest - W * k));
      n[k] = longer ? base + 1 : base;
      ends[k] = {n[k] == 0 ? splat(C(1)) : n[k], rest > 0 ? longer : ~Mask<C>{}};
    }
    int number = 0;
    const auto merge = [&](int to, int a, int b, int level = 0) {
      const Vec<C> low = even<C>(n[a], n[b], level), high = odd<C>(n[a], n[b], level), share = high / (low + high);
      weights[number++] = {share, low * share, high == 0};
      n[to] = low + high;
    };
    for (int left = vectors / 2; left > 0; left /= 2)
      for (int k = 0; k < left; ++k) merge(k, 2 * k, 2 * k + 1);
    for (int level = 2; level <= W; level *= 2) merge(0, 0, 0, level);
  }

  int lanes, full, rest, rows, vectors;
  LaneEnds<C> ends[Op::kCounts ? K : 1];
  Weight<C> weights[Op::kCounts ? K + 4 : 1];  // in the order of the merges
};

/// Any count: lanes that have no element are nothing, which merging passes over. Vectors: how many, where known and
/// there is one row.
template <class Op, int Vectors, class PlannedFor = Op> struct PartTile {
  using C = ElementOf<Op>;
  static constexpr int W = kWidth<C>, K = kLanes / W;
  const PartPlan<PlannedFor>& plan;

  TALLY_INLINE AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    AccOf<Op> acc[Vectors > 0 ? Vectors : K];
    merged(acc, one_less(vectors()), x, first, bad);
    return acc[0];
  }
  /// Its lanes after so many merges.
  TALLY_INLINE void merged(AccOf<Op>* acc, auto merges, const C* x, C first, BadOf<Op>& bad) const {
    const auto vectors = this->vectors();
    const Vec<C> pivot = splat(first);
    steps(0, vectors, [&](int k) TALLY_LAMBDA {
      const int there = plan.rest - W * k;  // of the last row in this vector
      const C* from = x + W * k;
      const LaneEnds<C>& ends = plan.ends[Op::kCounts ? k : 0];
      if (k * W >= plan.lanes)
        acc[k] = Op::nothing();
      else if constexpr (Vectors > 0)
        acc[k] = Op::lane([=](int) TALLY_LAMBDA { return load_part(from, there, Op::pad(first)); },
                          std::integral_constant<int, 1>(), ends, pivot, bad);
      else
        acc[k] = Op::lane(
            [=, full = plan.full](int j) TALLY_LAMBDA {
              return j < full ? load(from + kLanes * j) : load_part(from + kLanes * j, there, Op::pad(first));
            },
            plan.rows, ends, pivot, bad);
    });
    int left = vectors / 2, k = 0;
    steps(0, merges, [&](int number) TALLY_LAMBDA {
      acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], plan.weights[Op::kCounts ? number : 0], bad);
      if (++k < left) return;
      k = 0;
      left /= 2;
    });
  }
  const Weight<C>* inside() const { return plan.weights + (Op::kCounts ? vectors() - 1 : 0); }
  auto vectors() const {
    if constexpr (Vectors > 0)
      return std::integral_constant<int, Vectors>();
    else
      return plan.vectors;
  }

 private:
  template <int N> static std::integral_constant<int, N - 1> one_less(std::integral_constant<int, N>) { return {}; }
  static int one_less(int n) { return n - 1; }
};

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
