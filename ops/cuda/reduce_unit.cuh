// What the threads of a reduction compute in. Exact is the op itself, for any values. A few ops have a Quick unit too
// (reduce_quick.cuh): the same arithmetic where nothing needs the op's care for extremes, in fewer instructions and
// registers. It notices where it does not hold, and what it then had is done again in Exact.
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

/// Whether an element or a merge of the op itself costs more than a few instructions.
template <class Op, class C>
inline constexpr bool kHeavy = sizeof(PartialOf<Op, C>) > 8 || requires(const Op& op, const C (&x)[kPerLane]) {
  op.lane(x, 1, std::int64_t{}, C{});
};

template <class Op, class C> struct Exact {
  using F = Fold<Op, C>;
  using Value = typename F::Partial;  ///< what threads hold and exchange
  static constexpr bool any_order = F::any_order;
  static constexpr bool checked = false;  ///< whether there are values for which `holds` says no
  static constexpr bool heavy = kHeavy<Op, C>;
  static constexpr std::int64_t longest = INT64_MAX;      ///< list that it can do
  static constexpr bool large = sizeof(C) == 8 && heavy;  ///< takes all of a thread's registers
  /// Blocks that a multiprocessor is to hold of the kernel for slabs: as many as leave all values in registers, or
  /// fewer where that was measured to be faster.
  static constexpr int slab_blocks(int width) { return large ? 1 : heavy || sizeof(C) == 8 || width == 8 ? 2 : 3; }
  /// The same of the kernel for long rows whose threads load `width` neighbours at once.
  static constexpr int row_blocks(int width) { return large ? 1 : heavy || sizeof(C) == 8 || width != 4 ? 2 : 3; }
  /// The same of the kernels for short rows, whose blocks are half as large, and for columns.
  static constexpr int short_row_blocks(int) { return large ? 2 : heavy || sizeof(C) == 8 ? 4 : 6; }
  static constexpr int strip_blocks = large ? 1 : 2;

  TALLY_DEVICE static Value nothing(const Op& op) { return F::nothing(op); }
  /// A lane as Fold::lane has it, of at most kRows elements; of none it is nothing.
  template <int kRows>
  TALLY_DEVICE static Value lane(const Op& op, const C (&x)[kPerLane], int count, std::int64_t first, C pivot) {
    return count > 0 ? F::some(F::lane(op, x, count, first, pivot)) : F::nothing(op);
  }
  // Optional: neighbours(op, x, count, first, pivot), the tree over 4 or kPerLane neighbouring lanes of one element
  // each, of which the first `count` exist, maybe none. lanes(op, x, pivot), the tree over the neighbouring, whole
  // lanes x[0], x[1], ...; each_lane(op, x, first, pivot, v), these lanes themselves. share<kWidth, kStep,
  // kMayBeLate>(op, x, extreme, first, late), where only the extreme of a list and its like count: all of x, whose
  // extreme is given; element i of it is number first + i / kWidth * kStep + i % kWidth of the list, and kStep more
  // where i % kWidth < late. With it come extreme(x), of several or of two, and loses(a, b). merge_even(op, a, b),
  // merge of two that have as many elements, with it shuffle_even(value, offset), the value of a thread `offset` away
  // that has as many, and length(value). across(op, value, offset, end), merge_across of one value a thread
  // (reduce_fold.cuh); across_known, where that pays only if the compiler knows the bits. scarce, where registers are:
  // no two rows of two-byte elements under way, none taken from words.
  TALLY_DEVICE static Value merge(const Op& op, const Value& a, const Value& b) { return F::merge(op, a, b); }
  TALLY_DEVICE static bool holds(const Value&) { return true; }
  TALLY_DEVICE static Value unpack(const Value& partial) { return partial; }
  TALLY_DEVICE static Value pack(const Value& value) { return value; }
};

template <class U, class Op, class C>
concept has_neighbours = requires(const Op& op, const C (&x)[kPerLane]) {
  U::neighbours(op, x, 1, 0, C{});
};

template <class U, class Op>
concept has_merge_even = requires(const Op& op, const typename U::Value& a) {
  U::merge_even(op, a, a);
};
template <class U>
concept has_across = requires {
  &U::across;
};
template <class U>
concept needs_known = requires {
  U::across_known;
};
template <class U>
concept is_scarce = requires {
  U::scarce;
};
template <class U, class Op, class C>
concept has_lanes = requires(const Op& op, const C (&x)[2][kPerLane]) {
  U::lanes(op, x, C{});
};
template <class U, class Op, class C>
concept has_each_lane = requires(const Op& op, const C (&x)[2][kPerLane], typename U::Value (&v)[2]) {
  U::each_lane(op, x, 0, C{}, v);
};
template <class U, class Op, class C>
concept has_share = requires(const Op& op, const C (&x)[kPerLane]) {
  U::template share<1, 1, false>(op, x, C{}, std::int64_t{}, 0);
};

template <class Op, class C> struct UnitOf { using type = Exact<Op, C>; };
template <class Op, class C> using Unit = typename UnitOf<Op, C>::type;

}  // namespace tally::cuda_loops
