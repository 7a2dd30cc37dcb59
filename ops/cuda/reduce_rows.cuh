// Kernels whose threads walk along the lists.
#pragma once

#include <tally/ops/cuda/reduce_task.cuh>

namespace tally::cuda_loops {

/// A warp's share of a tile: thread t holds lanes kWidth·t + k of every pass of 32·kWidth lanes.
template <class Op, class T, int kWidth> class TileReader {
 public:
  using C = Compute<T>;
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  static constexpr int kPass = kWarp * kWidth, kPasses = kLanes / kPass, kPieces = kPasses * kPerLane;

  TALLY_DEVICE TileReader(const Task<Op, T>& task, const T* x, C pivot) : task_(task), x_(x), pivot_(pivot) {}

  /// One partial result a pass, not yet merged with other threads'.
  TALLY_DEVICE void read(std::int64_t tile, Partial* v) const {
    const std::int64_t first = tile * kTile, left = task_.n - first;
    const int lane = static_cast<int>(threadIdx.x % kWarp) * kWidth;
    const int count = static_cast<int>(left < kTile ? left : kTile);
    Load loads[kPieces];  // piece kPasses·j + p: row j of the tile, pass p
    if (count == kTile && task_.reduced.rank == 1 && task_.reduced.strides[0][0] == 1) {
      const T* from = x_ + first + lane;
      TALLY_UNROLL
      for (int i = 0; i < kPieces; ++i) loads[i] = gpu::load_streaming(reinterpret_cast<const Load*>(from + i * kPass));
    } else {
      Load scattered[kPieces];
      read_scattered<kPieces, kWidth>(task_.reduced, x_, first + lane, first + count, kPass, scattered);
      TALLY_UNROLL
      for (int i = 0; i < kPieces; ++i) loads[i] = scattered[i];
    }
    if (!kHeavy<Op, C> && count == kTile)
      fold(loads, first, lane, kTile, v);
    else
      fold(loads, first, lane, count, v);
  }

 private:
  using Load = gpu::Vector<T, kWidth>;

  TALLY_DEVICE void fold(const Load (&loads)[kPieces], std::int64_t first, int lane, int count, Partial* v) const {
    TALLY_UNROLL
    for (int p = 0; p < kPasses; ++p) {
      Partial lanes[kWidth];
      TALLY_UNROLL
      for (int k = 0; k < kWidth; ++k) {
        C x[kPerLane];
        TALLY_UNROLL
        for (int j = 0; j < kPerLane; ++j) x[j] = convert<C>(loads[kPasses * j + p][k]);
        const int here = kPass * p + lane + k, length = (count - here + kLanes - 1) / kLanes;
        lanes[k] = length > 0 ? F::some(F::lane(task_.op, x, length, first + here, pivot_)) : F::nothing(task_.op);
      }
      merge_within<kWidth, C>(task_.op, lanes);
      v[p] = lanes[0];
    }
  }

  const Task<Op, T>& task_;
  const T* x_;
  C pivot_;
};

/// Tiles [begin, end) of a list.
template <int kWidth, class Op, class T>
TALLY_DEVICE PartialOf<Op, Compute<T>> run_of_tiles(const Task<Op, T>& task, std::int64_t list, std::int64_t begin,
                                                    std::int64_t end) {
  using C = Compute<T>;
  using Reader = TileReader<Op, T, kWidth>;
  const Reader reader(task, task.list(list), task.pivot(list));
  WarpCounter<Op, C> counter(task.op, kWarp);
  for (std::int64_t tile = begin; tile < end; ++tile) {
    typename Reader::Partial v[Reader::kPasses];
    reader.read(tile, v);
    merge_across<Reader::kPasses, C>(task.op, v, 1, kWarp);  // over the lanes of a pass
    merge_across<1, C>(task.op, v, 1, Reader::kPasses);      // over the passes
    counter.push(v[0]);
  }
  return counter.finish();
}

/// The last block of a list: the tree over what all its blocks have left, in the list's order.
template <class Op, class T>
TALLY_COLD void finish_rows(const Task<Op, T>& task, std::int64_t list, PartialOf<Op, Compute<T>>* of_warp) {
  using C = Compute<T>;
  const int t = static_cast<int>(threadIdx.x % kWarp), w = static_cast<int>(threadIdx.x / kWarp);
  const int warps = static_cast<int>(blockDim.x / kWarp);
  const std::int64_t splits = task.plan.splits, chunk = power_of_two_at_least((splits + blockDim.x - 1) / blockDim.x);
  auto total = merge_memory<C>(task.op, task.partials + list * splits, 1, threadIdx.x * chunk, chunk, splits);
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
  const unsigned splits = static_cast<unsigned>(plan.splits);
  const unsigned split = splits == 1 ? 0 : blockIdx.x % splits;
  const std::int64_t first_list =
      splits == 1 ? static_cast<std::int64_t>(blockIdx.x) * (warps / shared_by) : blockIdx.x / splits;
  const std::int64_t list = first_list + w / shared_by;
  const std::int64_t part = static_cast<std::int64_t>(split) * shared_by + w % shared_by;

  const std::int64_t tiles = (task.n + kTile - 1) / kTile, begin = part * plan.run;
  Partial total = F::nothing(task.op);
  if (list < task.lists && begin < tiles)
    total = run_of_tiles<kWidth>(task, list, begin, begin + plan.run < tiles ? begin + plan.run : tiles);
  if (shared_by == 1) {
    if (t == 0 && list < task.lists) task.store(list, total);
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
    const std::int64_t mine = first_list + t / shared_by;
    if (t < warps && t % shared_by == 0 && mine < task.lists) {
      if (splits == 1)
        task.store(mine, total);
      else
        task.partials[mine * splits + split] = total;
    }
  }
  if (splits == 1 || !is_last_block(task.tickets + list, splits, shared.last)) return;

  finish_rows(task, list, of_warp);
}

/// Lists of at most 128 elements (each its own lane), or of none: a group of threads has several in flight.
template <class Op, class T, int kWidth>
__global__ void __launch_bounds__(256, kBlocksAtLeast<Op, T>)
    reduce_short_rows(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  using Load = gpu::Vector<T, kWidth>;
  constexpr int kValues = 8;
  const int group = task.plan.group, passes = task.plan.passes, n = static_cast<int>(task.n);
  const int group_bits = 31 - __clz(group), pass_bits = 31 - __clz(passes);
  const int r = static_cast<int>(threadIdx.x) & (group - 1), groups = static_cast<int>(blockDim.x) >> group_bits;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (groups * kValues >> pass_bits) + (threadIdx.x >> group_bits);
  // Value u is pass u % passes of this list.
  const auto list_of = [&](int u) { return first + static_cast<std::int64_t>(u >> pass_bits) * groups; };
  const auto lane_of = [&](int u) { return ((u & (passes - 1)) * kWarp + r) * kWidth; };

  constexpr int kMostPasses = kLanes / (kWarp * kWidth);
  std::int64_t offsets[kMostPasses];
  TALLY_UNROLL
  for (int p = 0; p < kMostPasses; ++p)
    offsets[p] = p < passes && lane_of(p) < n ? offset(task.reduced, lane_of(p)) : 0;
  Load loads[kValues];
  TALLY_UNROLL
  for (int u = 0; u < kValues; ++u) {
    loads[u] = {};
    if (list_of(u) >= task.lists || lane_of(u) >= n) continue;
    std::int64_t here = offsets[0];
    TALLY_UNROLL
    for (int p = 1; p < kMostPasses; ++p)
      if ((u & (passes - 1)) == p) here = offsets[p];
    const T* from = task.list(list_of(u)) + here;
    if (lane_of(u) + kWidth <= n) {
      loads[u] = gpu::load_streaming(reinterpret_cast<const Load*>(from));
    } else {
      TALLY_UNROLL
      for (int k = 0; k + 1 < kWidth; ++k)
        if (lane_of(u) + k < n) loads[u][k] = from[k];
    }
  }
  Partial v[kValues];
  TALLY_UNROLL
  for (int u = 0; u < kValues; ++u) {
    const C pivot = list_of(u) < task.lists ? task.pivot(list_of(u)) : C(0);
    Partial lanes[kWidth];
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) {
      const C x[kPerLane] = {convert<C>(loads[u][k])};
      lanes[k] = lane_of(u) + k < n ? F::some(F::lane(task.op, x, 1, lane_of(u) + k, pivot)) : F::nothing(task.op);
    }
    merge_within<kWidth, C>(task.op, lanes);
    v[u] = lanes[0];
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
