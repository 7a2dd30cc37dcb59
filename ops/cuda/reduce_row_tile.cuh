// How the kernel for long rows reads tiles: which of a tile's elements a thread loads and folds.
#pragma once

#include <tally/ops/cuda/reduce_task.cuh>

namespace tally::cuda_loops {

/// Neighbours that a thread of the kernel for long rows loads at once where it can. Values of 8 bytes fill a warp's
/// access as they are, and heavy ops merge as often either way.
template <class U, class T> constexpr int row_width() {
  return U::heavy || !is_float_type<T> || sizeof(T) == 8 ? 1 : static_cast<int>(16 / sizeof(T));
}

/// How threads share tiles: kGroup of them a tile, in pass p thread r of them has lanes (kGroup·p + r)·kWidth + k.
template <int kWidth> struct Share {
  static constexpr int kGroup = kLanes / kWidth < kWarp ? kLanes / kWidth : kWarp, kTiles = kWarp / kGroup;
  static constexpr int kPasses = kLanes / (kWidth * kGroup), kStep = kWidth * kGroup;
  TALLY_DEVICE static int lane(int pass) { return kStep * pass + static_cast<int>(threadIdx.x % kGroup) * kWidth; }
};

/// What a thread reads of a tile: number kPasses·j + p is row j of pass p.
template <int kWidth, class T> struct LoadsOfTile {
  static constexpr int kCount = Share<kWidth>::kPasses * kPerLane;
  gpu::Held<T, kWidth> at[kCount];
};

/// What a thread has of a tile, a value a pass.
template <class U, int kWidth> struct ShareOfTile { typename U::Value passes[Share<kWidth>::kPasses]; };

/// Of the tile that begins with element `first` of its list and has `count`. kFull: it is whole.
template <class U, bool kFull, int kWidth, class Op, class T>
TALLY_DEVICE ShareOfTile<U, kWidth> share_of_tile(const Op& op, const LoadsOfTile<kWidth, T>& loads, std::int64_t first,
                                                  int count, Compute<T> pivot) {
  using S = Share<kWidth>;
  ShareOfTile<U, kWidth> share;
  TALLY_UNROLL
  for (int p = 0; p < S::kPasses; ++p) {
    gpu::Held<T, kWidth> rows[kPerLane];
    TALLY_UNROLL
    for (int j = 0; j < kPerLane; ++j) rows[j] = loads.at[S::kPasses * j + p];
    share.passes[p] = fold_lanes<U, kFull, kWidth>(op, rows, first, S::lane(p), count, pivot);
  }
  return share;
}

/// Any tile in any layout: the last one of a list, one in many pieces. One copy of the code.
template <class U, int kWidth, class Op, class T>
TALLY_COLD ShareOfTile<U, kWidth> read_any_tile(const Task<Op, T>& task, const T* x, Compute<T> pivot,
                                                std::int64_t tile) {
  using S = Share<kWidth>;
  const std::int64_t first = tile * kTile, left = task.n - first;
  const int count = static_cast<int>(left < kTile ? left : kTile);
  ShareOfTile<U, kWidth> share;
  TALLY_ROLLED
  for (int p = 0; p < S::kPasses; ++p) {
    gpu::Vector<T, kWidth> rows[kPerLane];
    read_scattered<kPerLane, kWidth>(task.reduced, x, first + S::lane(p), first + count, kLanes, rows);
    share.passes[p] = fold_lanes<U, false, kWidth>(task.op, rows, first, S::lane(p), count, pivot);
  }
  return share;
}

/// The last tile of a list of n in one piece: as the others, all loads at once. kAligned: of whole vectors, else
/// element by element. It has its arguments by value: of a kernel's arguments a function of its own would read each
/// from memory.
template <class U, int kWidth, bool kAligned, class Op, class T>
TALLY_COLD ShareOfTile<U, kWidth> read_last_tile(const Op op, const T* x, std::int64_t n, Compute<T> pivot,
                                                 std::int64_t tile) {
  using S = Share<kWidth>;
  using Load = gpu::Vector<T, kWidth>;
  const std::int64_t first = tile * kTile, there = n - first;
  const int count = static_cast<int>(there < kTile ? there : kTile), left = count - S::lane(0);
  const T* from = x + first + S::lane(0);
  LoadsOfTile<kWidth, T> loads;
  TALLY_UNROLL
  for (int i = 0; i < loads.kCount; ++i) {
    Load load = {};
    if constexpr (kAligned) {
      if (i * S::kStep < left) load = gpu::load_streaming(reinterpret_cast<const Load*>(from + i * S::kStep));
    } else {
      TALLY_UNROLL
      for (int k = 0; k < kWidth; ++k)
        if (i * S::kStep + k < left) load[k] = gpu::load_streaming(from + i * S::kStep + k);
    }
    loads.at[i] = load;
  }
  return share_of_tile<U, false>(op, loads, first, count, pivot);
}

/// A whole tile in one piece, or in a few of one stride, of whole vectors.
template <int kWidth, class Op, class T>
TALLY_DEVICE LoadsOfTile<kWidth, T> load_aligned_tile(const Task<Op, T>& task, const T* x, std::int64_t tile,
                                                      bool dense) {
  using S = Share<kWidth>;
  using Load = gpu::Vector<T, kWidth>;
  const std::int64_t first = tile * kTile + S::lane(0);
  LoadsOfTile<kWidth, T> loads;
  if (dense) {
    const T* from = x + first;
    TALLY_UNROLL
    for (int i = 0; i < loads.kCount; ++i)
      loads.at[i] = gpu::load_streaming(reinterpret_cast<const Load*>(from + i * S::kStep));
  } else {
    TALLY_UNROLL
    for (int i = 0; i < loads.kCount; ++i)
      loads.at[i] =
          gpu::load_streaming(reinterpret_cast<const Load*>(x + near_offset(task.reduced, first + i * S::kStep)));
  }
  return loads;
}

// A list in one piece that begins anywhere in a vector: each thread loads the vectors in which its elements begin. What
// it then has of a row are neighbouring elements that begin `shift` before its own, and in the first thread so many of
// the row before: they are the last lanes of that row. So each thread folds the lanes that it has, and the values go
// `shift` places on. Of the vector in which the list begins the rest is loaded and left alone.

template <int kWidth, class T> TALLY_DEVICE int elements_past_vector(const T* x) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(x) / sizeof(T)) & (kWidth - 1);
}

/// What a thread reads of a whole tile, as vectors of its lanes.
template <int kWidth, class T>
TALLY_DEVICE LoadsOfTile<kWidth, T> load_shifted_tile(const T* x, std::int64_t tile, int shift) {
  using S = Share<kWidth>;
  using Load = gpu::Vector<T, kWidth>;
  static_assert(S::kPasses == 1);
  const bool wraps = shift > 0 && threadIdx.x % S::kGroup == 0;
  const T* const from = x + (tile * kTile + S::lane(0) - shift);
  gpu::Held<T, kWidth> loads[kPerLane + 1] = {};
  TALLY_UNROLL
  for (int j = 0; j <= kPerLane; ++j)
    if (j < kPerLane || wraps) loads[j] = gpu::load_streaming(reinterpret_cast<const Load*>(from + j * S::kStep));
  const gpu::Bytes16 of_next_row = gpu::first_bytes(wraps ? shift * static_cast<int>(sizeof(T)) : 0);
  LoadsOfTile<kWidth, T> rows;
  TALLY_UNROLL
  for (int j = 0; j < kPerLane; ++j) rows.at[j] = gpu::blend(loads[j], loads[j + 1], of_next_row);
  return rows;
}

/// Lane k of a thread's, where it has them `shift` before its own.
template <int kWidth> TALLY_DEVICE int shifted_lane(int k, int shift) {
  return (Share<kWidth>::lane(0) + k - shift + kLanes) % kLanes;
}

/// The first half of v comes to begin with v[shift], bit by bit of `shift`, as registers have no index.
template <int kBit, int kCount, class Value> TALLY_DEVICE void move_by(Value (&v)[kCount], int shift) {
  TALLY_UNROLL
  for (int k = 0; k < kCount / 2 + kBit; ++k)
    if (shift & kBit) v[k] = v[k + kBit];
  if constexpr (kBit > 1) move_by<kBit / 2>(v, shift);
}

/// v[k] is lane k - shift of the thread's own, before the first one those that the last thread should have.
template <int kWidth, class Value> TALLY_DEVICE void shift_lanes(Value (&v)[kWidth], int shift) {
  using S = Share<kWidth>;
  const int t = static_cast<int>(threadIdx.x % kWarp), r = t % S::kGroup, next = t - r + (r + 1) % S::kGroup;
  Value all[2 * kWidth - 1];
  TALLY_UNROLL
  for (int k = 0; k < kWidth; ++k) {
    all[k] = v[k];
    if (k + 1 < kWidth) all[kWidth + k] = gpu::shuffle(v[k], next);
  }
  move_by<kWidth / 2>(all, shift);
  TALLY_UNROLL
  for (int k = 0; k < kWidth; ++k) v[k] = all[k];
}

/// Of a whole tile that begins with element `first` of its list.
template <class U, int kWidth, class Op, class T>
TALLY_DEVICE ShareOfTile<U, kWidth> share_of_shifted_tile(const Op& op, const LoadsOfTile<kWidth, T>& loads,
                                                          std::int64_t first, int shift, Compute<T> pivot) {
  using C = Compute<T>;
  C x[kWidth][kPerLane];
  TALLY_UNROLL
  for (int k = 0; k < kWidth; ++k) {
    TALLY_UNROLL
    for (int j = 0; j < kPerLane; ++j) x[k][j] = element<C, !is_scarce<U>>(op, loads.at[j], k);
  }
  typename U::Value v[kWidth];
  if constexpr (has_each_lane<U, Op, C>) {
    U::each_lane(op, x, first, pivot, v);
  } else {
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k)
      v[k] = U::template lane<kPerLane>(op, x[k], kPerLane, first + shifted_lane<kWidth>(k, shift), pivot);
  }
  if constexpr (!U::any_order) shift_lanes<kWidth>(v, shift);
  merge_within<U, kWidth, true>(op, v);
  return {{v[0]}};
}

}  // namespace tally::cuda_loops
