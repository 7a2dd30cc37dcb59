// Kernels whose threads walk along the lists.
#pragma once

#include <tally/ops/cuda/reduce_task.cuh>

namespace tally::cuda_loops {

/// How a warp shares a tile: in pass p, thread t has lanes 32·kWidth·p + kWidth·t + k.
template <int kWidth> struct Passes {
  static constexpr int kSize = kWarp * kWidth, kCount = kLanes / kSize;
  TALLY_DEVICE static int lane(int pass) { return kSize * pass + static_cast<int>(threadIdx.x % kWarp) * kWidth; }
};

/// kWidth neighbouring lanes, from `lane` on, of the tile that begins with element `first` of its list and has `count`;
/// rows[j] are their j-th elements. kFull: all lanes have as many.
template <bool kFull, int kWidth, int kRows, class Op, class T>
TALLY_DEVICE PartialOf<Op, Compute<T>> fold_lanes(const Op& op, const gpu::Vector<T, kWidth> (&rows)[kRows],
                                                  std::int64_t first, int lane, int count, Compute<T> pivot) {
  using C = Compute<T>;
  using F = Fold<Op, C>;
  typename F::Partial v[kWidth];
  TALLY_UNROLL
  for (int k = 0; k < kWidth; ++k) {
    C x[kPerLane] = {};
    TALLY_UNROLL
    for (int j = 0; j < kRows; ++j) x[j] = convert<C>(rows[j][k]);
    const int elements = (count - lane - k + kLanes - 1) / kLanes;
    const int length = kFull || (kRows == 1 && elements > 0) ? kRows : (elements < kRows ? elements : kRows);
    v[k] = kFull || length > 0 ? F::some(F::lane(op, x, length, first + lane + k, pivot)) : F::nothing(op);
  }
  merge_within<kWidth, C>(op, v);
  return v[0];
}

/// A thread's lanes of any tile in any layout: the last tile of a list, one in several pieces. One copy of the code.
template <int kWidth, class Op, class T>
TALLY_COLD void read_any_tile(const Task<Op, T>& task, const T* x, Compute<T> pivot, std::int64_t tile,
                              PartialOf<Op, Compute<T>>* v) {
  const std::int64_t first = tile * kTile, left = task.n - first;
  const int count = static_cast<int>(left < kTile ? left : kTile);
  TALLY_ROLLED
  for (int p = 0; p < Passes<kWidth>::kCount; ++p) {
    const int lane = Passes<kWidth>::lane(p);
    gpu::Vector<T, kWidth> rows[kPerLane];
    read_scattered<kPerLane, kWidth>(task.reduced, x, first + lane, first + count, kLanes, rows);
    v[p] = fold_lanes<false>(task.op, rows, first, lane, count, pivot);
  }
}

/// The first element of a whole tile that lies in one piece of a list of several dims; null where there is none.
template <class Op, class T> TALLY_COLD const T* whole_piece(const Task<Op, T>& task, const T* x, std::int64_t tile) {
  const std::int64_t first = tile * kTile, inner = task.reduced.sizes[0].divisor;
  if (first + kTile > task.n || task.reduced.strides[0][0] != 1) return nullptr;
  const bool inside = first % inner + kTile <= inner;
  return inside ? x + offset(task.reduced, first) : nullptr;
}

/// A thread's lanes of kTiles tiles, each in one piece from `from` on. Piece kPasses·j + p is row j of pass p.
template <int kWidth, int kTiles, class Op, class T>
TALLY_DEVICE void read_whole_tiles(const Op& op, const T* from, std::int64_t tile, Compute<T> pivot,
                                   PartialOf<Op, Compute<T>>* v) {
  using Load = gpu::Vector<T, kWidth>;
  using P = Passes<kWidth>;
  constexpr int kPieces = P::kCount * kPerLane;
  from += P::lane(0);
  Load loads[kTiles * kPieces];
  TALLY_UNROLL
  for (int i = 0; i < kTiles * kPieces; ++i)
    loads[i] = gpu::load_streaming(reinterpret_cast<const Load*>(from + i * P::kSize));
  TALLY_UNROLL
  for (int b = 0; b < kTiles; ++b) {
    TALLY_UNROLL
    for (int p = 0; p < P::kCount; ++p) {
      Load rows[kPerLane];
      TALLY_UNROLL
      for (int j = 0; j < kPerLane; ++j) rows[j] = loads[b * kPieces + P::kCount * j + p];
      v[b * P::kCount + p] = fold_lanes<true>(op, rows, (tile + b) * kTile, P::lane(p), kTile, pivot);
    }
  }
}

/// Tiles [begin, end) of a list. The result is in the warp's first thread.
template <int kWidth, class Op, class T>
TALLY_DEVICE PartialOf<Op, Compute<T>> run_of_tiles(const Task<Op, T>& task, std::int64_t list, std::int64_t begin,
                                                    std::int64_t end) {
  using C = Compute<T>;
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  constexpr int kPasses = Passes<kWidth>::kCount;
  // Tiles at once, so that enough bytes are under way.
  constexpr int kTiles = sizeof(T) == 2 && !kHeavy<Op, C> ? 2 : 1, kValues = kTiles * kPasses;
  const T* x = task.list(list);
  const C pivot = task.pivot(list);
  const bool dense = task.reduced.rank == 1 && task.reduced.strides[0][0] == 1;
  const std::int64_t whole = dense ? task.n / kTile : 0;
  WarpCounter<Op, C> counter(task.op, kWarp);
  Partial mine = F::nothing(task.op);
  for (std::int64_t tile = begin; tile < end; tile += kTiles) {
    Partial v[kValues];
    if (kTiles > 1 && tile + kTiles <= whole && tile + kTiles <= end) {
      read_whole_tiles<kWidth, kTiles>(task.op, x + tile * kTile, tile, pivot, v);
    } else {
      TALLY_UNROLL
      for (int b = 0; b < kTiles; ++b) {
        Partial* one = v + b * kPasses;
        const T* from = nullptr;
        if (tile + b < whole && tile + b < end)
          from = x + (tile + b) * kTile;
        else if (!dense && tile + b < end)
          from = whole_piece(task, x, tile + b);
        if (from) {
          read_whole_tiles<kWidth, 1>(task.op, from, tile + b, pivot, one);
        } else if (tile + b < end) {
          Partial any[kPasses];
          read_any_tile<kWidth>(task, x, pivot, tile + b, any);
          TALLY_UNROLL
          for (int p = 0; p < kPasses; ++p) one[p] = any[p];
        } else {
          TALLY_UNROLL
          for (int p = 0; p < kPasses; ++p) one[p] = F::nothing(task.op);
        }
      }
    }
    if constexpr (F::any_order) {
      merge_within<kValues, C>(task.op, v);
      mine = F::merge(task.op, mine, v[0]);
    } else {
      merge_across<kValues, C>(task.op, v, 1, kWarp);  // over the lanes of a pass
      merge_across<1, C>(task.op, v, 1, kValues);      // over passes, then tiles
      if (end - begin <= kTiles) return v[0];
      counter.push(v[0]);
    }
  }
  if constexpr (F::any_order) {
    merge_across<1, C>(task.op, &mine, 1, kWarp);
    return mine;
  } else {
    return counter.finish();
  }
}

/// The last block of a list: the tree over what all its blocks have left, in the list's order.
template <class Op, class T>
TALLY_COLD void finish_rows(const Task<Op, T>& task, std::int64_t list, PartialOf<Op, Compute<T>>* of_warp) {
  using C = Compute<T>;
  const int t = static_cast<int>(threadIdx.x % kWarp), w = static_cast<int>(threadIdx.x / kWarp);
  const int warps = static_cast<int>(blockDim.x / kWarp), threads = static_cast<int>(blockDim.x);
  const std::int64_t splits = task.plan.splits;
  const PartialOf<Op, C>* partials = task.partials + list * splits;
  PartialOf<Op, C> total = Fold<Op, C>::nothing(task.op);
  if (splits <= threads) {
    if (static_cast<int>(threadIdx.x) < splits) total = load_partial(partials + threadIdx.x);
  } else {
    const std::int64_t chunk = power_of_two_at_least((splits + threads - 1) / threads);
    total = merge_memory<C>(task.op, partials, 1, threadIdx.x * chunk, chunk, splits);
  }
  merge_across<1, C>(task.op, &total, 1, kWarp);
  if (t == 0) of_warp[w] = total;
  __syncthreads();
  if (w > 0) return;
  total = t < warps ? of_warp[t] : Fold<Op, C>::nothing(task.op);
  merge_across<1, C>(task.op, &total, 1, warps);
  if (t == 0) task.store(list, total);
}

template <class Op, class T, int kWidth>
__global__ void __launch_bounds__(256, kBlocksAtLeast<Op, T>) reduce_rows(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  const Plan& plan = task.plan;
  const int t = static_cast<int>(threadIdx.x % kWarp), w = static_cast<int>(threadIdx.x / kWarp);
  const int warps = static_cast<int>(blockDim.x / kWarp), shared_by = plan.warps_per_list;
  const int shared_bits = 31 - __clz(shared_by);
  const unsigned splits = static_cast<unsigned>(plan.splits);
  const unsigned split = splits == 1 ? 0 : blockIdx.x % splits;
  const std::int64_t first_list =
      splits == 1 ? static_cast<std::int64_t>(blockIdx.x) * (warps >> shared_bits) : blockIdx.x / splits;
  const std::int64_t list = first_list + (w >> shared_bits);
  const std::int64_t part = static_cast<std::int64_t>(split) * shared_by + (w & (shared_by - 1));

  const std::int64_t tiles = (task.n + kTile - 1) / kTile, begin = part * plan.run;
  Partial total = F::nothing(task.op);
  if (list < task.lists && begin < tiles)
    total = run_of_tiles<kWidth>(task, list, begin, begin + plan.run < tiles ? begin + plan.run : tiles);
  if (shared_by == 1) {
    if (t == 0 && list < task.lists) store_seldom(task, list, total);
    return;
  }

  struct Shared {
    alignas(16) unsigned char warps[8 * sizeof(Partial)];
    bool last;
  };
  Shared& shared = gpu::shared<Shared>();
  Partial* of_warp = reinterpret_cast<Partial*>(shared.warps);
  if (t == 0) of_warp[w] = total;
  __syncthreads();
  if (w == 0) {
    total = t < warps ? of_warp[t] : F::nothing(task.op);
    merge_across<1, C>(task.op, &total, 1, shared_by);
    const std::int64_t mine = first_list + (t >> shared_bits);
    if (t < warps && (t & (shared_by - 1)) == 0 && mine < task.lists) {
      if (splits == 1)
        store_seldom(task, mine, total);
      else
        task.partials[mine * splits + split] = total;
    }
  }
  if (splits == 1 || !is_last_block(task.tickets + list, splits, shared.last)) return;
  finish_rows(task, list, of_warp);
}

/// Lists of at most 128·kRows elements, one tile: a group of threads has several of them under way. A list of at most
/// 128 elements may lie in memory in any way and be nothing; its group is as small as it can be.
template <class Op, class T, int kWidth, int kRows>
__global__ void __launch_bounds__(256, 3) reduce_short_rows(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  using Load = gpu::Vector<T, kWidth>;
  constexpr int kValues = short_values(kWidth, kRows), kMostPasses = Passes<kWidth>::kCount;
  const int group = task.plan.group, passes = kRows == 1 ? task.plan.passes : kMostPasses, n = static_cast<int>(task.n);
  const int group_bits = 31 - __clz(group), pass_bits = 31 - __clz(passes);
  const int r = static_cast<int>(threadIdx.x) & (group - 1), groups = static_cast<int>(blockDim.x) >> group_bits;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (groups * kValues >> pass_bits) + (threadIdx.x >> group_bits);
  // Value u is pass u % passes of this list.
  const auto list_of = [&](int u) { return first + static_cast<std::int64_t>(u >> pass_bits) * groups; };
  const auto lane_of = [&](int u) { return ((u & (passes - 1)) * kWarp + r) * kWidth; };

  std::int64_t offsets[kMostPasses];
  TALLY_UNROLL
  for (int p = 0; p < kMostPasses; ++p)
    offsets[p] = p < passes && lane_of(p) < n ? offset(task.reduced, lane_of(p)) : 0;
  const std::int64_t step = kRows > 1 ? kLanes * task.reduced.strides[0][0] : 0;  // more than one row: one dim
  Load loads[kValues][kRows];
  TALLY_UNROLL
  for (int u = 0; u < kValues; ++u) {
    TALLY_UNROLL
    for (int j = 0; j < kRows; ++j) loads[u][j] = {};
    if (list_of(u) >= task.lists) continue;
    std::int64_t here = offsets[0];
    TALLY_UNROLL
    for (int p = 1; p < kMostPasses; ++p)
      if ((u & (passes - 1)) == p) here = offsets[p];
    const T* from = task.list(list_of(u)) + here;
    TALLY_UNROLL
    for (int j = 0; j < kRows; ++j, from += step) {
      const int left = n - lane_of(u) - kLanes * j;
      if (left >= kWidth) {
        loads[u][j] = gpu::load_streaming(reinterpret_cast<const Load*>(from));
      } else {
        TALLY_UNROLL
        for (int k = 0; k + 1 < kWidth; ++k)
          if (k < left) loads[u][j][k] = from[k];
      }
    }
  }
  Partial v[kValues];
  TALLY_UNROLL
  for (int u = 0; u < kValues; ++u) {
    const C pivot = list_of(u) < task.lists ? task.pivot(list_of(u)) : C(0);
    v[u] = fold_lanes<false>(task.op, loads[u], 0, lane_of(u), n, pivot);
  }
  merge_across<kValues, C>(task.op, v, 1, group);
  merge_across<1, C>(task.op, v, 1, passes);  // more than one pass: a whole warp, one value a thread

  const auto store = [&](int u, const Partial& total) {
    if (list_of(u) < task.lists && (u & (passes - 1)) == 0) task.store(list_of(u), total);
  };
  if (group >= kValues) {
    if (r < kValues) store(r, v[0]);
  } else {
    Partial totals[kValues];  // indexed in a loop, so in local memory
    TALLY_UNROLL
    for (int k = 0; k < kValues; ++k) totals[k] = v[k];
    for (int k = 0; k * group < kValues; ++k) store(k * group + r, totals[k]);
  }
}

}  // namespace tally::cuda_loops
