// What a reduction is, and the order every one of them runs in.
//
// A reduction is a struct of functions over an accumulator. C is the type it computes in: float for the 2-byte floats,
// int64 for integers and bool, itself for float and double.
//
//   name                       of the op, for messages
//   accepts<T>, Result<T>      optional: which element types (default: all) and what it gives (default: T)
//   Acc<C>                     the accumulator, plain data
//   identity<C>()              the accumulator of nothing, exact: combine(identity, a) is a bit for bit. Left out,
//                              the op throws on nothing, as max does
//   nothing<C>()               optional, without identity: an accumulator that merges with any other to
//                              that other; never a result
//   any_order<C>               optional: true where merges in any order give the same accumulator, any NaN for any NaN;
//                              kernels may then merge as suits them
//   lift(x) or lift(x, i)      one element, with its index in the list where the op needs it
//   combine(a, b)              merges two accumulators, `a` the earlier one
//   lane(x, count, first, pivot)   optional: the accumulator of a whole lane, its at most 8 elements in registers;
//                              x[j] is element first + 128·j of the list, `pivot` the list's first element
//   project(acc, n, pivot)     the result (or Pair of two) of a list of n
//   derivative(...)            d result / d x, from (acc, n, pivot), (x, acc, n, pivot) or (x, i, acc, n, pivot)
//
// The order, which makes the bits depend on the values alone (not on device, batch, layout or threads):
//   1. the reduced dims, in the tensor's dim order, form one row-major list;
//   2. a tile is 1024 consecutive elements; in it lane l of 128 takes l, l + 128, l + 256, ... in that order;
//   3. the lanes combine as the textbook tree: neighbours 2k and 2k + 1 pair up, a leftover passes through;
//   4. the tiles' results combine by the same tree over the tile index.
// Any aligned power-of-two run of tiles can be reduced anywhere and merged later without changing a bit.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <tally/core/convert.h>
#include <tally/core/hd.h>
#include <tally/ops/reduction_order.h>

namespace tally {

/// For `accepts` and `Result`: float types only, and integers and bool giving int64.
template <class T> inline constexpr bool floats_only = is_float_type<T>;
template <class T> using Widened = std::conditional_t<is_float_type<T>, T, std::int64_t>;

/// Two results of one reduction.
template <class A, class B> struct Pair {
  A first;
  B second;
};

/// A lane by value: what a function that is rarely called (TALLY_HD_COLD) takes, so that the caller's stays in
/// registers.
template <class C> struct Lane {
  C x[kPerLane];
  TALLY_HD explicit Lane(const C (&values)[kPerLane]) {
    for (int j = 0; j < kPerLane; ++j) x[j] = values[j];
  }
};

namespace detail {

template <class Op, class T, class = void> struct ResultOf { using type = T; };
template <class Op, class T> struct ResultOf<Op, T, std::void_t<typename Op::template Result<T>>> {
  using type = typename Op::template Result<T>;
};

}  // namespace detail

/// What the op gives for elements of type T.
template <class Op, class T> using ResultType = typename detail::ResultOf<Op, T>::type;

/// Whether the op takes elements of type T.
template <class Op, class T> constexpr bool op_accepts() {
  if constexpr (requires { Op::template accepts<T>; })
    return Op::template accepts<T>;
  else
    return true;
}

// What a struct must have, each under a name that the compiler shows where it is missing.
namespace detail {

/// A type of elements that the op takes.
template <class Op> using SomeElement = std::conditional_t<op_accepts<Op, double>(), double, std::int64_t>;
template <class Op> using SomeAcc = typename Op::template Acc<SomeElement<Op>>;

template <class Op>
concept ReductionHasName = requires(const Op& op) {
  { op.name } -> std::convertible_to<const char*>;
};
template <class Op>
concept ReductionHasAcc = requires {
  typename SomeAcc<Op>;
};
template <class Op>
concept ReductionHasLiftOrLane = requires(const Op& op, SomeElement<Op> x) {
  op.lift(x);
}
|| requires(const Op& op, SomeElement<Op> x, std::int64_t i) { op.lift(x, i); }
|| requires(const Op& op, const SomeElement<Op> (&x)[kPerLane], std::int64_t first) {
  op.lane(x, kPerLane, first, x[0]);
};
template <class Op>
concept ReductionHasCombine = requires(const Op& op, const SomeAcc<Op>& acc) {
  { op.combine(acc, acc) } -> std::convertible_to<SomeAcc<Op>>;
};
template <class Op>
concept ReductionHasProject = requires(const Op& op, const SomeAcc<Op>& acc, std::int64_t n, SomeElement<Op> pivot) {
  op.project(acc, n, pivot);
};

}  // namespace detail

/// A struct as the top of this file describes it.
template <class Op>
concept ReductionStruct = detail::ReductionHasName<Op> && detail::ReductionHasAcc<Op> &&
    detail::ReductionHasLiftOrLane<Op> && detail::ReductionHasCombine<Op> && detail::ReductionHasProject<Op>;

/// How the loops of both devices see an op on elements computed in C.
template <class Op, class C> struct Fold {
  using Acc = typename Op::template Acc<C>;
  /// Whether a list of nothing has a result.
  static constexpr bool has_identity = requires(const Op& op) { op.template identity<C>(); };

  /// An accumulator or nothing: the op's identity or its `nothing`, else a flag. Padding with nothing passes a leftover
  /// through the tree.
  struct Flagged {
    Acc acc;
    bool any;
  };
  static constexpr bool has_nothing = has_identity || requires(const Op& op) { op.template nothing<C>(); };
  using Partial = std::conditional_t<has_nothing, Acc, Flagged>;

  static constexpr bool any_order = [] {
    if constexpr (requires { Op::template any_order<C>; })
      return Op::template any_order<C>;
    else
      return false;
  }();

  /// The partial result of no element, of an accumulator, and back.
  TALLY_HD static Partial nothing(const Op& op) {
    if constexpr (has_identity)
      return op.template identity<C>();
    else if constexpr (has_nothing)
      return op.template nothing<C>();
    else
      return {Acc{}, false};
  }
  TALLY_HD static Partial some(const Acc& acc) {
    if constexpr (has_nothing)
      return acc;
    else
      return {acc, true};
  }
  TALLY_HD static const Acc& get(const Partial& partial) {
    if constexpr (has_nothing)
      return partial;
    else
      return partial.acc;
  }
  /// combine, where either may be nothing.
  TALLY_HD static Partial merge(const Op& op, const Partial& a, const Partial& b) {
    if constexpr (has_nothing)
      return op.combine(a, b);
    else {
      if (!b.any) return a;
      if (!a.any) return b;
      return {op.combine(a.acc, b.acc), true};
    }
  }

  /// Element i of the list.
  TALLY_HD static Acc lift(const Op& op, C x, std::int64_t i) {
    if constexpr (requires { op.lift(x, i); })
      return op.lift(x, i);
    else
      return op.lift(x);
  }

  /// One lane: x[j] is element first + 128·j; count is at least 1.
  TALLY_HD static Acc lane(const Op& op, const C (&x)[kPerLane], int count, std::int64_t first, C pivot) {
    if constexpr (requires { op.lane(x, count, first, pivot); })
      return op.lane(x, count, first, pivot);
    else {
      Acc acc = lift(op, x[0], first);
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) acc = op.combine(acc, lift(op, x[j], first + kLanes * j));
      return acc;
    }
  }
};

/// Which of the three forms of `derivative` the op has, and the call of it.
template <class Op, class C> struct Slope {
  using Acc = typename Op::template Acc<C>;
  /// The forms: from the accumulator, the element too, its index too.
  static constexpr bool from_acc = requires(const Op& op, const Acc& a) { op.derivative(a, std::int64_t{}, C{}); };
  static constexpr bool from_x = requires(const Op& op, const Acc& a) { op.derivative(C{}, a, std::int64_t{}, C{}); };
  static constexpr bool from_index = requires(const Op& op, const Acc& a) {
    op.derivative(C{}, std::int64_t{}, a, std::int64_t{}, C{});
  };
  static constexpr bool exists = from_acc || from_x || from_index;

  /// d result / d x for element i of a list of n.
  TALLY_HD static C at(const Op& op, C x, std::int64_t i, const Acc& acc, std::int64_t n, C pivot) {
    if constexpr (from_acc)
      return static_cast<C>(op.derivative(acc, n, pivot));
    else if constexpr (from_x)
      return static_cast<C>(op.derivative(x, acc, n, pivot));
    else
      return static_cast<C>(op.derivative(x, i, acc, n, pivot));
  }
};

}  // namespace tally
