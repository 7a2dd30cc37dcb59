// Tiles of lists that lie in rows: what a row's kernel does of reduce_kernels.h.
#pragma once

#include <tally/ops/cpu/packed_finish.h>
#include <tally/ops/cpu/packed_quick.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

using detail::kMergedTiles;
using detail::TileRows;

/// The results of tiles t on, as the job wants them; false where one is not for these loops.
template <class Op>
TALLY_INLINE bool finish_rows(const AccOf<Op>& acc, int count, const TileRows<ElementOf<Op>>& job, std::int64_t t) {
  if constexpr (requires { Op::result(acc); })
    if (job.results) {
      const auto result = Op::result(acc);
      __builtin_memcpy(job.results + t, &result, sizeof(ElementOf<Op>) * static_cast<unsigned>(count));
      return true;
    }
  bool good = true;
  finish<Op>(acc, count, job.count, job.out + t, [&](int, bool fine) TALLY_LAMBDA { good &= fine; });
  return good;
}

/// W tiles' trees, in one vector.
template <class Op>
[[gnu::noinline]] AccOf<Op> together(const AccOf<Op>* acc, const Weight<ElementOf<Op>>* weights, BadOf<Op>& bad) {
  return tree<Op, kInside<ElementOf<Op>>>([=](int w) TALLY_LAMBDA { return acc[w]; }, 0, weights, bad);
}

/// W lists of one row of lanes, `vectors` each: a tree of their first vectors, one of the second, and so on, and the
/// tree over these. The arithmetic is Form's: Op's own or its quick one. False where a list is not for it.
template <class Op, class Form>
[[gnu::noinline]] bool short_lists(const TileRows<ElementOf<Op>>& job, int vectors, std::int64_t t, const auto& note) {
  using C = ElementOf<Op>;
  constexpr int W = kWidth<C>;
  const Weight<C> none{};
  const LaneEnds<C> ends{};
  BadOf<Form> bad;
  AccOf<Form> acc[kLanes / W];
  TALLY_VECTOR_LOOP
  for (int v = 0; v < vectors; ++v) {
    const C* x = job.x + t * job.step + W * v;
    const int there = job.count - W * v;
    BadOf<Form> some;
    const auto all = [&](auto read) TALLY_LAMBDA {
      const auto lanes = [&](int w) TALLY_LAMBDA {
        return Form::lane([&](int) TALLY_LAMBDA { return read(x + w * job.step); }, std::integral_constant<int, 1>(),
                          ends, Vec<C>{}, some);
      };
      return tree<Form, kInside<C>>(lanes, 0, &none, some);
    };
    acc[v] = there >= W ? all([](const C* from) TALLY_LAMBDA { return load(from); })
                        : all([=](const C* from) TALLY_LAMBDA { return load_part(from, there, Form::pad(C(0))); });
    bad.add(some);
  }
  int left = vectors, n = W;
  const auto merged = [&]<class F>(AccOf<F>* of, int most, BadOf<F>& out, F) TALLY_LAMBDA {
    for (; left > 1 && n < most; n *= 2) {
      left /= 2;
      TALLY_VECTOR_LOOP
      for (int k = 0; k < left; ++k) of[k] = F::combine(of[2 * k], of[2 * k + 1], none, out);
    }
  };
  if constexpr (std::is_same_v<Op, Form>) {
    merged(acc, kLanes, bad, Op());
    return !bad.any(acc[0].f[0]) && finish_rows<Op>(acc[0], W, job, t);
  } else {
    merged(acc, Form::kFactors, bad, Form());
    BadOf<Op> out;
    AccOf<Op> all[kLanes / W];
    for (int k = 0; k < left; ++k) all[k] = Op::from(acc[k], out);
    merged(all, kLanes, out, Op());
    return !note.noted(out.bad) && !out.any(all[0].f[0]) && finish_rows<Op>(all[0], W, job, t);
  }
}

/// One tile whose first `lanes` places count.
template <class Op>
[[gnu::noinline]] bool finish_one(AccOf<Op> acc, BadOf<Op> bad, const Weight<ElementOf<Op>>* weights, int lanes,
                                  const TileRows<ElementOf<Op>>& job, std::int64_t t) {
  using C = ElementOf<Op>;
  for (int n = 2; n < 2 * lanes && n <= kWidth<C>; n *= 2, weights += Op::kCounts)
    acc = merge<Op>(acc, acc, *weights, bad, n);
  return finish_rows<Op>(acc, 1, job, t) && !bad.any(acc.f[0]);
}

/// kMergedTiles of a list from vectors of tiles: the tree over them.
template <class Op, int Vectors>
[[gnu::noinline]] bool finish_run(AccOf<Op> (&all)[Vectors], BadOf<Op> bad, TileResult<ElementOf<Op>>& out) {
  using C = ElementOf<Op>;
  if constexpr (requires { Op::settled(all[0]); })
    for (AccOf<Op>& acc : all) acc = Op::settled(acc);
  int n = kTile;
  for (int left = Vectors / 2; left > 0; left /= 2, n *= 2) TALLY_VECTOR_LOOP
  for (int k = 0; k < left; ++k) all[k] = merge<Op>(all[2 * k], all[2 * k + 1], equal_weight<C>(n), bad);
  AccOf<Op> acc = all[0];
  TALLY_VECTOR_LOOP
  for (int i = 2; i <= kWidth<C>; i *= 2, n *= 2) acc = merge<Op>(acc, acc, equal_weight<C>(n), bad, i);
  bool good = !bad.any(acc.f[0]);
  finish<Op>(acc, 1, n, &out, [&](int, bool fine) TALLY_LAMBDA { good &= fine; });
  return good;
}
template <class Op>
std::int64_t runs(const TileRows<ElementOf<Op>>& job, const auto& merged, const Weight<ElementOf<Op>>* weights) {
  constexpr int W = kWidth<ElementOf<Op>>;
  for (std::int64_t t = 0; t < job.tiles; t += kMergedTiles) {
    AccOf<Op> all[kMergedTiles / W];
    BadOf<Op> bad;
    TALLY_VECTOR_LOOP
    for (int v = 0; v < kMergedTiles / W; ++v) {
      AccOf<Op> acc[W];
      BadOf<Op> of_these;
      merged(t + W * v, W, acc, of_these);
      all[v] = together<Op>(acc, weights, of_these);
      bad.add(of_these);
    }
    if (!finish_run<Op>(all, bad, job.out[t / kMergedTiles])) return t;
  }
  return job.tiles;
}

template <class Op> std::int64_t rows(const TileRows<ElementOf<Op>>& job) {
  using C = ElementOf<Op>;
  constexpr int W = kWidth<C>;
  const NoteOf<Op> note{};
  const auto each = [&](const auto& merged, const Weight<C>* weights, int lanes, auto at_once) {
    std::int64_t t = 0;
    while (t < job.tiles) {
      if (t + W <= job.tiles && at_once(merged, weights, t)) {
        t += W;
        continue;
      }
      for (const std::int64_t end = t + W < job.tiles ? t + W : job.tiles; t < end; ++t) {
        BadOf<Op> bad;
        AccOf<Op> acc;
        merged(t, 1, &acc, bad);
        if (!finish_one<Op>(acc, bad, weights, lanes, job, t)) return t;
      }
    }
    return t;
  };
  const auto at_once = [&](const auto& merged, const Weight<C>* weights, std::int64_t t) TALLY_LAMBDA {
    AccOf<Op> acc[W];
    BadOf<Op> bad;
    merged(t, W, acc, bad);
    const AccOf<Op> all = together<Op>(acc, weights, bad);
    return finish_rows<Op>(all, W, job, t) && !bad.any(all.f[0]);
  };
  if (job.count == kTile) {
    const FullTile<Op> tile;
    const auto quick = quick_form<Op, QuickTile>();
    const MergedTiles<Op, decltype(quick), decltype(tile)> merged{job, quick, tile, note};
    return job.merge ? runs<Op>(job, merged, tile.inside) : each(merged, tile.inside, kLanes, at_once);
  }
  const PartPlan<Op> plan(job.count);
  const auto quick = quick_form<Op, QuickPart>(plan);
  const auto part = [&](auto vectors, auto at_once) {
    const PartTile<Op, decltype(vectors)::value> tile{plan};
    const MergedTiles<Op, decltype(quick), decltype(tile)> merged{job, quick, tile, note};
    return each(merged, tile.inside(), plan.lanes, at_once);
  };
  const bool one_row = plan.full == 0;
  if constexpr (!Op::kCounts) {
    if (one_row)
      return part(std::integral_constant<int, 0>(), [&](const auto&, auto, std::int64_t t) {
        if constexpr (has_quick_form<Op>()) {
          note.clear();
          if (Underflow::is_kept() && short_lists<Op, typename Op::Quick>(job, plan.vectors, t, note)) return true;
        }
        return short_lists<Op, Op>(job, plan.vectors, t, note);
      });
  } else if constexpr (sizeof(C) == 4) {  // as most short rows are
    if (one_row && plan.vectors == 1) return part(std::integral_constant<int, 1>(), at_once);
    if (one_row && plan.vectors == 2) return part(std::integral_constant<int, 2>(), at_once);
    if (one_row && plan.vectors == 4) return part(std::integral_constant<int, 4>(), at_once);
  }
  return part(std::integral_constant<int, 0>(), at_once);
}

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
