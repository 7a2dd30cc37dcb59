// How partial results, which are what leaves a warp, come together: in the quick unit where it holds.
#pragma once

#include <tally/ops/cuda/reduce_fold.cuh>

namespace tally::cuda_loops {

template <class C, class Op>
TALLY_COLD PartialOf<Op, C> across_exactly(const Op& op, PartialOf<Op, C> partial, int end) {
  merge_across<Exact<Op, C>, 1>(op, &partial, 1, end);
  return partial;
}
/// The tree over the threads of each group of `end`, a power of two, of a warp; left in the group's first thread.
template <class C, class Op>
TALLY_DEVICE PartialOf<Op, C> across_partials(const Op& op, const PartialOf<Op, C>& partial, int end) {
  using U = Unit<Op, C>;
  typename U::Value value = U::unpack(partial);
  merge_across<U, 1>(op, &value, 1, end);
  if constexpr (U::checked)
    if (__any_sync(gpu::kAllLanes, !U::holds(value))) return across_exactly<C>(op, partial, end);
  return U::pack(value);
}

/// kCount partials by value.
template <class Partial, int kCount> struct Several { Partial values[kCount]; };
template <class C, int kCount, class Op>
TALLY_COLD PartialOf<Op, C> within_exactly(const Op& op, Several<PartialOf<Op, C>, kCount> v) {
  for (int step = 1; step < kCount; step *= 2) TALLY_ROLLED
  for (int k = 0; k < kCount; k += 2 * step) v.values[k] = Exact<Op, C>::merge(op, v.values[k], v.values[k + step]);
  return v.values[0];
}
/// The tree over kCount partials of a thread.
template <class C, int kCount, class Op>
TALLY_DEVICE PartialOf<Op, C> within_partials(const Op& op, const Several<PartialOf<Op, C>, kCount>& v) {
  using U = Unit<Op, C>;
  if constexpr (U::heavy) {
    return within_exactly<C, kCount>(op, v);
  } else {
    typename U::Value values[kCount];
    TALLY_UNROLL
    for (int k = 0; k < kCount; ++k) values[k] = U::unpack(v.values[k]);
    merge_within<U, kCount>(op, values);
    if (!U::holds(values[0])) return within_exactly<C, kCount>(op, v);
    return U::pack(values[0]);
  }
}

/// A value that another block wrote in this launch.
template <class Partial> TALLY_DEVICE Partial load_partial(const Partial* from) {
  using Word = std::conditional_t<sizeof(Partial) % 8 == 0 && alignof(Partial) % 8 == 0, std::uint64_t, std::uint32_t>;
  static_assert(sizeof(Partial) % sizeof(Word) == 0);
  Word words[sizeof(Partial) / sizeof(Word)];
  TALLY_UNROLL
  for (std::size_t i = 0; i < sizeof(Partial) / sizeof(Word); ++i)
    words[i] = gpu::load_coherent(reinterpret_cast<const Word*>(from) + i);
  Partial value;
  memcpy(static_cast<void*>(&value), words, sizeof value);
  return value;
}

/// The tree over partials number [begin, begin + size) of `count`, `stride` apart in memory; size is a power of two,
/// and what is past the end is nothing.
template <class C, class Op>
TALLY_COLD PartialOf<Op, C> merge_memory(const Op& op, const PartialOf<Op, C>* from, std::int64_t stride,
                                         std::int64_t begin, std::int64_t size, std::int64_t count) {
  using E = Exact<Op, C>;
  using Partial = typename E::Value;
  constexpr int kLoads = sizeof(Partial) <= 8 ? 8 : 4;  // at once, as registers allow
  const std::int64_t end = begin + size < count ? begin + size : count;
  const auto batch = [&](std::int64_t i) {
    Several<Partial, kLoads> v;
    TALLY_UNROLL
    for (int k = 0; k < kLoads; ++k) v.values[k] = i + k < end ? load_partial(from + (i + k) * stride) : E::nothing(op);
    return within_partials<C, kLoads>(op, v);
  };
  if (end <= begin) return E::nothing(op);
  if (end - begin <= kLoads) return batch(begin);
  Partial stack[32];
  int pushed = 0;
  TALLY_ROLLED
  for (std::int64_t i = begin; i < end; i += kLoads, ++pushed) {
    Partial value = batch(i);
    int level = 0;
    TALLY_ROLLED
    for (int m = pushed; m & 1; m >>= 1, ++level) value = merge_seldom<E>(op, stack[level], value);
    stack[level] = value;
  }
  Partial value = E::nothing(op);
  TALLY_ROLLED
  for (int level = 0; pushed >> level; ++level)
    if (pushed >> level & 1) value = merge_seldom<E>(op, stack[level], value);
  return value;
}

TALLY_DEVICE std::int64_t power_of_two_at_least(std::int64_t n) {
  std::int64_t power = 1;
  TALLY_ROLLED
  while (power < n) power *= 2;
  return power;
}

/// Whether this block is the last of `blocks` to come here; what the others have written is then there to load_partial.
/// `last` is a word of shared memory. All threads call it; unless thread 0 was the only one to write, after a barrier.
/// The ticket is left at zero.
TALLY_DEVICE bool is_last_block(unsigned* ticket, std::int64_t blocks, bool& last) {
  if (threadIdx.x == 0) {
    const unsigned most = static_cast<unsigned>(blocks - 1);
    last = gpu::count_in(ticket, most) == most;
  }
  __syncthreads();
  return last;
}

}  // namespace tally::cuda_loops
