// The pieces that all reduction kernels are made of: how partial results merge in the tree's order, between the values
// of a thread, the threads of a warp, and through memory.
#pragma once

#include <cstdint>

#include <tally/core/cuda/kernel.h>
#include <tally/core/device.h>
#include <tally/ops/reduction.h>

#if defined(__CUDACC__)
#define TALLY_DEVICE __device__ __forceinline__
#define TALLY_COLD inline __device__ __noinline__
#define TALLY_GRID_CONSTANT __grid_constant__
#define TALLY_ROLLED _Pragma("unroll 1")
#else
#define TALLY_DEVICE inline
#define TALLY_COLD inline
#define TALLY_GRID_CONSTANT
#define TALLY_ROLLED
#endif

namespace tally::cuda_loops {

using gpu::kWarp;

template <class Op, class C> using PartialOf = typename Fold<Op, C>::Partial;

/// Whether an element or a merge costs more than a few instructions. Kernels of such ops merge between threads rather
/// than within one, which is less code for the same number of merges, and unroll less.
template <class Op, class C>
inline constexpr bool kHeavy = sizeof(PartialOf<Op, C>) > 8 || requires(const Op& op, const C (&x)[kPerLane]) {
  op.lane(x, 1, std::int64_t{}, C{});
};

/// Merges where speed does not count: one copy of the code.
template <class C, class Op>
TALLY_COLD PartialOf<Op, C> merge_seldom(const Op& op, PartialOf<Op, C> a, PartialOf<Op, C> b) {
  return Fold<Op, C>::merge(op, a, b);
}

/// The tree over v[0..kCount), a power of two; left in v[0].
template <int kCount, class C, class Op> TALLY_DEVICE void merge_within(const Op& op, PartialOf<Op, C>* v) {
  TALLY_UNROLL
  for (int step = 1; step < kCount; step *= 2) {
    TALLY_UNROLL
    for (int k = 0; k < kCount; k += 2 * step) v[k] = Fold<Op, C>::merge(op, v[k], v[k + step]);
  }
}

/// The tree over the threads of a warp whose numbers differ in the bits from `offset` up to `end`, for kCount values at
/// once. While a thread has more than one value it hands every other one to its partner, so no merge is done twice.
/// Of a group of s threads, the one numbered r < min(s, kCount) ends with values r, r + s, ... in v[0], v[1], ...;
/// what the others hold is of no use.
template <int kCount, class C, class Op>
TALLY_DEVICE void merge_across(const Op& op, PartialOf<Op, C>* v, int offset, int end) {
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  if constexpr (kCount > 1) {
    if (offset >= end) return;
    const bool upper = (threadIdx.x & offset) != 0;
    TALLY_UNROLL
    for (int k = 0; k < kCount / 2; ++k) {
      Partial keep = v[2 * k], give = v[2 * k + 1];
      if (upper) {
        keep = v[2 * k + 1];
        give = v[2 * k];
      }
      const Partial got = gpu::shuffle_xor(give, offset);
      Partial low = keep, high = got;
      if (upper) {
        low = got;
        high = keep;
      }
      v[k] = F::merge(op, low, high);
    }
    merge_across<kCount / 2, C>(op, v, offset * 2, end);
  } else if constexpr (kHeavy<Op, C>) {
    TALLY_ROLLED
    for (; offset < end; offset *= 2) v[0] = F::merge(op, v[0], gpu::shuffle_xor(v[0], offset));
  } else {
    for (; offset < end; offset *= 2) v[0] = F::merge(op, v[0], gpu::shuffle_xor(v[0], offset));
  }
}

/// The tree over values that come one after another, each in the first of `width` (a power of two) neighbouring threads
/// of a warp: the thread numbered k among them keeps the accumulator of 2^k values.
template <class Op, class C> class WarpCounter {
 public:
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;

  TALLY_DEVICE WarpCounter(const Op& op, int width) : op_(op), width_(width), stack_(F::nothing(op)) {}
  TALLY_DEVICE void push(Partial value) {
    int level = 0;
    TALLY_ROLLED
    for (std::int64_t m = count_++; m & 1; m >>= 1, ++level) value = F::merge(op_, at(stack_, level), value);
    value = at(value, 0);
    if ((static_cast<int>(threadIdx.x) & (width_ - 1)) == level) stack_ = value;
  }
  TALLY_DEVICE Partial finish() const {
    if (count_ == 0) return F::nothing(op_);
    std::int64_t m = count_;
    int level = 0;
    TALLY_ROLLED
    for (; !(m & 1); m >>= 1) ++level;
    Partial value = at(stack_, level);
    TALLY_ROLLED
    while (m >>= 1) {
      ++level;
      if (m & 1) value = merge_seldom<C>(op_, at(stack_, level), value);
    }
    return value;
  }

 private:
  TALLY_DEVICE Partial at(const Partial& value, int rank) const {
    return gpu::shuffle(value, (static_cast<int>(threadIdx.x % kWarp) & ~(width_ - 1)) + rank);
  }
  const Op& op_;
  int width_;
  std::int64_t count_ = 0;
  Partial stack_;
};

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
TALLY_DEVICE PartialOf<Op, C> merge_memory(const Op& op, const PartialOf<Op, C>* from, std::int64_t stride,
                                           std::int64_t begin, std::int64_t size, std::int64_t count) {
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  constexpr int kLoads = sizeof(Partial) <= 8 ? 8 : 2;  // at once, as registers allow
  Partial stack[40];
  const std::int64_t end = begin + size < count ? begin + size : count;
  std::int64_t pushed = 0;
  TALLY_ROLLED
  for (std::int64_t i = begin; i < end; i += kLoads, ++pushed) {
    Partial v[kLoads];
    TALLY_UNROLL
    for (int k = 0; k < kLoads; ++k) v[k] = i + k < end ? load_partial(from + (i + k) * stride) : F::nothing(op);
    Partial value = v[0];
    if (end - i > 1) {
      TALLY_UNROLL
      for (int step = 1; step < kLoads; step *= 2) {
        TALLY_UNROLL
        for (int k = 0; k < kLoads; k += 2 * step) v[k] = merge_seldom<C>(op, v[k], v[k + step]);
      }
      value = v[0];
    }
    int level = 0;
    TALLY_ROLLED
    for (std::int64_t m = pushed; m & 1; m >>= 1, ++level) value = merge_seldom<C>(op, stack[level], value);
    stack[level] = value;
  }
  Partial value = F::nothing(op);
  TALLY_ROLLED
  for (int level = 0; pushed >> level; ++level)
    if (pushed >> level & 1) value = merge_seldom<C>(op, stack[level], value);
  return value;
}

TALLY_DEVICE std::int64_t power_of_two_at_least(std::int64_t n) {
  std::int64_t power = 1;
  TALLY_ROLLED
  while (power < n) power *= 2;
  return power;
}

/// Whether this block is the last of `blocks` to come here; what the others have written is then there to load_partial.
/// `last` is a word of shared memory. All threads call it. The ticket is left at zero.
TALLY_DEVICE bool is_last_block(unsigned* ticket, std::int64_t blocks, bool& last) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned most = static_cast<unsigned>(blocks - 1);
    last = atomicInc(ticket, most) == most;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

}  // namespace tally::cuda_loops
