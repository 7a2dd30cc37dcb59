// Lists one by one, and the choice of how they are walked and split.
#include <cstring>

#include <tally/core/parallel.h>
#include <tally/ops/cpu/reduce.h>
#include <tally/ops/cpu/reduce_walk.h>

namespace tally::cpu_loops {
namespace {

/// The accumulator of tiles [begin, end) of one list, to where `use` wants it.
template <class C, class Use>
void run_of_tiles(const OpLoops<C>& loops, const Lists& lists, const Source<C>& list, std::int64_t begin,
                  std::int64_t end, C pivot, Use&& use) {
  TileRun<C> run(loops, end - begin, pivot);
  const std::int64_t n = lists.length();
  if (list.direct && lists.reduced.is_dense()) {
    run.push_dense(list.elements(), n, begin, end);
  } else {
    const std::int64_t step = lists.reduced.inner_stride(0);
    alignas(64) C buffer[kTile];
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t first = t * kTile, count = std::min<std::int64_t>(kTile, n - first);
      C* to = buffer;
      for_each_run(lists.reduced, first, first + count, [&](const std::int64_t(&offset)[1], std::int64_t length) {
        list.read(list.at(offset[0]).data, step, length, to);
        to += length;
      });
      run.push(buffer, t, 1, static_cast<int>(count));
    }
  }
  use(run.finish());
}

/// Lists of at most one tile, dense and of type C: the vector loops take many at a time.
template <class C>
void reduce_rows(const OpLoops<C>& loops, const Lists& lists, const Source<C>& x, const Outputs& out,
                 std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kBatch = 256;
  const std::int64_t n = lists.length(), step = lists.kept.inner_stride(0);
  const bool alone = loops.results && !out.second && !out.accumulators;
  Accumulators accumulators(loops.size, alone ? 0 : std::min(kBatch, end - begin));
  std::int64_t o = begin;
  for_each_run(lists.kept, begin, end, [&](const std::int64_t(&offset)[1], std::int64_t length) {
    const C* first = x.at(offset[0]).elements();
    if (alone) {
      loops.results(loops.op, {first, step, length, static_cast<int>(n), first, step, 0},
                    static_cast<C*>(out.first) + o);
      o += length;
      return;
    }
    for (std::int64_t count; length > 0; length -= count, o += count, first += count * step) {
      count = std::min(kBatch, length);
      loops.tiles(loops.arithmetic, {first, step, count, static_cast<int>(n), first, step, 0}, accumulators.at(0),
                  nullptr);
      loops.store(loops.op, out, o, accumulators.at(0), count, n, first, step);
    }
  });
}

}  // namespace

template <class C>
void reduce_lists(const OpLoops<C>& loops, const Lists& lists, const Source<C>& x, const Outputs& out) {
  const FloatGuard guard;  // for what is merged here between the threads' work
  const std::int64_t n = lists.length(), outputs = lists.outputs();
  if (n == 0) {
    if (!loops.identity) return;
    Accumulators nothing(loops.size, 1);
    loops.identity(loops.arithmetic, nothing.at(0));
    const C pivot(0);
    for (std::int64_t o = 0; o < outputs; ++o) loops.store(loops.op, out, o, nothing.at(0), 1, 0, &pivot, 0);
    return;
  }
  if (lists.kept.inner_stride(0) == 1 && lists.reduced.inner_stride(0) != 1 && lists.kept.inner() >= 4)
    return reduce_columns(loops, lists, x, out);
  const auto list_at = [&](std::int64_t o) {
    std::int64_t offset[1];
    lists.kept.offsets(o, offset);
    return x.at(offset[0]);
  };
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  if (outputs >= 16 || tiles < 64 || outputs * n < 2 * loops.grain) {
    const bool at_once = tiles == 1 && x.direct && lists.reduced.is_dense();
    parallel_for(outputs, std::max<std::int64_t>(1, loops.grain / n), [&](std::int64_t begin, std::int64_t end) {
      if (at_once) return reduce_rows(loops, lists, x, out, begin, end);
      for (std::int64_t o = begin; o < end; ++o) {
        const Source<C> list = list_at(o);
        const C pivot = list.first();
        run_of_tiles(loops, lists, list, 0, tiles, pivot,
                     [&](const void* acc) { loops.store(loops.op, out, o, acc, 1, n, &pivot, 0); });
      }
    });
    return;
  }
  // Few long lists.
  Runs runs{tiles, 16};
  while (tiles / runs.length > 1024) runs.length *= 2;
  Accumulators partial(loops.size, runs.count());
  for (std::int64_t o = 0; o < outputs; ++o) {
    const Source<C> list = list_at(o);
    const C pivot = list.first();
    parallel_for(runs.count(), std::max<std::int64_t>(1, loops.grain / (runs.length * kTile)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r)
                     run_of_tiles(loops, lists, list, runs.begin(r), runs.end(r), pivot,
                                  [&](const void* acc) { std::memcpy(partial.at(r), acc, loops.size); });
                 });
    loops.tree(loops.arithmetic, partial.at(0), runs.count());
    loops.store(loops.op, out, o, partial.at(0), 1, n, &pivot, 0);
  }
}

#define TALLY_REDUCE_LISTS(C) \
  template void reduce_lists(const OpLoops<C>&, const Lists&, const Source<C>&, const Outputs&);
TALLY_REDUCE_LISTS(float)
TALLY_REDUCE_LISTS(double)
TALLY_REDUCE_LISTS(std::int64_t)

}  // namespace tally::cpu_loops
