// An op's loops with its type forgotten, so that the walks over memory (reduce_lists.cpp, reduce_columns.cpp) exist
// once for all ops. Accumulators are plain data and go as bytes.
#pragma once

#include <bit>
#include <cstddef>

#include <tally/ops/cpu/independent.h>
#include <tally/ops/cpu/reduce_fast.h>
#include <tally/ops/cpu/reduce_tile.h>
#include <tally/ops/results.h>

namespace tally::cpu_loops {

/// `tiles` tiles of `count` (1 to 1024) elements in a row each, `step` apart, each with its pivot.
template <class C> struct Tiles {
  const C* x;
  std::int64_t step, tiles;
  int count;
  const C* pivot;
  std::int64_t pivot_step;
  std::int64_t first;  // where they begin in their list
};

/// Where results go: the arrays of Results.
struct Outputs {
  void *first, *second, *accumulators;
};

template <class C> struct OpLoops {
  const void *arithmetic, *op;
  std::size_t size;    // bytes an accumulator
  bool vectors;        // there are loops for an instruction set
  std::int64_t grain;  // elements that are worth handing to another thread

  /// An accumulator a tile. Or, where `counted` is given, one list whose tiles follow each other: they are pushed on
  /// the binary counter `out`, which has merged `*counted` of them.
  void (*tiles)(const void* arithmetic, const Tiles<C>&, void* out, std::int64_t* counted);
  /// Whether all these columns are for the vector loops; else `done` says of each. `lanes` has room for kLanes
  /// accumulators of each.
  bool (*columns)(const void* arithmetic, const Columns<C>&, void* lanes, void* out, bool* done);
  /// later[i] = the two merged.
  void (*merge)(const void* arithmetic, const void* earlier, void* later, std::int64_t count);
  /// The tree over `count` accumulators, into the first.
  void (*tree)(const void* arithmetic, void* accumulators, std::int64_t count);
  /// The accumulator of nothing; null where there is none.
  void (*identity)(const void* arithmetic, void* out);
  /// The results of lists of one tile each, of which nothing else is wanted; null where there is no shortcut to them.
  void (*results)(const void* op, const Tiles<C>&, void* first);
  /// The results of `count` lists of n elements from list o on.
  void (*store)(const void* op, const Outputs&, std::int64_t o, const void* accumulators, std::int64_t count,
                std::int64_t n, const C* pivot, std::int64_t pivot_step);
};

namespace erased {

/// The textbook tree over accumulators that come one after another: a binary counter holds one for each power of two.
template <class Op, class Acc> void push(const Op& op, Acc* levels, std::int64_t counted, Acc acc) {
  for (; counted & 1; counted >>= 1) acc = op.combine(*levels++, acc);
  *levels = acc;
}

template <class Op, class C> void tiles(const void* self, const Tiles<C>& job, void* to, std::int64_t* counted) {
  using Acc = typename Op::template Acc<C>;
  const Op& op = *static_cast<const Op*>(self);
  Acc* const out = static_cast<Acc*>(to);
  std::int64_t t = 0;
  const auto first = [&](std::int64_t i) { return job.first + (counted ? i * kTile : 0); };
  const auto general = [&] {
    const Acc acc = tile(op, job.x + t * job.step, job.count, first(t), job.pivot[t * job.pivot_step]);
    if (counted)
      push(op, out, (*counted)++, acc);
    else
      out[t] = acc;
    ++t;
  };
  if constexpr (kHasTileLoops<Op, C>) {
    // The vector loops do what they can, and merge tiles of a list: kMergedTiles, and where the order is free, any.
    constexpr bool kAny = Fold<Op, C>::any_order;
    constexpr std::int64_t kBatch = 256, kMerged = detail::kMergedTiles;
    const auto loops = detail::tile_kernels(kTileKind<Op>, C());
    TileResult<C> results[kBatch];
    const auto run = [&](std::int64_t tiles, bool merge) {
      return loops.rows({job.x + t * job.step, job.step, tiles, job.count, job.pivot + t * job.pivot_step,
                         job.pivot_step, merge, results, nullptr});
    };
    while (t < job.tiles) {
      std::int64_t batch = job.tiles - t;
      if (counted && !kAny) {
        const std::int64_t odd = *counted % kMerged;  // tiles of a run that is not yet whole
        if (odd == 0 && job.count == kTile && batch >= kMerged) {
          const std::int64_t done = run(std::min(kBatch * kMerged, batch - batch % kMerged), true);
          for (std::int64_t i = 0; i < done / kMerged; ++i, *counted += kMerged)
            push(op, out + std::countr_zero(static_cast<unsigned>(kMerged)), *counted / kMerged,
                 accumulator<Op>(results[i], static_cast<int>(kTile * kMerged), first(t + i * kMerged)));
          t += done;
          batch -= done;
          if (batch == 0) return;
        }
        batch = std::min(batch, kMerged - odd);
      } else if (!counted) {
        batch = std::min(kBatch, batch);
      }
      const std::int64_t done = run(batch, counted && kAny);
      const auto result = [&](std::int64_t i) { return accumulator<Op>(results[i], job.count, first(t + i)); };
      if (counted) {
        for (std::int64_t i = 0; i < (kAny ? std::min<std::int64_t>(done, 1) : done); ++i)
          push(op, out, (*counted)++, result(i));
      } else {  // straight to its place: a copy that is read as soon as its fields are written waits for them
        TALLY_INDEPENDENT
        for (std::int64_t i = 0; i < done; ++i) out[t + i] = result(i);
      }
      t += done;
      if (done < batch) general();
    }
  } else {
    while (t < job.tiles) general();
  }
}

template <class Op, class C> void results(const void* self, const Tiles<C>& job, void* first) {
  const Op& op = *static_cast<const Op*>(self);
  C* const out = static_cast<C*>(first);
  const auto loops = detail::tile_kernels(kTileKind<Op>, C());
  for (std::int64_t t = 0; t < job.tiles; ++t) {
    const auto x = [&] { return job.x + t * job.step; };
    const auto pivot = [&] { return job.pivot + t * job.pivot_step; };
    t += loops.rows({x(), job.step, job.tiles - t, job.count, pivot(), job.pivot_step, false, nullptr, out + t});
    if (t < job.tiles) out[t] = op.project(tile(op, x(), job.count, 0, *pivot()), job.count, *pivot());
  }
}

template <class Op, class C> bool columns(const void* self, const Columns<C>& job, void* lanes, void* to, bool* done) {
  using Acc = typename Op::template Acc<C>;
  Acc* const out = static_cast<Acc*>(to);
  if constexpr (kHasTileLoops<Op, C>) {
    TileResult<C> results[detail::kTileColumns];
    const bool all = detail::tile_kernels(kTileKind<Op>, C())
                         .columns({job.x.elements(), job.rows, job.count, job.width, job.pivot, results, done});
    for (int w = 0; w < job.width; ++w)
      if (all || done[w]) out[w] = accumulator<Op>(results[w], job.count, job.first);
    return all;
  } else {
    tile_columns(*static_cast<const Op*>(self), job, static_cast<Acc*>(lanes), out);
    return true;
  }
}

template <class Op, class C> void merge(const void* self, const void* earlier, void* later, std::int64_t count) {
  using Acc = typename Op::template Acc<C>;
  const Op& op = *static_cast<const Op*>(self);
  const Acc* const a = static_cast<const Acc*>(earlier);
  Acc* const b = static_cast<Acc*>(later);
  for (std::int64_t i = 0; i < count; ++i) b[i] = op.combine(a[i], b[i]);
}

template <class Op, class C>
void store(const void* self, const Outputs& out, std::int64_t o, const void* accumulators, std::int64_t count,
           std::int64_t n, const C* pivot, std::int64_t pivot_step) {
  using R = Results<Op, C>;
  const Op& op = *static_cast<const Op*>(self);
  const auto* const acc = static_cast<const typename R::Acc*>(accumulators);
  const auto all = [&](typename R::Second * second) __attribute__((always_inline)) {
    const R results{static_cast<typename R::First*>(out.first), second,
                    static_cast<typename R::Acc*>(out.accumulators)};
    TALLY_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) results.store(op, o + i, acc[i], n, pivot[i * pivot_step]);
  };
  // What nobody wants is not computed.
  out.second ? all(static_cast<typename R::Second*>(out.second)) : all(nullptr);
}

/// Some 4 us of work, where one thread's loops read 130 (sums and extremes), 50 (moments) and 8 GB/s (exponentials)
/// from its caches.
template <class Op, class C> constexpr std::int64_t grain() {
  if (!kHasTileLoops<Op, C> || kTileKind<Op> == TileKind::exponentials) return 1 << 13;
  return kTileKind<Op> == TileKind::moments ? 1 << 16 : 1 << 17;
}

}  // namespace erased

template <class Op, class C> OpLoops<C> loops_of(const Op& op) {
  using A = typename ArithmeticOf<Op>::type;
  using Acc = typename A::template Acc<C>;
  static_assert(std::is_trivially_copyable_v<Acc> && alignof(Acc) <= alignof(std::max_align_t));
  const A& arithmetic = op;
  void (*identity)(const void*, void*) = nullptr;
  if constexpr (Fold<A, C>::has_identity)
    identity = [](const void* self, void* out) {
      *static_cast<Acc*>(out) = static_cast<const A*>(self)->template identity<C>();
    };
  void (*results)(const void*, const Tiles<C>&, void*) = nullptr;
  if constexpr (kGivesResults<Op, C>) results = erased::results<Op, C>;
  return {&arithmetic,
          &op,
          sizeof(Acc),
          kHasTileLoops<A, C>,
          erased::grain<A, C>(),
          erased::tiles<A, C>,
          erased::columns<A, C>,
          erased::merge<A, C>,
          [](const void* self, void* acc, std::int64_t count) {
            tree(*static_cast<const A*>(self), static_cast<Acc*>(acc), count);
          },
          identity,
          results,
          erased::store<Op, C>};
}

}  // namespace tally::cpu_loops
