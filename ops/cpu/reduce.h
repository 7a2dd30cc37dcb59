// The CPU's loops of every reduction, in the order of ops/reduction.h. A template: the library instantiates its own
// list, a user's .cpp its own ops through reduce_with.
#pragma once

#include <algorithm>
#include <vector>

#include <tally/core/parallel.h>
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

/// Tiles [begin, end) of one list.
template <class Op, class C>
typename Op::template Acc<C> run_of_tiles(const Op& op, const Lists& lists, const Source<C>& list, std::int64_t begin,
                                          std::int64_t end, C pivot) {
  TreeCounter<Op, typename Op::template Acc<C>> counter(op);
  const std::int64_t n = lists.length();
  const bool in_place = list.direct && lists.reduced.is_dense();
  const std::int64_t step = lists.reduced.inner_stride(0);
  alignas(64) C buffer[kTile];
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t first = t * kTile;
    const int count = static_cast<int>(std::min<std::int64_t>(kTile, n - first));
    if (!in_place) {
      C* to = buffer;
      for_each_run(lists.reduced, first, first + count, [&](const std::int64_t(&offset)[1], std::int64_t length) {
        list.read(list.at(offset[0]).data, step, length, to);
        to += length;
      });
    }
    counter.push(tile(op, in_place ? list.elements() + first : buffer, count, first, pivot));
  }
  return counter.finish();
}

/// `width` lists that lie side by side in memory (kept stride 1), all tiles: lanes of all of them at once, so that
/// memory is read along its rows. The same bits as one by one.
template <int Width, class Op, class C>
void side_by_side(const Op& op, const Lists& lists, const Source<C>& x, std::int64_t o, int width,
                  const Results<Op, C>& out) {
  using F = Fold<Op, C>;
  using Acc = typename F::Acc;
  const std::int64_t n = lists.length();
  std::int64_t start[1];
  lists.kept.offsets(o, start);
  const Source<C> base = x.at(start[0]);
  std::vector<Acc> lanes(static_cast<std::size_t>(kLanes) * Width);
  std::vector<std::int64_t> rows(kTile);
  alignas(64) C pivot[Width] = {}, row_buffer[kPerLane][Width];
  std::vector<TreeCounter<Op, Acc>> counters(static_cast<std::size_t>(width), TreeCounter<Op, Acc>(op));
  base.read(base.data, 1, width, pivot);
  // Row r of the lists, side by side.
  const auto row_at = [&](int r, C* buffer) {
    const Source<C> from = base.at(rows[static_cast<std::size_t>(r)]);
    if (from.direct) return from.elements();
    from.read(from.data, 1, width, buffer);
    return static_cast<const C*>(buffer);
  };
  const std::int64_t step = lists.reduced.inner_stride(0);
  for (std::int64_t first = 0; first < n; first += kTile) {
    const int count = static_cast<int>(std::min<std::int64_t>(kTile, n - first));
    std::int64_t* row = rows.data();
    for_each_run(lists.reduced, first, first + count, [&](const std::int64_t(&offset)[1], std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i) *row++ = offset[0] + i * step;
    });
    const int used = std::min(count, kLanes);
    if constexpr (requires { op.lane(std::declval<const C(&)[kPerLane]>(), 1, first, C{}); }) {
      for (int l = 0; l < used; ++l) {
        const int length = (count - l + kLanes - 1) / kLanes;
        const C* row_of[kPerLane];
        for (int j = 0; j < length; ++j) row_of[j] = row_at(l + kLanes * j, row_buffer[j]);
        for (int w = 0; w < width; ++w) {
          C lane[kPerLane] = {};
          for (int j = 0; j < length; ++j) lane[j] = row_of[j][w];
          lanes[static_cast<std::size_t>(l * Width + w)] = op.lane(lane, length, first + l, pivot[w]);
        }
      }
    } else {
      for (int r = 0; r < count; ++r) {
        const C* from = row_at(r, row_buffer[0]);
        Acc* acc = &lanes[static_cast<std::size_t>(r % kLanes) * Width];
        if (r < kLanes)
          for (int w = 0; w < width; ++w) acc[w] = F::lift(op, from[w], first + r);
        else
          for (int w = 0; w < width; ++w) acc[w] = op.combine(acc[w], F::lift(op, from[w], first + r));
      }
    }
    for (int left = used; left > 1; left = (left + 1) / 2) {
      for (int k = 0; k < left / 2; ++k)
        for (int w = 0; w < width; ++w)
          lanes[static_cast<std::size_t>(k * Width + w)] =
              op.combine(lanes[static_cast<std::size_t>(2 * k * Width + w)],
                         lanes[static_cast<std::size_t>((2 * k + 1) * Width + w)]);
      if (left % 2)
        std::copy_n(&lanes[static_cast<std::size_t>((left - 1) * Width)], width,
                    &lanes[static_cast<std::size_t>(left / 2 * Width)]);
    }
    for (int w = 0; w < width; ++w) counters[static_cast<std::size_t>(w)].push(lanes[static_cast<std::size_t>(w)]);
  }
  for (int w = 0; w < width; ++w) out.store(op, o + w, counters[static_cast<std::size_t>(w)].finish(), n, pivot[w]);
}

/// All lists of `x`. A list of nothing gives the identity; the caller has refused it where there is none.
template <class Op, class C>
void reduce(const Op& op, const Lists& lists, const Source<C>& x, const Results<Op, C>& out) {
  using F = Fold<Op, C>;
  using Acc = typename F::Acc;
  const std::int64_t n = lists.length(), outputs = lists.outputs();
  if (n == 0) {
    if constexpr (F::has_identity)
      for (std::int64_t o = 0; o < outputs; ++o) out.store(op, o, op.template identity<C>(), 0, C(0));
    return;
  }
  constexpr std::int64_t kGrain = 1 << 14;  // elements that make a piece of work worth handing over
  const bool columns = lists.kept.inner_stride(0) == 1 && lists.reduced.inner_stride(0) != 1 && lists.kept.inner() >= 4;
  if (columns) {
    constexpr int kWidth = std::clamp<int>(64 * 1024 / (kLanes * static_cast<int>(sizeof(Acc))), 8, 64);
    const std::int64_t inner = lists.kept.inner(), blocks = (inner + kWidth - 1) / kWidth;
    parallel_for(outputs / inner * blocks, std::max<std::int64_t>(1, kGrain / (n * kWidth)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t b = begin; b < end; ++b) {
                     const std::int64_t column = b % blocks * kWidth;
                     side_by_side<kWidth>(op, lists, x, b / blocks * inner + column,
                                          static_cast<int>(std::min<std::int64_t>(kWidth, inner - column)), out);
                   }
                 });
    return;
  }
  const auto list_at = [&](std::int64_t o) {
    std::int64_t offset[1];
    lists.kept.offsets(o, offset);
    return x.at(offset[0]);
  };
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  if (outputs >= 16 || tiles < 64) {
    parallel_for(outputs, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
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
    parallel_for(runs, 1, [&](std::int64_t begin, std::int64_t end) {
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
