// A tile of a list as vectors of lanes, merged down to one: a whole tile, and one of any count.
#pragma once

#include <tally/ops/cpu/packed_tree.h>
#include <tally/ops/reduction_order.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

/// A whole tile.
template <class Op> struct FullTile {
  using C = ElementOf<Op>;
  static constexpr int W = kWidth<C>, K = kLanes / W;
  /// For merging inside the vector, level after level.
  Weight<C> inside[Op::kCounts ? kInside<C> : 1];
  FullTile() {
    if constexpr (Op::kCounts)
      for (int level = 0; level < kInside<C>; ++level) inside[level] = equal_weight<C>(K * kPerLane << level);
  }

  /// Its lanes, merged down to one vector.
  [[gnu::noinline]] AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    const LaneEnds<C> ends{splat(C(kPerLane)), ~Mask<C>{}};
    const Vec<C> pivot = splat(first);
    AccOf<Op> acc[K];
    steps(0, written_out<K>(), [&](int k) TALLY_LAMBDA {
      const auto at = [=](int j) TALLY_LAMBDA { return x + kLanes * j + W * k; };
      // Lanes run criss-cross over a tile, which no prefetcher foresees: they ask for the next one, line by line.
      if (W * k * sizeof(C) % 64 == 0)
        steps(0, written_out<kPerLane>(), [&](int j) TALLY_LAMBDA { __builtin_prefetch(at(j) + kTile); });
      acc[k] = Op::lane([=](int j) TALLY_LAMBDA { return load(at(j)); }, written_out<kPerLane>(), ends, pivot, bad);
    });
    int left = K / 2, n = kPerLane, k = 0;
    steps(0, written_out<K - 1>(), [&](int) TALLY_LAMBDA {
      acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], equal_weight<C>(n), bad);
      if (++k < left) return;
      k = 0;
      left /= 2;
      n *= 2;
    });
    return acc[0];
  }
};

/// A whole tile in Op's quick form where no number leaves its range, and else as FullTile has it.
template <class Op> struct QuickTile : FullTile<Op> {
  using C = ElementOf<Op>;
  FullTile<typename Op::Quick> quick;
  TALLY_INLINE AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    BadOf<typename Op::Quick> some;
    const auto acc = quick(x, first, some);
    return some.any(acc.f[0]) ? FullTile<Op>::operator()(x, first, bad) : Op::from(acc);
  }
};
/// For ops that have such a form, and where so few factors meet in one place that they seldom leave the range.
template <class Op> constexpr bool has_quick_tiles() {
  constexpr bool few = sizeof(ElementOf<Op>) == 8 || kVectorBytes == 64;
  return few && requires { typename Op::Quick; };
}

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
template <class Op, int Vectors> struct PartTile {
  using C = ElementOf<Op>;
  static constexpr int W = kWidth<C>, K = kLanes / W;
  const PartPlan<Op>& plan;

  TALLY_INLINE AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    const auto vectors = this->vectors();
    const Vec<C> pivot = splat(first);
    AccOf<Op> acc[Vectors > 0 ? Vectors : K];
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
    steps(0, one_less(vectors), [&](int number) TALLY_LAMBDA {
      acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], plan.weights[Op::kCounts ? number : 0], bad);
      if (++k < left) return;
      k = 0;
      left /= 2;
    });
    return acc[0];
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
