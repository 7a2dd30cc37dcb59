// Many dense arrays, each one list in the documented order, to their accumulators, and what follows from all of them:
// in one launch.
#pragma once

#include <algorithm>
#include <new>
#include <vector>

#include <tally/core/cuda/deal.h>
#include <tally/ops/cuda/reduce_many.h>
#include <tally/ops/cuda/reduce_scratch.h>
#include <tally/ops/cuda/reduce_quick.cuh>
#include <tally/ops/cuda/reduce_rows.cuh>

namespace tally::cuda_loops {

template <class T> struct Array {
  const T* data = nullptr;
  std::int64_t length = 0;
};

template <class Op, class T> struct Many {
  using Partial = PartialOf<Op, Compute<T>>;

  Op op;
  ManyPlan plan;
  Array<T> arrays[kArraysOfALaunch] = {};
  Partial* partials = nullptr;                                    // one a block
  ResultType<Op, T>* unused = nullptr;                            // one an array: what nobody reads
  typename Op::template Acc<Compute<T>>* accumulators = nullptr;  // one an array
  unsigned* tickets = nullptr;                                    // one an array, and one for all
  bool final = true;                                              // the last launch

  /// Array k as the kernel for long lists knows its task.
  TALLY_DEVICE void describe(int k, Task<Op, T>* at) const {
    Task<Op, T>& task = *new (at) Task<Op, T>{};
    task.x = arrays[k].data;
    task.n = arrays[k].length;
    task.lists = task.step = 1;
    task.out.first = unused + k;
    task.out.accumulators = accumulators + k;
    task.plan.splits = plan.first_block[k + 1] - plan.first_block[k];
    task.partials = partials + plan.first_block[k];
    task.op = op;
    task.reduced.strides[0][0] = 1;
  }
};

/// The last block of a list: the tree over what all its blocks have left in memory, in the list's order.
template <class Op, class T> TALLY_COLD void finish_rows(const Task<Op, T>& task, std::int64_t list) {
  using C = Compute<T>;
  const int threads = static_cast<int>(blockDim.x);
  const std::int64_t splits = task.plan.splits;
  const PartialOf<Op, C>* partials = task.partials + list * splits;
  PartialOf<Op, C> total = Fold<Op, C>::nothing(task.op);
  if (splits <= threads) {
    if (static_cast<int>(threadIdx.x) < splits) total = load_partial(partials + threadIdx.x);
  } else {
    const std::int64_t chunk = power_of_two_at_least((splits + threads - 1) / threads);
    total = merge_memory<C>(task.op, partials, 1, threadIdx.x * chunk, chunk, splits);
  }
  total = across_block<Op, C>(task.op, total);
  if (threadIdx.x == 0) task.store(list, total);
}

/// Where the arrays have all been reduced: a copy of its own.
template <class Then> TALLY_COLD void finally(const Then& then) { then(); }

/// `then()` runs in all threads of the last block, when all accumulators are there for load_partial.
template <class Op, class T, int kWidth, bool kShifted, class Then>
__global__ void __launch_bounds__(kWarpsOfABlock* kWarp, Unit<Op, Compute<T>>::heavy && sizeof(Compute<T>) == 8 ? 1 : 2)
    reduce_many(const TALLY_GRID_CONSTANT Many<Op, T> many, const Then then) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using Partial = PartialOf<Op, C>;
  struct Shared {
    alignas(16) unsigned char task[sizeof(Task<Op, T>)];
    bool last_of_array, last;
  };
  Shared& shared = gpu::shared<Shared>();
  Task<Op, T>& task = *reinterpret_cast<Task<Op, T>*>(shared.task);
  Partial* const of_warp = OfWarps<Partial>::values();
  gpu::begin_early();
  const int t = static_cast<int>(threadIdx.x % kWarp), w = static_cast<int>(threadIdx.x / kWarp);
  const int k = gpu::array_of_block(many.plan.first_block, many.plan.arrays, blockIdx.x);
  const std::int64_t split = blockIdx.x - many.plan.first_block[k];
  if (threadIdx.x == 0) many.describe(k, &task);
  __syncthreads();

  const std::int64_t begin = (split * kWarpsOfABlock + w) * many.plan.run;
  const int count = tiles_from(task.n, begin, many.plan.run);
  Partial total = Fold<Op, C>::nothing(many.op);
  if (count > 0) {
    const auto value = run_of_tiles<U, kWidth, kShifted>(task, 0, begin, count);
    total = U::pack(value);
    if constexpr (U::checked)
      if (task.n > U::longest || __any_sync(gpu::kAllLanes, t == 0 && !U::holds(value)))
        total = exact_run_of_tiles(task, 0, begin, count);
  }
  if (t == 0) of_warp[w] = total;
  __syncthreads();
  if (w == 0) {
    total =
        across_partials<C>(many.op, t < kWarpsOfABlock ? of_warp[t] : Fold<Op, C>::nothing(many.op), kWarpsOfABlock);
    if (t == 0) {
      if (task.plan.splits == 1)
        store_seldom(task, 0, total);
      else
        task.partials[split] = total;
    }
  }
  if (task.plan.splits > 1) {
    if (!is_last_block(many.tickets + k, task.plan.splits, shared.last_of_array)) return;
    finish_rows(task, 0);
  }
  if (many.final && is_last_block(many.tickets + many.plan.arrays, many.plan.arrays, shared.last)) finally(then);
}

/// The accumulator of each array, and `then` once all are there.
template <class Op, class T, class Then>
void reduce_arrays(const char* name, const Op& op, const std::vector<Array<T>>& arrays,
                   typename Op::template Acc<Compute<T>>* accumulators, const Then& then) {
  using Partial = typename Many<Op, T>::Partial;
  constexpr int kWidth = row_width<Unit<Op, Compute<T>>, T>();
  std::vector<std::int64_t> lengths;
  bool aligned = true;
  for (const Array<T>& array : arrays) {
    lengths.push_back(array.length);
    aligned = aligned && reinterpret_cast<std::uintptr_t>(array.data) % (kWidth * sizeof(T)) == 0;
  }
  const auto kernel = aligned ? reduce_many<Op, T, kWidth, false, Then> : reduce_many<Op, T, kWidth, kWidth != 1, Then>;
  const Scratch unused(arrays.size() * sizeof(ResultType<Op, T>));
  for (std::size_t first = 0; first < arrays.size(); first += kArraysOfALaunch) {
    const std::size_t count = std::min<std::size_t>(arrays.size() - first, kArraysOfALaunch);
    Many<Op, T> many{.op = op, .plan = plan_many(lengths.data() + first, static_cast<int>(count))};
    std::copy_n(arrays.begin() + static_cast<std::ptrdiff_t>(first), count, many.arrays);
    const Scratch partials(static_cast<std::size_t>(many.plan.blocks()) * sizeof(Partial));
    many.partials = partials.as<Partial>();
    many.unused = unused.as<ResultType<Op, T>>() + first;
    many.accumulators = accumulators + first;
    many.tickets = tickets(many.plan.arrays + 1);
    many.final = first + count == arrays.size();
    gpu::launch(kernel, {many.plan.blocks(), kWarpsOfABlock * kWarp, 0, name, true}, many, then);
  }
}

}  // namespace tally::cuda_loops
