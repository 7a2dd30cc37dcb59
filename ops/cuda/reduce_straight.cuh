// The kernel for many lists of at most 128 elements that lie side by side, but not so that a thread could load several
// in one vector: neighbouring threads take neighbouring lists, from the first element to the last. Nothing goes through
// shared memory, so that an element costs little more than its load.
#pragma once

#include <tally/ops/cuda/reduce_slab.cuh>

namespace tally::cuda_loops {

/// The tree over elements number [p, p + count) of a list, of at most kCount.
template <class U, int kCount, class Op, class C>
TALLY_DEVICE typename U::Value fold_neighbours(const Op& op, const C (&x)[kCount], int count, int p, C pivot) {
  if constexpr (has_neighbours<U, Op, C>) {
    return U::neighbours(op, x, count, p, pivot);
  } else {
    typename U::Value v[kCount];
    TALLY_UNROLL
    for (int k = 0; k < kCount; ++k) {
      const C one[kPerLane] = {x[k]};
      v[k] = k < count ? U::template lane<1>(op, one, 1, p + k, pivot) : U::nothing(op);
    }
    merge_within<U, kCount>(op, v);
    return v[0];
  }
}

/// The list that begins at `x`.
template <class U, class Op, class T>
TALLY_DEVICE typename U::Value fold_straight(const Task<Op, T>& task, const T* x, Compute<T> pivot) {
  using C = Compute<T>;
  const int n = static_cast<int>(task.n);
  return merge_positions<U>(task.op, 0, kLanes, n, 1, [&](int p, int count) {
    const T* from = x + p * task.step;
    C at[kSlabPositions];
    TALLY_UNROLL
    for (int k = 0; k < kSlabPositions; ++k) at[k] = measured<C>(task.op, k < count ? from[k * task.step] : T{});
    return fold_neighbours<U>(task.op, at, count, p, pivot);
  });
}
/// List number o with all the op's care, element by element.
template <class Op, class T> TALLY_COLD void straight_exactly(const Task<Op, T>& task, std::int64_t o) {
  using C = Compute<T>;
  using E = Rare<Op, C>;
  const T* x = task.list(o);
  const C pivot = convert<C>(*x);
  const auto total = merge_batches<E, 1>(task.op, 0, task.n, [&](std::int64_t i) {
    const C at[kPerLane] = {measured<C>(task.op, x[i * task.step])};
    return E::template lane<1>(task.op, at, 1, i, pivot);
  });
  task.store(o, total, pivot);
}

/// kLists lists a thread at once, a block apart; several have at most kFewElements. The bounds are for the registers:
/// as many threads a multiprocessor, though in smaller blocks.
template <class Op, class T, int kLists>
__global__ void __launch_bounds__(256, small_slab_blocks<Unit<Op, Compute<T>>, T>(kLists > 1 ? 3 : 5))
    reduce_straight(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  gpu::begin_early();
  const int threads = static_cast<int>(blockDim.x);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (threads * kLists) + threadIdx.x;
  const auto list = [&](int u) { return near_list(task, first + u * threads < task.lists ? first + u * threads : 0); };
  bool holds = true;
  const auto store = [&](int u, const typename U::Value& value, C pivot) {
    const std::int64_t o = first + u * threads;
    if (o >= task.lists) return;
    if (U::holds(value))
      task.store(o, U::pack(value), pivot);
    else
      holds = false;
  };
  if constexpr (kLists == 1) {
    const T* x = list(0);
    const C pivot = convert<C>(*x);
    store(0, fold_straight<U>(task, x, pivot), pivot);
  } else {
    const int n = static_cast<int>(task.n);
    T loads[kLists][kFewElements];
    TALLY_UNROLL
    for (int u = 0; u < kLists; ++u) {
      const T* x = list(u);
      TALLY_UNROLL
      for (int k = 0; k < kFewElements; ++k) loads[u][k] = k < n ? x[k * task.step] : T{};
    }
    TALLY_UNROLL
    for (int u = 0; u < kLists; ++u) {
      C at[kFewElements];
      TALLY_UNROLL
      for (int k = 0; k < kFewElements; ++k) at[k] = measured<C>(task.op, loads[u][k]);
      store(u, fold_neighbours<U>(task.op, at, n, 0, at[0]), at[0]);
    }
  }
  if constexpr (U::checked) {
    if (holds) return;
    TALLY_ROLLED
    for (int u = 0; u < kLists; ++u)
      if (first + u * threads < task.lists) straight_exactly(task, first + u * threads);
  }
}

}  // namespace tally::cuda_loops
