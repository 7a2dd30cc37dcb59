// The kernel for long lists whose threads walk along them: a warp takes a run of tiles, the warps of a block and then
// blocks share a list.
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

/// What a thread has of a tile, a value a pass.
template <class U, int kWidth> struct ShareOfTile { typename U::Value passes[Share<kWidth>::kPasses]; };

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
    share.passes[p] = fold_lanes<U, false>(task.op, rows, first, S::lane(p), count, pivot);
  }
  return share;
}

/// The last tile of a list in one piece, of whole vectors: as the others, all loads at once.
template <class U, int kWidth, class Op, class T>
TALLY_COLD ShareOfTile<U, kWidth> read_last_tile(const Task<Op, T>& task, const T* x, Compute<T> pivot,
                                                 std::int64_t tile) {
  using S = Share<kWidth>;
  using Load = gpu::Vector<T, kWidth>;
  constexpr int kLoads = S::kPasses * kPerLane;  // as below
  const std::int64_t first = tile * kTile;
  const int count = static_cast<int>(task.n - first), left = count - S::lane(0);
  const T* from = x + first + S::lane(0);
  Load loads[kLoads];
  TALLY_UNROLL
  for (int i = 0; i < kLoads; ++i)
    loads[i] = i * S::kStep < left ? gpu::load_streaming(reinterpret_cast<const Load*>(from + i * S::kStep)) : Load{};
  ShareOfTile<U, kWidth> share;
  TALLY_UNROLL
  for (int p = 0; p < S::kPasses; ++p) {
    Load rows[kPerLane];
    TALLY_UNROLL
    for (int j = 0; j < kPerLane; ++j) rows[j] = loads[S::kPasses * j + p];
    share.passes[p] = fold_lanes<U, false>(task.op, rows, first, S::lane(p), count, pivot);
  }
  return share;
}

/// A whole tile in one piece, or in a few of one stride.
template <class U, int kWidth, class Op, class T>
TALLY_DEVICE ShareOfTile<U, kWidth> read_whole_tile(const Task<Op, T>& task, const T* x, Compute<T> pivot,
                                                    std::int64_t tile, bool dense) {
  using S = Share<kWidth>;
  using Load = gpu::Vector<T, kWidth>;
  constexpr int kLoads = S::kPasses * kPerLane;  // number kPasses·j + p is row j of pass p
  const std::int64_t first = tile * kTile;
  Load loads[kLoads];
  if (dense) {
    const T* from = x + first + S::lane(0);
    TALLY_UNROLL
    for (int i = 0; i < kLoads; ++i) loads[i] = gpu::load_streaming(reinterpret_cast<const Load*>(from + i * S::kStep));
  } else {
    const std::int64_t from = first + S::lane(0);
    TALLY_UNROLL
    for (int i = 0; i < kLoads; ++i)
      loads[i] = gpu::load_streaming(reinterpret_cast<const Load*>(x + near_offset(task.reduced, from + i * S::kStep)));
  }
  ShareOfTile<U, kWidth> share;
  TALLY_UNROLL
  for (int p = 0; p < S::kPasses; ++p) {
    Load rows[kPerLane];
    TALLY_UNROLL
    for (int j = 0; j < kPerLane; ++j) rows[j] = loads[S::kPasses * j + p];
    share.passes[p] = fold_lanes<U, true>(task.op, rows, first, S::lane(p), kTile, pivot);
  }
  return share;
}

/// Tiles [begin, end) of a list. The result is in the warp's first thread.
template <class U, int kWidth, class Op, class T>
TALLY_DEVICE typename U::Value run_of_tiles(const Task<Op, T>& task, std::int64_t list, std::int64_t begin,
                                            std::int64_t end) {
  using S = Share<kWidth>;
  const T* x = task.list(list);
  const Compute<T> pivot = task.pivot(list);
  const bool dense = task.step == 1;
  const std::int64_t whole = dense || task.reduced.is_near(task.n) ? task.n / kTile : 0;
  const bool at_once = end - begin <= S::kTiles;
  WarpCounter<U, Op> counter(task.op);
  typename U::Value mine = U::nothing(task.op);
  const auto add = [&](ShareOfTile<U, kWidth>& share) {
    auto* v = share.passes;
    if constexpr (U::any_order) {
      merge_within<U, S::kPasses>(task.op, v);
      mine = U::merge(task.op, mine, v[0]);
    } else {
      merge_across<U, S::kPasses>(task.op, v, 1, S::kPasses);  // thread t now has pass t % kPasses
      merge_across<U, 1>(task.op, v, S::kPasses, kWarp);       // the other lanes of a pass, then the tiles
      merge_across<U, 1>(task.op, v, 1, S::kPasses);           // the passes
      mine = v[0];
      if (!at_once) counter.push(mine);
    }
  };
  // Two loops, so that the first one has no call in it, around which values would have to leave their registers.
  const std::int64_t in_whole = (end < whole ? end : whole) - begin;
  std::int64_t done = begin;
  if (in_whole > 0) done += in_whole / S::kTiles * S::kTiles;
  const int mine_of_round = static_cast<int>(threadIdx.x % kWarp) / S::kGroup;
  for (std::int64_t tile = begin + mine_of_round; tile < done; tile += S::kTiles) {
    ShareOfTile<U, kWidth> share = read_whole_tile<U, kWidth>(task, x, pivot, tile, dense);
    add(share);
  }
  TALLY_ROLLED
  for (; done < end; done += S::kTiles) {
    ShareOfTile<U, kWidth> share;
    TALLY_UNROLL
    for (int p = 0; p < S::kPasses; ++p) share.passes[p] = U::nothing(task.op);
    if (done + mine_of_round < end) {
      const std::int64_t tile = done + mine_of_round;
      if constexpr (U::heavy)
        share = read_any_tile<U, kWidth>(task, x, pivot, tile);
      else if (dense && (tile + 1) * kTile > task.n && task.n % kWidth == 0)
        share = read_last_tile<U, kWidth>(task, x, pivot, tile);
      else
        share = read_any_tile<U, kWidth>(task, x, pivot, tile);
    }
    add(share);
  }
  if constexpr (U::any_order) merge_across<U, 1>(task.op, &mine, 1, kWarp);
  return U::any_order || at_once ? mine : counter.finish();
}

template <class Op, class T>
TALLY_COLD PartialOf<Op, Compute<T>> exact_run_of_tiles(const Task<Op, T>& task, std::int64_t list, std::int64_t begin,
                                                        std::int64_t end) {
  return run_of_tiles<Exact<Op, Compute<T>>, 1>(task, list, begin, end);
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
  total = across_partials<C>(task.op, total, kWarp);
  if (t == 0) of_warp[w] = total;
  __syncthreads();
  if (w > 0) return;
  total = across_partials<C>(task.op, t < warps ? of_warp[t] : Fold<Op, C>::nothing(task.op), warps);
  if (t == 0) task.store(list, total);
}

template <class Op, class T, int kWidth>
__global__ void __launch_bounds__(256, Unit<Op, Compute<T>>::row_blocks(kWidth))
    reduce_rows(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using Partial = PartialOf<Op, C>;
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
  Partial total = Fold<Op, C>::nothing(task.op);
  if (list < task.lists && begin < tiles) {
    const std::int64_t end = begin + plan.run < tiles ? begin + plan.run : tiles;
    const auto value = run_of_tiles<U, kWidth>(task, list, begin, end);
    total = U::pack(value);
    if constexpr (U::checked)
      if (task.n > U::longest || __any_sync(gpu::kAllLanes, t == 0 && !U::holds(value)))
        total = exact_run_of_tiles(task, list, begin, end);
  }
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
    total = across_partials<C>(task.op, t < warps ? of_warp[t] : Fold<Op, C>::nothing(task.op), shared_by);
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

}  // namespace tally::cuda_loops
