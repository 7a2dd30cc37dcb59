// The CPU's loops of every reduction, in the order of ops/reduction.h. A template: the library instantiates its own
// list, a user's .cpp its own ops through reduce_with.
#pragma once

#include <algorithm>
#include <vector>

#include <tally/core/parallel.h>
#include <tally/ops/cpu/reduce_fast.h>
#include <tally/ops/reduce_plan.h>
#include <tally/ops/results.h>

namespace tally::cpu_loops {

/// Elements of any type, read as C: the loops exist once for each C, not for each element type.
template <class C> struct Source {
  const std::byte* data;
  std::size_t size;  // bytes an element
  void (*read)(const std::byte* from, std::int64_t step, std::int64_t count, C* to);
  bool direct;  // the elements are C

  template <class T> static Source of(const T* data) {
    return {reinterpret_cast<const std::byte*>(data), sizeof(T),
            [](const std::byte* from, std::int64_t step, std::int64_t count, C* to) {
              const T* x = reinterpret_cast<const T*>(from);
              for (std::int64_t i = 0; i < count; ++i) to[i] = convert<C>(x[i * step]);
            },
            std::is_same_v<T, C>};
  }
  Source at(std::int64_t offset) const { return {data + offset * static_cast<std::int64_t>(size), size, read, direct}; }
  const C* elements() const { return reinterpret_cast<const C*>(data); }
  C first() const {
    C value;
    read(data, 0, 1, &value);
    return value;
  }
};

/// The textbook tree over acc[0..count): neighbours pair up, a leftover passes through. Overwrites acc; count >= 1.
template <class Op, class Acc> const Acc& tree(const Op& op, Acc* acc, std::int64_t count) {
  for (; count > 1; count = (count + 1) / 2) {
    for (std::int64_t k = 0; k < count / 2; ++k) acc[k] = op.combine(acc[2 * k], acc[2 * k + 1]);
    if (count % 2) acc[count / 2] = acc[count - 1];
  }
  return acc[0];
}

/// The same tree over values that come one after another: a binary counter holds one accumulator for each power of two.
template <class Op, class Acc> class TreeCounter {
 public:
  explicit TreeCounter(const Op& op) : op_(op) {}
  void push(Acc acc) {
    int level = 0;
    for (std::int64_t m = count_++; m & 1; m >>= 1, ++level) acc = op_.combine(stack_[level], acc);
    stack_[level] = acc;
  }
  Acc finish() const {
    int level = 0;
    while (!((count_ >> level) & 1)) ++level;
    Acc acc = stack_[level];
    while (++level < 64 && (count_ >> level))
      if ((count_ >> level) & 1) acc = op_.combine(stack_[level], acc);
    return acc;
  }

 private:
  const Op& op_;
  std::int64_t count_ = 0;
  Acc stack_[44];
};

/// One tile of `count` (1 to 1024) elements in a row, the first being element `first` of its list.
template <class Op, class C>
typename Op::template Acc<C> tile(const Op& op, const C* x, int count, std::int64_t first, C pivot) {
  using F = Fold<Op, C>;
  typename F::Acc acc[kLanes];
  const int lanes = std::min(count, kLanes);
  if constexpr (requires { op.lane(std::declval<const C(&)[kPerLane]>(), 1, first, pivot); }) {
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

/// The vector loops of the op; null functions where it has none.
template <class Op, class C> auto tile_loops() {
  if constexpr (kHasTileLoops<Op, C>)
    return detail::tile_kernels(kTileKind<Op>, C());
  else
    return 0;
}

/// take(t, accumulator) for tiles of `count` elements in a row, `step` apart, each with its pivot. The vector loops do
/// what they can. In one list the tiles follow each other from its element `first` on, and where the order is free, the
/// accumulator may be that of several tiles.
template <class Op, class C, class Take>
void for_each_tile(const Op& op, const C* x, std::int64_t step, std::int64_t tiles, int count, const C* pivot,
                   std::int64_t pivot_step, bool one_list, std::int64_t first, Take&& take) {
  std::int64_t t = 0;
  const auto general = [&] {
    take(t, tile(op, x + t * step, count, one_list ? first + t * kTile : 0, pivot[t * pivot_step]));
    ++t;
  };
  if constexpr (kHasTileLoops<Op, C>) {
    constexpr std::int64_t kBatch = 32;
    const auto loops = tile_loops<Op, C>();
    const bool merge = one_list && Fold<Op, C>::any_order;
    TileResult<C> results[kBatch];
    while (t < tiles) {
      const std::int64_t batch = merge ? tiles - t : std::min(kBatch, tiles - t);
      const std::int64_t done =
          loops.rows({x + t * step, step, batch, count, pivot + t * pivot_step, pivot_step, merge, results});
      for (std::int64_t i = 0; i < (merge ? std::min<std::int64_t>(done, 1) : done); ++i)
        take(t + i, accumulator<Op>(results[i], count, one_list ? first + (t + i) * kTile : 0));
      t += done;
      if (done < batch) general();
    }
  } else {
    while (t < tiles) general();
  }
}

/// Tiles [begin, end) of one list.
template <class Op, class C>
typename Op::template Acc<C> run_of_tiles(const Op& op, const Lists& lists, const Source<C>& list, std::int64_t begin,
                                          std::int64_t end, C pivot) {
  TreeCounter<Op, typename Op::template Acc<C>> counter(op);
  const std::int64_t n = lists.length(), whole = std::clamp(n / kTile, begin, end);
  const auto push = [&](std::int64_t, const auto& acc) { counter.push(acc); };
  const auto some = [&](const C* x, std::int64_t from, std::int64_t tiles, int count) {
    for_each_tile(op, x, kTile, tiles, count, &pivot, 0, true, from * kTile, push);
  };
  if (list.direct && lists.reduced.is_dense()) {
    some(list.elements() + begin * kTile, begin, whole - begin, kTile);
    if (whole < end) some(list.elements() + whole * kTile, whole, 1, static_cast<int>(n - whole * kTile));
    return counter.finish();
  }
  const std::int64_t step = lists.reduced.inner_stride(0);
  alignas(64) C buffer[kTile];
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t first = t * kTile;
    const int count = static_cast<int>(std::min<std::int64_t>(kTile, n - first));
    C* to = buffer;
    for_each_run(lists.reduced, first, first + count, [&](const std::int64_t(&offset)[1], std::int64_t length) {
      list.read(list.at(offset[0]).data, step, length, to);
      to += length;
    });
    some(buffer, t, 1, count);
  }
  return counter.finish();
}

/// One tile of `width` (up to kGeneralWidth) lists that lie side by side in memory; rows[i] leads to element i of all.
inline constexpr int kGeneralWidth = 64;
template <class Op, class C>
void tile_columns(const Op& op, const Source<C>& base, const std::int64_t* rows, int count, std::int64_t first,
                  int width, const C* pivot, typename Op::template Acc<C>* lanes, typename Op::template Acc<C>* out) {
  using F = Fold<Op, C>;
  alignas(64) C row_buffer[kPerLane][kGeneralWidth];
  const auto row_at = [&](int r, C* buffer) {
    const Source<C> from = base.at(rows[r]);
    if (from.direct) return from.elements();
    from.read(from.data, 1, width, buffer);
    return static_cast<const C*>(buffer);
  };
  const auto lane_at = [&](int l) { return lanes + static_cast<std::int64_t>(l) * width; };
  const int used = std::min(count, kLanes);
  if constexpr (requires { op.lane(std::declval<const C(&)[kPerLane]>(), 1, first, C{}); }) {
    for (int l = 0; l < used; ++l) {
      const int length = (count - l + kLanes - 1) / kLanes;
      const C* row_of[kPerLane];
      for (int j = 0; j < length; ++j) row_of[j] = row_at(l + kLanes * j, row_buffer[j]);
      for (int w = 0; w < width; ++w) {
        C lane[kPerLane] = {};
        for (int j = 0; j < length; ++j) lane[j] = row_of[j][w];
        lane_at(l)[w] = op.lane(lane, length, first + l, pivot[w]);
      }
    }
  } else {
    for (int r = 0; r < count; ++r) {
      const C* from = row_at(r, row_buffer[0]);
      auto* acc = lane_at(r % kLanes);
      if (r < kLanes)
        for (int w = 0; w < width; ++w) acc[w] = F::lift(op, from[w], first + r);
      else
        for (int w = 0; w < width; ++w) acc[w] = op.combine(acc[w], F::lift(op, from[w], first + r));
    }
  }
  for (int left = used; left > 1; left = (left + 1) / 2) {
    for (int k = 0; k < left / 2; ++k)
      for (int w = 0; w < width; ++w) lane_at(k)[w] = op.combine(lane_at(2 * k)[w], lane_at(2 * k + 1)[w]);
    if (left % 2) std::copy_n(lane_at(left - 1), width, lane_at(left / 2));
  }
  std::copy_n(lanes, width, out);
}

/// Tiles [begin, end) of `width` lists side by side, the first of them list o: memory is read along its rows. The same
/// bits as one by one. Calls finish(w, accumulator, pivot).
template <class Op, class C, class Finish>
void run_of_columns(const Op& op, const Lists& lists, const Source<C>& x, std::int64_t o, int width, std::int64_t begin,
                    std::int64_t end, Finish&& finish) {
  using Acc = typename Op::template Acc<C>;
  const std::int64_t n = lists.length(), step = lists.reduced.inner_stride(0);
  std::int64_t start[1];
  lists.kept.offsets(o, start);
  const Source<C> base = x.at(start[0]);
  const auto wide = static_cast<std::size_t>(width);
  const bool vectors = kHasTileLoops<Op, C>;
  std::vector<C> pivot(wide), converted(vectors && !x.direct ? kTile * wide : 0);
  std::vector<TileResult<C>> results(vectors ? wide : 0);
  std::vector<std::int64_t> rows(kTile);
  std::vector<Acc> lanes, one(wide);
  std::vector<std::vector<Acc>> stack;  // the binary counter of TreeCounter, for all lists at once
  base.read(base.data, 1, width, pivot.data());
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t first = t * kTile;
    const int count = static_cast<int>(std::min<std::int64_t>(kTile, n - first));
    std::int64_t* row = rows.data();
    for_each_run(lists.reduced, first, first + count, [&](const std::int64_t(&offset)[1], std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i) *row++ = offset[0] + i * step;
    });
    Source<C> from = base;
    if (!converted.empty()) {
      for (int r = 0; r < count; ++r) {
        base.read(base.at(rows[static_cast<std::size_t>(r)]).data, 1, width,
                  &converted[static_cast<std::size_t>(r) * wide]);
        rows[static_cast<std::size_t>(r)] = static_cast<std::int64_t>(r) * width;
      }
      from = Source<C>::of(converted.data());
    }
    bool done = false;
    if constexpr (kHasTileLoops<Op, C>) {
      done = tile_loops<Op, C>().columns({from.elements(), rows.data(), count, width, pivot.data(), results.data()});
      if (done)
        for (std::size_t w = 0; w < wide; ++w) one[w] = accumulator<Op>(results[w], count, first);
    }
    if (!done) {
      lanes.resize(static_cast<std::size_t>(kLanes) * kGeneralWidth);
      for (int w = 0; w < width; w += kGeneralWidth)
        tile_columns(op, from.at(w), rows.data(), count, first, std::min(kGeneralWidth, width - w),
                     &pivot[static_cast<std::size_t>(w)], lanes.data(), &one[static_cast<std::size_t>(w)]);
    }
    std::size_t level = 0;
    for (std::int64_t m = t - begin; m & 1; m >>= 1, ++level)
      for (std::size_t w = 0; w < wide; ++w) one[w] = op.combine(stack[level][w], one[w]);
    if (level == stack.size()) stack.emplace_back(wide);
    stack[level].swap(one);
  }
  const std::int64_t count = end - begin;
  int level = 0;
  while (!((count >> level) & 1)) ++level;
  one = stack[static_cast<std::size_t>(level)];
  while (++level < 64 && (count >> level))
    if ((count >> level) & 1)
      for (std::size_t w = 0; w < wide; ++w) one[w] = op.combine(stack[static_cast<std::size_t>(level)][w], one[w]);
  for (int w = 0; w < width; ++w) finish(w, one[static_cast<std::size_t>(w)], pivot[static_cast<std::size_t>(w)]);
}

/// Elements that are worth handing to another thread: some 4 us of work, where one thread's loops read 130 (sums and
/// extremes), 50 (moments) and 8 GB/s (exponentials) from its caches.
template <class Op, class C> constexpr std::int64_t grain() {
  if (!kHasTileLoops<Op, C> || kTileKind<Op> == TileKind::exponentials) return 1 << 13;
  return kTileKind<Op> == TileKind::moments ? 1 << 16 : 1 << 17;
}

/// Lists that lie side by side in memory.
template <class Op, class C>
void reduce_columns(const Op& op, const Lists& lists, const Source<C>& x, const Results<Op, C>& out) {
  using Acc = typename Op::template Acc<C>;
  const std::int64_t n = lists.length(), outputs = lists.outputs(), inner = lists.kept.inner();
  const std::int64_t width = kHasTileLoops<Op, C> && x.direct ? detail::kTileColumns : kGeneralWidth;
  const std::int64_t side = (inner + width - 1) / width, blocks = outputs / inner * side;
  // Aligned power-of-two runs of tiles can go to any thread.
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  std::int64_t run = 1;
  while (run < tiles) run *= 2;
  while (run > 1 && blocks * (tiles / run) < 4 * num_threads() &&
         run * kTile * std::min(width, inner) > 2 * grain<Op, C>())
    run /= 2;
  const std::int64_t runs = (tiles + run - 1) / run;
  std::vector<Acc> partial(static_cast<std::size_t>(runs > 1 ? runs * outputs : 0));
  const std::int64_t work = std::min(run * kTile, n) * std::min(width, inner);
  parallel_for(
      blocks * runs, std::max<std::int64_t>(1, grain<Op, C>() / work), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t u = begin; u < end; ++u) {
          const std::int64_t r = u / blocks, b = u % blocks, column = b % side * width, o = b / side * inner + column;
          run_of_columns(op, lists, x, o, static_cast<int>(std::min(width, inner - column)), r * run,
                         std::min(tiles, (r + 1) * run), [&](int w, const Acc& acc, C pivot) {
                           if (runs == 1)
                             out.store(op, o + w, acc, n, pivot);
                           else
                             partial[static_cast<std::size_t>((o + w) * runs + r)] = acc;
                         });
        }
      });
  if (runs == 1) return;
  for (std::int64_t o = 0; o < outputs; ++o) {
    std::int64_t offset[1];
    lists.kept.offsets(o, offset);
    out.store(op, o, tree(op, &partial[static_cast<std::size_t>(o * runs)], runs), n, x.at(offset[0]).first());
  }
}

/// Lists of at most one tile, dense and of type C: the vector loops take many at a time.
template <class Op, class C>
void reduce_rows(const Op& op, const Lists& lists, const Source<C>& x, const Results<Op, C>& out, std::int64_t begin,
                 std::int64_t end) {
  const std::int64_t n = lists.length(), step = lists.kept.inner_stride(0);
  std::int64_t o = begin;
  for_each_run(lists.kept, begin, end, [&](const std::int64_t(&offset)[1], std::int64_t length) {
    const C* first = x.at(offset[0]).elements();
    for_each_tile(op, first, step, length, static_cast<int>(n), first, step, false, 0,
                  [&](std::int64_t t, const auto& acc) { out.store(op, o + t, acc, n, first[t * step]); });
    o += length;
  });
}

/// All lists of `x`. A list of nothing gives the identity; the caller has refused it where there is none.
template <class Op, class C>
void reduce(const Op& op, const Lists& lists, const Source<C>& x, const Results<Op, C>& out) {
  using F = Fold<Op, C>;
  using Acc = typename F::Acc;
  constexpr std::int64_t kGrain = grain<Op, C>();
  const std::int64_t n = lists.length(), outputs = lists.outputs();
  if (n == 0) {
    if constexpr (F::has_identity)
      for (std::int64_t o = 0; o < outputs; ++o) out.store(op, o, op.template identity<C>(), 0, C(0));
    return;
  }
  if (lists.kept.inner_stride(0) == 1 && lists.reduced.inner_stride(0) != 1 && lists.kept.inner() >= 4)
    return reduce_columns(op, lists, x, out);
  const auto list_at = [&](std::int64_t o) {
    std::int64_t offset[1];
    lists.kept.offsets(o, offset);
    return x.at(offset[0]);
  };
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  if (outputs >= 16 || tiles < 64 || outputs * n < 2 * kGrain) {
    const bool at_once = tiles == 1 && x.direct && lists.reduced.is_dense();
    parallel_for(outputs, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
      if (at_once) return reduce_rows(op, lists, x, out, begin, end);
      for (std::int64_t o = begin; o < end; ++o) {
        const Source<C> list = list_at(o);
        const C pivot = list.first();
        out.store(op, o, run_of_tiles(op, lists, list, 0, tiles, pivot), n, pivot);
      }
    });
    return;
  }
  // Few long lists: aligned power-of-two runs of tiles can go to any thread.
  std::int64_t run = 16;
  while (tiles / run > 1024) run *= 2;
  const std::int64_t runs = (tiles + run - 1) / run;
  std::vector<Acc> partial(static_cast<std::size_t>(runs));
  for (std::int64_t o = 0; o < outputs; ++o) {
    const Source<C> list = list_at(o);
    const C pivot = list.first();
    parallel_for(runs, std::max<std::int64_t>(1, kGrain / (run * kTile)), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        partial[static_cast<std::size_t>(r)] =
            run_of_tiles(op, lists, list, r * run, std::min(tiles, (r + 1) * run), pivot);
    });
    out.store(op, o, tree(op, partial.data(), runs), n, pivot);
  }
}

/// gx = grad · derivative for every element; `grad` and the accumulators are dense, one a list.
template <class Op, class C>
void reduce_backward(const Op& op, const Strided<5>& walk, std::int64_t n, const C* x, const C* grad,
                     const typename Op::template Acc<C>* accumulators, C* gx) {
  const std::int64_t sx = walk.inner_stride(0), sg = walk.inner_stride(1), so = walk.inner_stride(2),
                     si = walk.inner_stride(3), sp = walk.inner_stride(4);
  parallel_for(walk.count, 1 << 13, [&](std::int64_t begin, std::int64_t end) {
    for_each_run(walk, begin, end, [&](const std::int64_t(&at)[5], std::int64_t length) {
      for (std::int64_t k = 0; k < length; ++k) {
        const std::int64_t o = at[2] + k * so;
        const C slope = Slope<Op, C>::at(op, x ? x[at[0] + k * sx] : C(0), at[3] + k * si, accumulators[o], n,
                                         x ? x[at[4] + k * sp] : C(0));
        gx[at[1] + k * sg] = grad[o] * slope;
      }
    });
  });
}

}  // namespace tally::cpu_loops
