// How the blocks that share the lists of a slab bring their partial results together.
#pragma once

#include <tally/ops/cuda/reduce_slab.cuh>

namespace tally::cuda_loops {

/// Of the partial results that `count` blocks have left of `lists` lists: the tree over the blocks, for put(list,
/// total).
template <class C, class Op, class Put>
TALLY_DEVICE void merge_blocks(const Op& op, const PartialOf<Op, C>* from, int lists, std::int64_t count, Put&& put) {
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  int sharers = kWarp;
  while (sharers > 1 && sharers * lists > threads) sharers /= 2;
  const std::int64_t chunk = power_of_two_at_least((count + sharers - 1) / sharers);
  TALLY_ROLLED
  for (int list0 = 0; list0 < lists; list0 += threads / sharers) {
    const int list = list0 + tid / sharers;
    PartialOf<Op, C> total = Fold<Op, C>::nothing(op);
    if (list < lists) total = merge_memory<C>(op, from + list, lists, (tid & (sharers - 1)) * chunk, chunk, count);
    total = across_partials<C, false>(op, total, sharers);
    if (tid % sharers == 0 && list < lists) put(list, total);
  }
}

/// The blocks of a unit come together in two rounds: the last of every `gather` neighbours merges theirs, the last of
/// those the unit's.
template <class Op, class T>
TALLY_DEVICE void gather_slabs(const Task<Op, T>& task, const SlabLists<Op, T>& lists, unsigned unit, unsigned units,
                               unsigned split) {
  using C = Compute<T>;
  struct Shared {
    bool last;
  };
  const Plan& plan = task.plan;
  const int count = lists.across;
  const std::int64_t splits = plan.splits, gathers = (splits + plan.gather - 1) / plan.gather;
  const std::int64_t which = split / static_cast<unsigned>(plan.gather), begin = which * plan.gather;
  const std::int64_t members = splits - begin < plan.gather ? splits - begin : plan.gather;
  unsigned* ticket = task.tickets + unit * (gathers + 1);
  bool& last = gpu::shared<Shared>().last;
  const PartialOf<Op, C>* of_block = task.partials + unit * splits * plan.across;
  PartialOf<Op, C>* gathered = task.partials + (units * splits + unit * gathers) * plan.across;
  __syncthreads();
  if (!is_last_block(ticket + 1 + which, members, last)) return;
  merge_blocks<C>(task.op, of_block + begin * count, count, members,
                  [&](int list, const PartialOf<Op, C>& total) { gathered[which * count + list] = total; });
  __syncthreads();
  if (!is_last_block(ticket, gathers, last)) return;
  merge_blocks<C>(task.op, gathered, count, gathers,
                  [&](int list, const PartialOf<Op, C>& total) { task.store(lists.number(list), total); });
}

}  // namespace tally::cuda_loops
