// Accumulators of a type that is forgotten: where they lie and how they merge.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>

#include <tally/ops/cpu/reduce_loops.h>
#include <tally/ops/reduce_plan.h>

namespace tally::cpu_loops {

/// An array of them; a few stay on the stack.
class Accumulators {
 public:
  Accumulators(std::size_t size, std::int64_t count) : size_(size) {
    const std::size_t bytes = size * static_cast<std::size_t>(count);
    if (bytes > sizeof few_) many_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
  std::byte* at(std::int64_t i) { return (many_ ? many_.get() : few_) + size_ * static_cast<std::size_t>(i); }

 private:
  alignas(std::max_align_t) std::byte few_[1024];
  std::unique_ptr<std::byte[]> many_;
  std::size_t size_;
};

/// Merges the levels of a binary counter that has counted `count` (at least 1), `width` accumulators each; where the
/// result is.
template <class C> void* finish(const OpLoops<C>& loops, void* levels, std::int64_t count, std::int64_t width) {
  const auto at = [&](int level) {
    return static_cast<std::byte*>(levels) + loops.size * static_cast<std::size_t>(level * width);
  };
  int lowest = 0;
  while (!((count >> lowest) & 1)) ++lowest;
  for (int level = lowest + 1; count >> level; ++level)
    if ((count >> level) & 1) loops.merge(loops.arithmetic, at(level), at(lowest), width);
  return at(lowest);
}

/// One list, its tiles pushed on a binary counter in their order.
template <class C> class TileRun {
 public:
  TileRun(const OpLoops<C>& loops, std::int64_t tiles, C pivot)
      : loops_(loops),
        pivot_(pivot),
        levels_(loops.size, static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(tiles)))) {}
  /// `tiles` tiles of `count` neighbours each, from x on; the first is tile `at` of its list.
  void push(const C* x, std::int64_t at, std::int64_t tiles, int count) {
    if (tiles > 0)
      loops_.tiles(loops_.arithmetic, {x, kTile, tiles, count, &pivot_, 0, at * kTile}, levels_.at(0), &counted_);
  }
  /// Tiles [begin, end) of a list of n neighbours.
  void push_dense(const C* list, std::int64_t n, std::int64_t begin, std::int64_t end) {
    const std::int64_t whole = std::clamp(n / kTile, begin, end);
    push(list + begin * kTile, begin, whole - begin, kTile);
    if (whole < end) push(list + whole * kTile, whole, 1, static_cast<int>(n - whole * kTile));
  }
  const void* finish() { return cpu_loops::finish(loops_, levels_.at(0), counted_, 1); }

 private:
  const OpLoops<C>& loops_;
  const C pivot_;
  Accumulators levels_;
  std::int64_t counted_ = 0;
};

/// Aligned runs of this power of two of tiles can go to any thread.
struct Runs {
  std::int64_t tiles, length;
  std::int64_t count() const { return (tiles + length - 1) / length; }
  std::int64_t begin(std::int64_t run) const { return run * length; }
  std::int64_t end(std::int64_t run) const { return std::min(tiles, begin(run + 1)); }
};

/// Lists that lie side by side in memory.
template <class C>
void reduce_columns(const OpLoops<C>& loops, const Lists& lists, const Source<C>& x, const Outputs& out);

}  // namespace tally::cpu_loops
