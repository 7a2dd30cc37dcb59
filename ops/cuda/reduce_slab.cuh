// What the two kernels for slabs have in common. A slab is a piece of memory in which lists lie side by side, so few of
// them, or so badly aligned, that a warp would not find whole vectors across them. A block reads it from one end to the
// other, whatever list an element is in, and finds the lists in shared memory.
#pragma once

#include <tally/ops/cuda/reduce_task.cuh>

namespace tally::cuda_loops {

/// The lists of a block: `across` side by side in each of `slices` slices, numbered slice by slice.
template <class Op, class T> struct SlabLists {
  const T* x;                       // the first element of the first one
  std::int64_t first, slice_lists;  // its number; lists of a whole slice
  std::int64_t slice_step;          // elements from slice to slice
  int slices, across;

  TALLY_DEVICE SlabLists(const Task<Op, T>& task, unsigned unit) {
    const Plan& plan = task.plan;
    const unsigned windows = static_cast<unsigned>(plan.column_blocks), window = windows == 1 ? 0 : unit % windows;
    const std::int64_t slice0 = static_cast<std::int64_t>(windows == 1 ? unit : unit / windows) * plan.slices;
    const std::int64_t column0 = static_cast<std::int64_t>(window) * plan.across;
    slice_lists = task.kept.sizes[0].divisor;
    slice_step = task.kept.rank > 1 ? task.kept.strides[0][1] : 0;
    const std::int64_t slices_left = (task.kept.rank > 1 ? task.kept.sizes[1].divisor : 1) - slice0;
    slices = static_cast<int>(slices_left < plan.slices ? slices_left : plan.slices);
    across = static_cast<int>(slice_lists - column0 < plan.across ? slice_lists - column0 : plan.across);
    first = slice0 * slice_lists + column0;
    x = task.x + slice0 * slice_step + column0;
  }
  TALLY_DEVICE int count() const { return slices * across; }
  /// Which slice a list is in: of several there are whole ones.
  TALLY_DEVICE int slice(const Task<Op, T>& task, int list) const {
    return slices == 1 ? 0 : static_cast<int>(task.kept.sizes[0].divide_small(static_cast<std::uint32_t>(list)));
  }
  /// Its number among all lists. The last window of a slice is the only one that is not followed by other lists.
  TALLY_DEVICE std::int64_t number(int list) const { return first + list; }
};

/// The first element of a list, where most often a short division finds it.
template <class Op, class T> TALLY_DEVICE const T* near_list(const Task<Op, T>& task, std::int64_t o) {
  return task.x + (task.kept.is_near(task.lists) ? near_offset(task.kept, o) : offset(task.kept, o));
}

/// Blocks that a multiprocessor is to hold for lists of at most 128: they wait for memory, then compute, so many hide
/// more, as long as registers last.
template <class U, class T> constexpr int small_slab_blocks(int most) {
  if constexpr (U::heavy) return U::large ? 1 : 3;
  return sizeof(T) == 1 ? 2 : sizeof(typename U::Value) > 8 ? 3 : most;
}
/// The same of long lists' tiles.
template <class U, int kRows> constexpr int upright_blocks() {
  if constexpr (U::heavy) return U::large ? 1 : 2;
  return kRows == kRowsOfTile ? 2 : 3;
}

/// Calls f(list, r) on the threads numbered r < group of every list, whole warps at a time and with list = -1 where
/// there is none: neighbouring threads have neighbouring lists, and a list's are 32 / group apart.
template <class F> TALLY_DEVICE void for_lists_of_warp(int lists, int group, F&& f) {
  static_assert(kWarp == 1 << 5);
  const int bits = 5 - (31 - __clz(group)), per_warp = 1 << bits, t = static_cast<int>(threadIdx.x % kWarp);
  const int first = static_cast<int>(threadIdx.x / kWarp) << bits, step = static_cast<int>(blockDim.x / kWarp) << bits;
  TALLY_ROLLED
  for (int list = first + (t & (per_warp - 1)); __any_sync(gpu::kAllLanes, list < lists); list += step)
    f(list < lists ? list : -1, t >> bits);
}

/// A binary counter in a thread, of up to 31 values: level i holds 2^i of them. In registers, unless the unit is heavy.
template <class U, class Op> class ThreadCounter {
 public:
  using Value = typename U::Value;
  TALLY_DEVICE ThreadCounter(const Op& op, const Value& first) : op_(op) {
    TALLY_UNROLL
    for (int i = 0; i < kLevels; ++i) level_[i] = first;
  }
  TALLY_DEVICE void push(Value value) {
    if constexpr (U::heavy) {
      int i = 0;
      TALLY_ROLLED
      for (; count_ >> i & 1; ++i) value = U::merge(op_, level_[i], value);
      level_[i] = value;
    } else {
      push_at<0>(value);
    }
    ++count_;
  }
  /// From the smallest part to the largest.
  TALLY_DEVICE Value finish() const {
    Value total = level_[0];
    const auto join = [&](int i) {
      if (count_ >> i & 1) total = (count_ & ((1 << i) - 1)) == 0 ? level_[i] : U::merge(op_, level_[i], total);
    };
    if constexpr (U::heavy) {
      TALLY_ROLLED
      for (int i = 0; i < kLevels; ++i) join(i);
    } else {
      TALLY_UNROLL
      for (int i = 0; i < kLevels; ++i) join(i);
    }
    return total;
  }

 private:
  static constexpr int kLevels = 5;
  template <int i> TALLY_DEVICE void push_at(Value value) {
    if constexpr (i < kLevels) {
      if (count_ >> i & 1)
        push_at<i + 1>(U::merge(op_, level_[i], value));
      else
        level_[i] = value;
    }
  }

  const Op& op_;
  int count_ = 1;
  Value level_[kLevels];
};

/// The tree over a list's lane positions 0, 1, ... before `positions`. Thread r of its group has `own` of them, a power
/// of two up to 128; some(p, count) is the value of `count` <= kSlabPositions from number p on, maybe of none. The
/// result is in the group's first thread.
template <class U, class Op, class Some>
TALLY_DEVICE typename U::Value merge_positions(const Op& op, int r, int own, int positions, int group, Some&& some) {
  const int first = r * own, left = positions - first, count = left < own ? left : own;
  auto total = some(first, count < kSlabPositions ? count : kSlabPositions);
  if (own > kSlabPositions) {
    ThreadCounter<U, Op> counter(op, total);
    TALLY_ROLLED
    for (int done = kSlabPositions; done < count; done += kSlabPositions)
      counter.push(some(first + done, count - done < kSlabPositions ? count - done : kSlabPositions));
    total = counter.finish();
  }
  if (group > 1) merge_across<U, 1, false, false>(op, &total, kWarp >> (31 - __clz(group)), kWarp);
  return total;
}

/// The tree over the first `count` of kSlabPositions values; value(k) is number k.
template <class U, class Op, class At> TALLY_DEVICE typename U::Value merge_some(const Op& op, int count, At&& value) {
  constexpr int kHalf = kSlabPositions / 2;
  const auto half = [&](int first) {
    typename U::Value v[kHalf];
    TALLY_UNROLL
    for (int k = 0; k < kHalf; ++k) v[k] = first + k < count ? value(first + k) : U::nothing(op);
    merge_within<U, kHalf>(op, v);
    return v[0];
  };
  typename U::Value total = half(0);
  if (count > kHalf) total = U::merge(op, total, half(kHalf));
  return total;
}

}  // namespace tally::cuda_loops
