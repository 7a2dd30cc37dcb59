// The kernel for lists of more than 128 elements that lie side by side, but not so that a thread could load several in
// one vector. Neighbouring threads take neighbouring lists, and of a tile kSlabPositions neighbouring lanes; the values
// of the kUprightGroups groups of threads that have the same lists meet in shared memory, once.
#pragma once

#include <tally/ops/cuda/reduce_slabs_gather.cuh>

namespace tally::cuda_loops {

static_assert(kUprightGroups * kSlabPositions == kLanes);

/// Of a warp's two groups each half has one, or every thread both after each other.
struct UprightGroups {
  bool halves;
  int first;  // of this thread

  TALLY_DEVICE explicit UprightGroups(int across) : halves(across < kWarp) {
    const int t = static_cast<int>(threadIdx.x);
    first = t / kWarp * 2 + (halves && t % kWarp >= kWarp / 2 ? 1 : 0);
  }
};

/// A thread's part of a tile, of lists whose tiles have lanes of at most kRows elements.
template <class U, int kRows, class Op, class T> class Upright {
 public:
  using C = Compute<T>;
  using Value = typename U::Value;

  /// Of tile number `tile` of the list that begins at `x`.
  TALLY_DEVICE Upright(const Task<Op, T>& task, const T* x, std::int64_t tile)
      : task_(task), x_(x + tile * (kTile * task.step)), pivot_(convert<C>(*x)), first_(tile * kTile) {
    const std::int64_t left = task.n - first_;
    count_ = static_cast<int>(left < kTile ? left : kTile);
  }
  /// The tree over the lanes of the warp's groups; of two halves the first one has it.
  TALLY_DEVICE Value lanes() const {
    const UprightGroups groups(task_.plan.across);
    Value total = group(groups.first);
    if (groups.halves)
      merge_across<U, 1>(task_.op, &total, kWarp / 2, kWarp);
    else
      total = U::merge(task_.op, total, group(groups.first + 1));
    return total;
  }

 private:
  TALLY_DEVICE Value group(int number) const {
    constexpr int kAtOnce = 2 * kRowsOfTile / kRows;  // lanes whose loads are under way
    Value v[kSlabPositions];
    TALLY_UNROLL
    for (int k0 = 0; k0 < kSlabPositions; k0 += kAtOnce) {
      const int lane0 = number * kSlabPositions + k0;
      T loads[kAtOnce][kRows];
      TALLY_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j) {
          const int i = lane0 + k + kLanes * j;
          loads[k][j] = i < count_ ? x_[i * task_.step] : T{};
        }
      }
      TALLY_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        C x[kPerLane] = {};
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j) x[j] = measured<C>(task_.op, loads[k][j]);
        const int lane = lane0 + k;
        v[k0 + k] = U::template lane<kRows>(task_.op, x, lane_length<kRows>(count_ - lane), first_ + lane, pivot_);
      }
    }
    merge_within<U, kSlabPositions>(task_.op, v);
    return v[0];
  }

  const Task<Op, T>& task_;
  const T* x_;
  C pivot_;
  std::int64_t first_;
  int count_;
};

/// The same with all the op's care, lane by lane.
template <class Op, class T>
TALLY_COLD PartialOf<Op, Compute<T>> upright_exactly(const Task<Op, T>& task, const T* x, std::int64_t tile) {
  using C = Compute<T>;
  using E = Rare<Op, C>;
  const UprightGroups groups(task.plan.across);
  const int lane0 = groups.first * kSlabPositions, lanes = kSlabPositions * (groups.halves ? 1 : 2);
  const std::int64_t first = tile * kTile, left = task.n - first;
  const C pivot = convert<C>(*x);
  auto total = merge_batches<E, 1>(task.op, lane0, lane0 + lanes, [&](std::int64_t lane) {
    const int length = lane_length<kRowsOfTile>(static_cast<int>((left < kTile ? left : kTile) - lane));
    C at[kPerLane];
    TALLY_UNROLL
    for (int j = 0; j < kPerLane; ++j)
      at[j] = j < length ? measured<C>(task.op, x[(first + lane + kLanes * j) * task.step]) : C(0);
    return E::template lane<kRowsOfTile>(task.op, at, length, first + lane, pivot);
  });
  if (groups.halves) merge_across<E, 1>(task.op, &total, kWarp / 2, kWarp);
  return total;
}

/// A block takes a tile of `across` lists.
template <class Op, class T, int kRows>
__global__ void __launch_bounds__(kUprightGroups* kWarp / 2, upright_blocks<Unit<Op, Compute<T>>, kRows>())
    reduce_upright(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using Partial = PartialOf<Op, C>;
  constexpr int kWarps = kUprightGroups / 2;
  gpu::begin_early();
  const Plan& plan = task.plan;
  Partial* const parts = gpu::shared_memory<Partial>();  // [warps][across]
  const unsigned splits = static_cast<unsigned>(plan.splits), units = gridDim.x / splits;
  const unsigned split = splits == 1 ? 0 : blockIdx.x / units, unit = blockIdx.x - split * units;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, t = static_cast<int>(threadIdx.x % kWarp);
  const int list = t & (plan.across - 1);
  const std::int64_t o = static_cast<std::int64_t>(unit) * plan.across + list;
  const T* const x = near_list(task, o < task.lists ? o : 0);
  const auto value = Upright<U, kRows, Op, T>(task, x, split).lanes();
  Partial part = U::pack(value);
  if constexpr (U::checked) {
    const bool holds = t != list || (U::holds(value) && task.n <= U::longest);
    if (!__all_sync(gpu::kAllLanes, holds)) part = upright_exactly(task, x, split);
  }
  if (t == list) parts[warp * plan.across + list] = part;
  __syncthreads();
  if (warp == 0 && t == list && o < task.lists) {
    Several<Partial, kWarps> all;
    TALLY_UNROLL
    for (int w = 0; w < kWarps; ++w) all.values[w] = parts[w * plan.across + list];
    const Partial total = within_partials<C, kWarps>(task.op, all);
    if (splits == 1)
      task.store(o, total, convert<C>(*x));
    else
      task.partials[static_cast<std::int64_t>(unit) * splits * plan.across +
                    split * (task.lists - (o - list) < plan.across ? task.lists - (o - list) : plan.across) + list] =
          total;
  }
  if constexpr (kRows == kRowsOfTile)
    if (splits > 1) gather_slabs(task, SlabLists<Op, T>(task, unit), unit, units, split);
}

}  // namespace tally::cuda_loops
