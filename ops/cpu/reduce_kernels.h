// The vector loops of the library's reductions over float and double, compiled once per instruction set
// (isa_reduce.cpp, isa_extremes.cpp). They do the common case and say where it is not: values whose squares or products
// leave the range, NaN among extremes. Then the general loops of ops/cpu/reduce_tile.h do that tile; the bits are the
// same. No inline function here: one compiled for a newer processor could replace the others' at link time.
#pragma once

#include <cstdint>

namespace tally::detail {

enum class TileKind : unsigned char {
  sum,
  norm1,
  norm2,
  prod,
  moments,
  exponentials,  // isa_reduce.cpp
  max,
  min,
  amax,
  amin,
  largest_magnitude,
  smallest_magnitude,
  nonzero,
  none  // isa_extremes.cpp
};

/// A tile's accumulator: sum, norm1, norm2: the sum in `first`; prod: first * 2^number, first in [1, 2); moments: mean
/// and m2 of x - pivot; exponentials: maximum and sum; max, min: value and place in the tile; amax, amin, magnitudes:
/// value and ties; nonzero: the number.
template <class C> struct TileResult {
  C first, second;
  std::int64_t number;
};

/// Kinds whose op has one number of the elements' type as its result.
constexpr bool gives_results(TileKind kind) {
  return kind <= TileKind::prod || (kind >= TileKind::amax && kind <= TileKind::smallest_magnitude);
}

/// `tiles` tiles of `count` (1 to 1024) elements in a row each, `step` elements apart, each with its pivot. Where
/// `merge`, they are one list: of kinds without an order all that are done give one result, its place counted from `x`;
/// of others whole tiles, a multiple of kMergedTiles, of which so many give one. Where `results`, which only kinds that
/// give them know, each tile is a list of which the op's result is all that is wanted: it goes there, and nothing to
/// `out`.
inline constexpr int kMergedTiles = 16;
template <class C> struct TileRows {
  const C* x;
  std::int64_t step, tiles;
  int count;
  const C* pivot;
  std::int64_t pivot_step;
  bool merge;
  TileResult<C>* out;
  C* results;
};

/// Tiles of `width` (up to kTileColumns) lists side by side in memory: element i of all of them from x + rows[i].
template <class C> struct TileColumns {
  const C* x;
  const std::int64_t* rows;
  int count, width;
  const C* pivot;  // one a list
  TileResult<C>* out;
  bool* done;  // one a list: whether its tile was for these loops
};
inline constexpr int kTileColumns = 512;

template <class C> struct TileKernels {
  /// How many tiles are done; the one after them is not for these loops.
  std::int64_t (*rows)(const TileRows<C>&);
  /// Whether all are done.
  bool (*columns)(const TileColumns<C>&);
  /// For exponentials: out = exp(x - max) / sum, of n elements that are at most `max`. Else null.
  void (*shares)(const C* x, std::int64_t n, C max, C sum, C* out) = nullptr;
};

/// For a kind of theirs; null functions for any other.
#define TALLY_TILE_KERNELS(isa)                                   \
  TileKernels<float> sum_kernels_##isa(TileKind kind, float);     \
  TileKernels<double> sum_kernels_##isa(TileKind kind, double);   \
  TileKernels<float> extreme_kernels_##isa(TileKind kind, float); \
  TileKernels<double> extreme_kernels_##isa(TileKind kind, double);
TALLY_TILE_KERNELS(baseline)
TALLY_TILE_KERNELS(avx2)
TALLY_TILE_KERNELS(avx512)
#undef TALLY_TILE_KERNELS

/// Those of the instruction set in use; null functions for TileKind::none.
TileKernels<float> tile_kernels(TileKind kind, float);
TileKernels<double> tile_kernels(TileKind kind, double);

}  // namespace tally::detail
