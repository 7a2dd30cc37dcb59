// The pieces that all reduction kernels are made of: how values merge in the tree's order, between those of a thread,
// the threads of a warp, and through memory. U is a unit (reduce_unit.cuh).
#pragma once

#include <tally/ops/cuda/reduce_unit.cuh>

namespace tally::cuda_loops {

/// Merges where speed does not count: one copy of the code.
template <class U, class Op>
TALLY_COLD typename U::Value merge_seldom(const Op& op, typename U::Value a, typename U::Value b) {
  return U::merge(op, a, b);
}

/// Exact as the rare way of an op that has a quick unit: one copy of what it does, however often a kernel needs it.
template <class Op, class C> struct Rare : Exact<Op, C> {
  using Value = typename Exact<Op, C>::Value;

  template <int>
  TALLY_DEVICE static Value lane(const Op& op, const C (&x)[kPerLane], int count, std::int64_t first, C pivot) {
    return lane_seldom(op, Lane<C>(x), count, first, pivot);
  }
  TALLY_DEVICE static Value merge(const Op& op, const Value& a, const Value& b) {
    return merge_seldom<Exact<Op, C>>(op, a, b);
  }

 private:
  TALLY_COLD static Value lane_seldom(const Op& op, Lane<C> lane, int count, std::int64_t first, C pivot) {
    return Exact<Op, C>::template lane<kPerLane>(op, lane.x, count, first, pivot);
  }
};

/// kEven: of two that have as many elements, which some units do in fewer instructions.
template <class U, bool kEven, class Op>
TALLY_DEVICE typename U::Value merge(const Op& op, const typename U::Value& a, const typename U::Value& b) {
  if constexpr (kEven && has_merge_even<U, Op>)
    return U::merge_even(op, a, b);
  else
    return U::merge(op, a, b);
}

/// Whether it is known that merges are the same from either side, to the bit.
template <class U> constexpr bool commutes() {
  if constexpr (requires { U::commutes; })
    return U::commutes;
  else
    return false;
}

/// What the thread `offset` away has; kEven: of as many elements.
template <class U, bool kEven, class Op>
TALLY_DEVICE typename U::Value partner(const typename U::Value& v, int offset) {
  if constexpr (kEven && has_merge_even<U, Op>)
    return U::shuffle_even(v, offset);
  else
    return gpu::shuffle_xor(v, offset);
}

/// The tree over v[0..kCount), a power of two; left in v[0].
template <class U, int kCount, bool kEven = false, class Op>
TALLY_DEVICE void merge_within(const Op& op, typename U::Value* v) {
  TALLY_UNROLL
  for (int step = 1; step < kCount; step *= 2) {
    TALLY_UNROLL
    for (int k = 0; k < kCount; k += 2 * step) v[k] = merge<U, kEven>(op, v[k], v[k + step]);
  }
}

/// The tree over the threads of a warp whose numbers differ in the bits from `offset` up to `end`, for kCount values at
/// once. While a thread has more than one value it hands every other one to its partner, so no merge is done twice.
/// Of a group of s threads, the one numbered r < min(s, kCount) ends with values r, r + s, ... in v[0], v[1], ...;
/// what the others hold is of no use.
/// kKnown: `offset` and `end` are mostly known to the compiler, or there are registers enough.
template <class U, int kCount, bool kEven = false, bool kKnown = true, class Op>
TALLY_DEVICE void merge_across(const Op& op, typename U::Value* v, int offset, int end) {
  using Value = typename U::Value;
  if constexpr (kCount > 1) {
    if (offset >= end) return;
    const bool upper = (threadIdx.x & offset) != 0;
    TALLY_UNROLL
    for (int k = 0; k < kCount / 2; ++k) {
      Value keep = v[2 * k], give = v[2 * k + 1];
      if (upper) {
        keep = v[2 * k + 1];
        give = v[2 * k];
      }
      const Value got = partner<U, kEven, Op>(give, offset);
      Value low = keep, high = got;
      if (upper && !commutes<U>()) {
        low = got;
        high = keep;
      }
      v[k] = merge<U, kEven>(op, low, high);
    }
    if (kCount > 2 || offset * 2 < end) merge_across<U, kCount / 2, kEven, kKnown>(op, v, offset * 2, end);
  } else if constexpr (has_across<U> && (kKnown || !needs_known<U>)) {
    v[0] = U::across(op, v[0], offset, end);
  } else if constexpr (U::heavy) {
    TALLY_ROLLED
    for (; offset < end; offset *= 2) v[0] = U::merge(op, v[0], gpu::shuffle_xor(v[0], offset));
  } else {
    for (; offset < end; offset *= 2) v[0] = merge<U, kEven>(op, v[0], partner<U, kEven, Op>(v[0], offset));
  }
}

/// The tree over a value of each thread of each group of `end`, with a look at whether they are of as many elements.
template <class U, bool kKnown = true, class Op>
TALLY_DEVICE void merge_group(const Op& op, typename U::Value& v, int end) {
  if constexpr (has_merge_even<U, Op>) {
    const int length = U::length(v), first = static_cast<int>(threadIdx.x % kWarp) & ~(end - 1);
    if (__all_sync(gpu::kAllLanes, length == gpu::shuffle(length, first)))
      return merge_across<U, 1, true>(op, &v, 1, end);
  }
  merge_across<U, 1, false, kKnown>(op, &v, 1, end);
}

/// The tree over values that come one after another, each in the warp's first thread: the thread numbered k keeps the
/// accumulator of 2^k values.
template <class U, class Op> class WarpCounter {
 public:
  using Value = typename U::Value;

  TALLY_DEVICE explicit WarpCounter(const Op& op) : op_(op), stack_(U::nothing(op)) {}
  /// The merged 2^level values that come next, after a multiple of as many. kEven: all until now are of as many
  /// elements.
  template <bool kEven = false> TALLY_DEVICE void push(Value value, int level = 0) {
    int m = count_ >> level;
    count_ += 1 << level;
    TALLY_ROLLED
    for (; m & 1; m >>= 1, ++level) value = merge<U, kEven>(op_, gpu::shuffle(stack_, level), value);
    value = gpu::shuffle(value, 0);
    if (static_cast<int>(threadIdx.x % kWarp) == level) stack_ = value;
  }
  /// Instead of push and finish where there is one value.
  TALLY_DEVICE void set(const Value& value) { stack_ = value; }
  TALLY_DEVICE const Value& only() const { return stack_; }
  TALLY_DEVICE Value finish() const {
    if (count_ == 0) return U::nothing(op_);
    int m = count_;
    int level = 0;
    TALLY_ROLLED
    for (; !(m & 1); m >>= 1) ++level;
    Value value = gpu::shuffle(stack_, level);
    TALLY_ROLLED
    while (m >>= 1) {
      ++level;
      if (m & 1) value = merge_seldom<U>(op_, gpu::shuffle(stack_, level), value);
    }
    return value;
  }

 private:
  const Op& op_;
  int count_ = 0;
  Value stack_;
};

}  // namespace tally::cuda_loops
