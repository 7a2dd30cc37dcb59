// How partial results, which are what leaves a warp, come together: in the quick unit where it holds.
#pragma once

#include <bit>

#include <tally/core/cuda/blocks.h>
#include <tally/ops/cuda/reduce_fold.cuh>

namespace tally::cuda_loops {

template <class C, class Op>
TALLY_COLD PartialOf<Op, C> across_exactly(const Op& op, PartialOf<Op, C> partial, int end) {
  merge_across<Exact<Op, C>, 1>(op, &partial, 1, end);
  return partial;
}
/// The tree over the threads of each group of `end`, a power of two, of a warp; left in the group's first thread.
template <class C, bool kKnown = true, class Op>
TALLY_DEVICE PartialOf<Op, C> across_partials(const Op& op, const PartialOf<Op, C>& partial, int end) {
  using U = Unit<Op, C>;
  typename U::Value value = U::unpack(partial);
  merge_group<U, kKnown>(op, value, end);
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

/// The tree over partials number [begin, end) that come kAtOnce at a time: batch(i) is the tree over those from i on.
template <class E, int kAtOnce, class Op, class Batch>
TALLY_DEVICE typename E::Value merge_batches(const Op& op, std::int64_t begin, std::int64_t end, const Batch& batch) {
  using Partial = typename E::Value;
  if (end <= begin) return E::nothing(op);
  if (end - begin <= kAtOnce) return batch(begin);
  Partial stack[32];
  int pushed = 0;
  TALLY_ROLLED
  for (std::int64_t i = begin; i < end; i += kAtOnce, ++pushed) {
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

/// The tree over partials number [begin, begin + size) of `count`, `stride` apart in memory; size is a power of two,
/// and what is past the end is nothing.
template <class C, class Op>
TALLY_COLD PartialOf<Op, C> merge_memory(const Op& op, const PartialOf<Op, C>* from, std::int64_t stride,
                                         std::int64_t begin, std::int64_t size, std::int64_t count) {
  using E = Exact<Op, C>;
  using Partial = typename E::Value;
  constexpr int kLoads = sizeof(Partial) <= 8 ? 8 : 4;  // at once, as registers allow
  const std::int64_t end = begin + size < count ? begin + size : count;
  return merge_batches<E, kLoads>(op, begin, end, [&](std::int64_t i) {
    Several<Partial, kLoads> v;
    TALLY_UNROLL
    for (int k = 0; k < kLoads; ++k) v.values[k] = i + k < end ? load_partial(from + (i + k) * stride) : E::nothing(op);
    return within_partials<C, kLoads>(op, v);
  });
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

// A block may hand its partial result on without waiting until it has arrived: each word goes with a mark beside it in
// one access, and who is to read it looks until the mark is there. Mailboxes are zeros, and the reader leaves them so.

constexpr std::uint64_t kArrived = std::uint64_t{1} << 32;
template <class Partial> constexpr int kMailWords = static_cast<int>(sizeof(Partial) / sizeof(std::uint32_t));

/// The mailboxes of a list's partial results: `readers` threads read 2^each_bits of them each. What they read at the
/// same time is side by side.
struct Mail {
  std::uint64_t* words;
  int readers, each_bits;

  /// Word 0 of the `k`-th of a reader; the others follow `readers` apart.
  template <class Partial> TALLY_DEVICE std::uint64_t* box(int reader, int k) const {
    return words + k * kMailWords<Partial> * readers + reader;
  }
};
/// Words of 8 bytes that so many need.
template <class Partial> std::int64_t mail_size(std::int64_t count) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count))) * kMailWords<Partial>;
}

template <class Partial> TALLY_DEVICE void send_partial(const Mail& mail, int number, const Partial& value) {
  static_assert(sizeof(Partial) % sizeof(std::uint32_t) == 0);
  std::uint32_t words[kMailWords<Partial>];
  memcpy(words, static_cast<const void*>(&value), sizeof value);
  std::uint64_t* box = mail.box<Partial>(number >> mail.each_bits, number & ((1 << mail.each_bits) - 1));
  TALLY_UNROLL
  for (int i = 0; i < kMailWords<Partial>; ++i) gpu::store_whole(box + i * mail.readers, words[i] | kArrived);
}

/// kCount of this thread, from its `first`-th on, of which `count` exist; the rest is left as it is. All words are
/// asked for at once, and again until all are there.
template <int kCount, class Partial>
TALLY_DEVICE void receive_partials(const Mail& mail, int first, int count, Partial (&values)[kCount]) {
  constexpr int kWords = kMailWords<Partial>;
  std::uint64_t* const boxes = mail.box<Partial>(static_cast<int>(threadIdx.x), first);
  const auto box = [&](int k, int i) { return boxes + (k * kWords + i) * mail.readers; };
  std::uint64_t words[kCount][kWords];
  bool arrived = false;
  for (unsigned looked = 0; !arrived; gpu::look_again(looked++)) {
    arrived = true;
    TALLY_UNROLL
    for (int k = 0; k < kCount; ++k) {
      TALLY_UNROLL
      for (int i = 0; i < kWords; ++i) words[k][i] = k < count ? gpu::load_whole(box(k, i)) : kArrived;
    }
    TALLY_UNROLL
    for (int k = 0; k < kCount; ++k) {
      TALLY_UNROLL
      for (int i = 0; i < kWords; ++i) arrived &= (words[k][i] & kArrived) != 0;
    }
  }
  TALLY_UNROLL
  for (int k = 0; k < kCount; ++k)
    if (k < count) {
      std::uint32_t bits[kWords];
      TALLY_UNROLL
      for (int i = 0; i < kWords; ++i) {
        bits[i] = static_cast<std::uint32_t>(words[k][i]);
        gpu::store_whole(box(k, i), 0);
      }
      memcpy(static_cast<void*>(&values[k]), bits, sizeof(Partial));
    }
}

/// The tree over this thread's part of `count` in all.
template <class C, class Op> TALLY_COLD PartialOf<Op, C> merge_mail(const Op& op, Mail mail, int count) {
  using E = Exact<Op, C>;
  using Partial = typename E::Value;
  constexpr int kWords = kMailWords<Partial>, kLoads = kWords <= 2   ? 8
                                                       : kWords <= 4 ? 4
                                                       : kWords <= 6 ? 2
                                                                     : 1;  // as registers allow
  const int each = 1 << mail.each_bits, left = count - static_cast<int>(threadIdx.x) * each;
  const int mine = left < each ? left : each;
  return merge_batches<E, kLoads>(op, 0, mine, [&](std::int64_t i) {
    Several<Partial, kLoads> v;
    TALLY_UNROLL
    for (int k = 0; k < kLoads; ++k) v.values[k] = E::nothing(op);
    const int first = static_cast<int>(i), here = mine - first < kLoads ? mine - first : kLoads;
    receive_partials<kLoads>(mail, first, here, v.values);
    return within_partials<C, kLoads>(op, v);
  });
}

}  // namespace tally::cuda_loops
