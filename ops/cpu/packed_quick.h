// Tiles in an op's quick form: the same numbers by less work, where none on the way leaves its range. That one has, the
// processor notes or the end shows; then the tiles are done again in the op's own form.
#pragma once

#include <tally/ops/cpu/packed_tile.h>
#include <tally/ops/cpu/processor_note.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

/// How many of `vectors` vectors of lanes are left where Op's quick form has merged as many factors as it is for.
template <class Op> constexpr int left_by_quick(int vectors) {
  constexpr int kMost = Op::Quick::kFactors / kPerLane;
  return vectors > kMost ? vectors / kMost : 1;
}
/// These, merged as Op does.
template <class Op> TALLY_INLINE AccOf<Op> merge_left(const AccOf<typename Op::Quick>* some, int left, BadOf<Op>& bad) {
  const Weight<ElementOf<Op>> none{};
  AccOf<Op> acc[kLanes / kWidth<ElementOf<Op>>];
  for (int k = 0; k < left; ++k) acc[k] = Op::from(some[k], bad);
  for (left /= 2; left > 0; left /= 2)
    for (int k = 0; k < left; ++k) acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], none, bad);
  return acc[0];
}
/// A whole tile in Op's quick form.
template <class Op> struct QuickTile {
  using C = ElementOf<Op>;
  TALLY_INLINE AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    using Quick = typename Op::Quick;
    constexpr int kLeft = left_by_quick<Op>(kBlock<Quick>);
    BadOf<Quick> none;
    AccOf<Quick> some[kBlocks<Quick> * kLeft];
    TALLY_VECTOR_LOOP
    for (int b = 0; b < kBlocks<Quick>; ++b) {
      const auto block = BlockOfLanes<Quick, kLeft>::of(x + kBlock<Quick> * kWidth<C> * b, first, none);
      __builtin_memcpy(some + kLeft * b, block.acc, sizeof block.acc);
    }
    return merge_left<Op>(some, kBlocks<Quick> * kLeft, bad);
  }
};

/// Any count in Op's quick form.
template <class Op> struct QuickPart {
  using C = ElementOf<Op>;
  const PartPlan<Op>& plan;
  TALLY_INLINE AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    BadOf<typename Op::Quick> none;
    AccOf<typename Op::Quick> acc[kLanes / kWidth<C>];
    const int left = left_by_quick<Op>(plan.vectors);
    PartTile<typename Op::Quick, 0, Op>{plan}.merged(acc, plan.vectors - left, x, first, none);
    return merge_left<Op>(acc, left, bad);
  }
};

/// Whether to try the quick form: where it was for nothing, not for a while, each time a longer one. No bit depends on
/// it.
class Trials {
 public:
  bool are_due() { return waits_ == 0 || --waits_ < 0; }
  void went(bool well) {
    pause_ = well ? 0 : pause_ < 15 ? 2 * pause_ + 1 : pause_;
    waits_ = pause_;
  }

 private:
  int pause_ = 0, waits_ = 0;
};
template <class Op> Trials& trials() {
  static thread_local constinit Trials here;
  return here;
}
/// Where an op has none.
struct None {};
template <class Op> using NoteOf = std::conditional_t<has_quick_form<Op>(), Underflow, None>;
template <class Op, template <class> class Tile> constexpr auto quick_form(const auto&... plan) {
  if constexpr (has_quick_form<Op>())
    return Tile<Op>{plan...};
  else
    return None();
}

/// Tiles of a job, each merged down to a vector: in the quick form where that will do, else as Tile has them.
template <class Op, class Quick, class Tile> struct MergedTiles {
  using C = ElementOf<Op>;
  const detail::TileRows<C>& job;
  const Quick& quick;
  const Tile& tile;
  const NoteOf<Op>& note;

  /// Tiles t and on, `number` of them.
  TALLY_INLINE void operator()(std::int64_t t, int number, AccOf<Op>* acc, BadOf<Op>& bad) const {
    if constexpr (has_quick_form<Op>())
      either(t, number, acc, bad);
    else
      in(tile, t, number, acc, bad);
  }

 private:
  TALLY_INLINE void in(const auto& form, std::int64_t t, int number, AccOf<Op>* acc, BadOf<Op>& bad) const {
    TALLY_VECTOR_LOOP
    for (int w = 0; w < number; ++w)
      acc[w] = form(job.x + (t + w) * job.step, job.pivot[(t + w) * job.pivot_step], bad);
  }
  [[gnu::noinline]] void either(std::int64_t t, int number, AccOf<Op>* acc, BadOf<Op>& bad) const {
    if (Underflow::is_kept() && trials<Op>().are_due()) {
      note.clear();
      in(quick, t, number, acc, bad);
      const bool good = !note.noted(bad.bad) && !bad.any(Vec<C>{});
      trials<Op>().went(good);
      if (good) return;
      bad = {};
    }
    in(tile, t, number, acc, bad);
  }
};

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
