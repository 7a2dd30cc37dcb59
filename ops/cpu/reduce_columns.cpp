// Lists that lie side by side in memory: a row of it has an element of each.
#include <bit>
#include <cstring>
#include <vector>

#include <tally/core/parallel.h>
#include <tally/ops/cpu/reduce.h>
#include <tally/ops/cpu/reduce_walk.h>

namespace tally::cpu_loops {
namespace {

/// The columns that the vector loops refused go as rows, those of a cache line together. The same bits.
template <class C>
void refused_columns(const OpLoops<C>& loops, const Columns<C>& job, const bool* done, std::byte* out) {
  constexpr int kSide = 16, kStep = kTile + kSide;  // rows a power of two apart would have the same place in the cache
  std::vector<C> rows(static_cast<std::size_t>(kSide) * kStep);
  Accumulators accumulators(loops.size, kSide);
  for (int begin = 0; begin < job.width; begin += kSide) {
    int column[kSide], number = 0;
    C pivot[kSide];
    for (int w = begin; w < std::min(begin + kSide, job.width); ++w)
      if (!done[w]) {
        pivot[number] = job.pivot[w];
        column[number++] = w;
      }
    for (int i = 0; i < job.count && number > 0; ++i) {
      const C* from = job.x.elements() + job.rows[i];
      for (int s = 0; s < number; ++s) rows[static_cast<std::size_t>(s * kStep + i)] = from[column[s]];
    }
    loops.tiles(loops.arithmetic, {rows.data(), kStep, number, job.count, pivot, 1, job.first}, accumulators.at(0),
                nullptr);
    for (int s = 0; s < number; ++s)
      std::memcpy(out + loops.size * static_cast<std::size_t>(column[s]), accumulators.at(s), loops.size);
  }
}

/// Some lists side by side, their tiles one after another.
template <class C> class ColumnRun {
 public:
  ColumnRun(const OpLoops<C>& loops, const Lists& lists, const Source<C>& first_list, int width)
      : loops_(loops),
        lists_(lists),
        x_(first_list),
        width_(width),
        wide_(static_cast<std::size_t>(width)),
        pivot_(wide_),
        converted_(loops.vectors && !x_.direct ? kTile * wide_ : 0),
        rows_(kTile),
        lanes_(loops.size, loops.vectors ? 0 : kLanes * width) {
    x_.read(x_.data, 1, width, pivot_.data());
  }
  const C* pivot() const { return pivot_.data(); }

  /// The accumulators of tiles [begin, end), one a list.
  void* run(std::int64_t begin, std::int64_t end) {
    // A binary counter for all lists at once. The next tile's come above its levels.
    const auto levels = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(end - begin)));
    stack_.resize(static_cast<std::size_t>(levels + 1) * bytes());
    const auto level_at = [&](std::int64_t level) { return stack_.data() + static_cast<std::size_t>(level) * bytes(); };
    std::byte* const one = level_at(levels);
    for (std::int64_t t = begin; t < end; ++t) {
      tile(t, one);
      std::int64_t level = 0;
      for (std::int64_t m = t - begin; m & 1; m >>= 1) loops_.merge(loops_.arithmetic, level_at(level++), one, width_);
      std::memcpy(level_at(level), one, bytes());
    }
    return finish(loops_, stack_.data(), end - begin, width_);
  }

 private:
  std::size_t bytes() const { return loops_.size * wide_; }

  void tile(std::int64_t t, std::byte* out) {
    const std::int64_t first = t * kTile, step = lists_.reduced.inner_stride(0);
    const int count = static_cast<int>(std::min<std::int64_t>(kTile, lists_.length() - first));
    std::int64_t* row = rows_.data();
    for_each_run(lists_.reduced, first, first + count, [&](const std::int64_t(&offset)[1], std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i) *row++ = offset[0] + i * step;
    });
    Source<C> from = x_;
    if (!converted_.empty()) {
      for (int r = 0; r < count; ++r) {
        std::int64_t& place = rows_[static_cast<std::size_t>(r)];
        x_.read(x_.at(place).data, 1, width_, &converted_[static_cast<std::size_t>(r) * wide_]);
        place = static_cast<std::int64_t>(r) * width_;
      }
      from = Source<C>(converted_.data(), dtype_of<C>());
    }
    const Columns<C> job{from, rows_.data(), count, width_, first, pivot_.data()};
    bool done[detail::kTileColumns];
    if (!loops_.columns(loops_.arithmetic, job, lanes_.at(0), out, done)) refused_columns(loops_, job, done, out);
  }

  const OpLoops<C>& loops_;
  const Lists& lists_;
  const Source<C> x_;
  const int width_;
  const std::size_t wide_;
  std::vector<C> pivot_, converted_;
  std::vector<std::int64_t> rows_;
  Accumulators lanes_;
  std::vector<std::byte> stack_;
};

}  // namespace

template <class C>
void reduce_columns(const OpLoops<C>& loops, const Lists& lists, const Source<C>& x, const Outputs& out) {
  const std::int64_t n = lists.length(), outputs = lists.outputs(), inner = lists.kept.inner();
  const std::int64_t width =
      std::min<std::int64_t>(inner, loops.vectors && x.direct ? detail::kTileColumns : kGeneralWidth);
  const std::int64_t side = (inner + width - 1) / width, blocks = outputs / inner * side;
  Runs runs{(n + kTile - 1) / kTile, 1};
  while (runs.length < runs.tiles) runs.length *= 2;
  while (runs.length > 1 && blocks * (runs.tiles / runs.length) < 4 * num_threads() &&
         runs.length * kTile * width > 2 * loops.grain)
    runs.length /= 2;
  const bool whole = runs.count() == 1;
  Accumulators partial(loops.size, whole ? 0 : runs.count() * outputs);
  const auto list_at = [&](std::int64_t o) {
    std::int64_t start[1];
    lists.kept.offsets(o, start);
    return x.at(start[0]);
  };
  const std::int64_t work = std::min(runs.length * kTile, n) * width;
  parallel_for(blocks * runs.count(), std::max<std::int64_t>(1, loops.grain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t u = begin; u < end; ++u) {
                   const std::int64_t r = u / blocks, b = u % blocks, column = b % side * width,
                                      o = b / side * inner + column, wide = std::min(width, inner - column);
                   ColumnRun<C> columns(loops, lists, list_at(o), static_cast<int>(wide));
                   const auto* acc = static_cast<const std::byte*>(columns.run(runs.begin(r), runs.end(r)));
                   if (whole)
                     loops.store(loops.op, out, o, acc, wide, n, columns.pivot(), 1);
                   else
                     for (std::int64_t w = 0; w < wide; ++w, acc += loops.size)
                       std::memcpy(partial.at((o + w) * runs.count() + r), acc, loops.size);
                 }
               });
  if (whole) return;
  for (std::int64_t o = 0; o < outputs; ++o) {
    const C pivot = list_at(o).first();
    loops.tree(loops.arithmetic, partial.at(o * runs.count()), runs.count());
    loops.store(loops.op, out, o, partial.at(o * runs.count()), 1, n, &pivot, 0);
  }
}

#define TALLY_REDUCE_COLUMNS(C) \
  template void reduce_columns(const OpLoops<C>&, const Lists&, const Source<C>&, const Outputs&);
TALLY_REDUCE_COLUMNS(float)
TALLY_REDUCE_COLUMNS(double)
TALLY_REDUCE_COLUMNS(std::int64_t)

}  // namespace tally::cpu_loops
