// The kernel for slabs of lists of at most 128 elements: they go to shared memory as they are.
#pragma once

#include <tally/ops/cuda/reduce_slab.cuh>

namespace tally::cuda_loops {

/// Elements of a block's lists in shared memory.
template <class Op, class T> class StagedLists {
 public:
  using C = Compute<T>;
  using Load = gpu::Vector<T>;
  static constexpr int kWidth = Load::size;

  /// Memory and its copy are aligned alike, so most of it travels in whole vectors.
  TALLY_DEVICE StagedLists(const Task<Op, T>& task, const SlabLists<Op, T>& lists, T* shared)
      : task_(task), lists_(lists), staged_(shared + misalignment(lists.x)) {}

  TALLY_DEVICE void read() const {
    constexpr int kAtOnce = 4;
    const Plan& plan = task_.plan;
    const bool in_one = plan.flat;
    const int n = static_cast<int>(task_.n), length = in_one ? lists_.slices * n * lists_.across : lists_.across;
    const int loads = plan.loads, all = in_one ? loads : n * loads, threads = static_cast<int>(blockDim.x);
    TALLY_ROLLED
    for (int i0 = static_cast<int>(threadIdx.x); i0 < all; i0 += kAtOnce * threads) {
      Load load[kAtOnce];
      const T* from[kAtOnce];
      int at[kAtOnce], piece[kAtOnce];
      TALLY_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const int i = i0 + u * threads;
        piece[u] = in_one ? 0 : i / loads;
        from[u] = lists_.x + piece[u] * task_.step;
        at[u] = i < all ? (i - piece[u] * loads) * kWidth - misalignment(from[u]) : length;
        if (at[u] >= 0 && at[u] + kWidth <= length)
          load[u] = gpu::load_streaming(reinterpret_cast<const Load*>(from[u] + at[u]));
      }
      TALLY_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        T* to = staged_ + piece[u] * plan.pitch + at[u];
        if (at[u] >= 0 && at[u] + kWidth <= length) {
          *reinterpret_cast<Load*>(to) = load[u];
        } else {
          TALLY_ROLLED
          for (int k = 0; k < kWidth; ++k)
            if (at[u] + k >= 0 && at[u] + k < length) to[k] = from[u][at[u] + k];
        }
      }
    }
  }
  /// Element 0 of a list; the next one is `pitch` further on.
  TALLY_DEVICE const T* list(int list) const {
    const int slice = lists_.slice(task_, list);
    return staged_ + slice * (static_cast<int>(task_.n) - 1) * lists_.across + list;
  }
  /// All threads of a warp call it; list is -1 where there is none.
  template <class U> TALLY_DEVICE typename U::Value merge(int list, int r) const {
    const int n = list < 0 ? 0 : static_cast<int>(task_.n), pitch = task_.plan.pitch;
    const T* from = this->list(list < 0 ? 0 : list);
    const C pivot = convert<C>(*from);
    return merge_positions<U>(task_.op, r, task_.plan.own, n, task_.plan.group, [&](int p, int count) {
      const T* at = from + p * pitch;
      if constexpr (has_neighbours<U, Op, C>) {
        C x[kPerLane];
        TALLY_UNROLL
        for (int k = 0; k < kSlabPositions; ++k) x[k] = measured<C>(task_.op, *(k < count ? at + k * pitch : from));
        return U::neighbours(task_.op, x, count, p, pivot);
      } else {
        return merge_some<U>(task_.op, count, [&](int k) {
          const C x[kPerLane] = {measured<C>(task_.op, at[k * pitch])};
          return U::template lane<1>(task_.op, x, 1, p + k, pivot);
        });
      }
    });
  }

 private:
  TALLY_DEVICE static int misalignment(const T* x) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(x) / sizeof(T)) & (kWidth - 1);
  }

  const Task<Op, T>& task_;
  const SlabLists<Op, T>& lists_;
  T* staged_;
};

/// It finds the lists anew: given those of the kernel it would have them in memory, also for the quick way.
template <class Op, class T>
TALLY_COLD PartialOf<Op, Compute<T>> merge_staged_exactly(const Task<Op, T>& task, int list, int r) {
  const SlabLists<Op, T> lists(task, blockIdx.x);
  return StagedLists<Op, T>(task, lists, gpu::shared_memory<T>()).template merge<Rare<Op, Compute<T>>>(list, r);
}

template <class U> constexpr int most_small_slab_blocks() {
  if constexpr (requires { U::most_small_slab_blocks; })
    return U::most_small_slab_blocks;
  else
    return 5;
}

template <class Op, class T>
__global__ void __launch_bounds__(
    256, small_slab_blocks<Unit<Op, Compute<T>>, T>(most_small_slab_blocks<Unit<Op, Compute<T>>>()))
    reduce_small_slabs(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  gpu::begin_early();
  const SlabLists<Op, T> lists(task, blockIdx.x);
  const StagedLists<Op, T> staged(task, lists, gpu::shared_memory<T>());
  staged.read();
  __syncthreads();
  for_lists_of_warp(lists.count(), task.plan.group, [&](int list, int r) {
    const auto value = staged.template merge<U>(list, r);
    PartialOf<Op, C> total = U::pack(value);
    if constexpr (U::checked)
      if (__any_sync(gpu::kAllLanes, r == 0 && !U::holds(value))) total = merge_staged_exactly(task, list, r);
    if (r == 0 && list >= 0) task.store(lists.number(list), total, convert<C>(*staged.list(list)));
  });
}

}  // namespace tally::cuda_loops
