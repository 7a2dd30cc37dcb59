// What reduce_with and verify_op say to a struct that is no usable reduction: a sentence with the member's name and how
// it has to look, in place of what the loops would say. An optional member is left out only where nothing has its name.
#pragma once

#include <cstddef>
#include <type_traits>

#include <tally/core/tensor.h>
#include <tally/ops/reduction.h>
#include <tally/ops/struct_members.h>

namespace tally::detail {

template <class Op>
concept ReductionHasStaticName = ReductionHasName<Op> && !std::is_member_object_pointer_v<decltype(&Op::name)>;
template <class Op>
concept ReductionHasPlainAcc = std::is_trivially_copyable_v<SomeAcc<Op>> &&
                               std::is_default_constructible_v<SomeAcc<Op>> &&
                               alignof(SomeAcc<Op>) <= alignof(std::max_align_t);

// The optional members: each left out, or as expected.
template <class Op>
concept AcceptsFits = requires {
  &NamedMembers<Op>::accepts;
}
|| (
       !requires { &Op::accepts; } &&
       requires {
         { Op::template accepts<double> } -> std::convertible_to<bool>;
       });
template <class Op>
concept ResultTypeFits = requires {
  &NamedMembers<Op>::Result;
}
|| requires { typename Op::template Result<SomeElement<Op>>; };
template <class Op>
concept AnyOrderFits = requires {
  &NamedMembers<Op>::any_order;
}
|| (
       !requires { &Op::any_order; } &&
       requires {
         { Op::template any_order<SomeElement<Op>> } -> std::convertible_to<bool>;
       });
// These two may be there for some types or kinds of an op only: what `requires` takes away has no address.
template <class Op>
concept IdentityFits = requires(const Op& op) {
  { op.template identity<SomeElement<Op>>() } -> std::convertible_to<SomeAcc<Op>>;
}
|| !(
       requires { &Op::identity; } || requires { &Op::template identity<SomeElement<Op>>; });
template <class Op>
concept NothingFits = requires(const Op& op) {
  { op.template nothing<SomeElement<Op>>() } -> std::convertible_to<SomeAcc<Op>>;
}
|| !(
       requires { &Op::nothing; } || requires { &Op::template nothing<SomeElement<Op>>; });
template <class Op>
concept LiftFits = requires {
  &NamedMembers<Op>::lift;
}
|| requires(const Op& op, SomeElement<Op> x) {
  { op.lift(x) } -> std::convertible_to<SomeAcc<Op>>;
}
|| requires(const Op& op, SomeElement<Op> x, std::int64_t i) {
  { op.lift(x, i) } -> std::convertible_to<SomeAcc<Op>>;
};
template <class Op>
concept LaneFits = requires {
  &NamedMembers<Op>::lane;
}
|| requires(const Op& op, const SomeElement<Op> (&x)[kPerLane], std::int64_t first) {
  { op.lane(x, kPerLane, first, x[0]) } -> std::convertible_to<SomeAcc<Op>>;
};
template <class Op>
concept DerivativeFits = requires {
  &NamedMembers<Op>::derivative;
}
|| requires(const Op& op, const SomeAcc<Op>& acc, std::int64_t n, SomeElement<Op> x) {
  { op.derivative(acc, n, x) } -> std::convertible_to<SomeElement<Op>>;
}
|| requires(const Op& op, const SomeAcc<Op>& acc, std::int64_t n, SomeElement<Op> x) {
  { op.derivative(x, acc, n, x) } -> std::convertible_to<SomeElement<Op>>;
}
|| requires(const Op& op, const SomeAcc<Op>& acc, std::int64_t n, SomeElement<Op> x) {
  { op.derivative(x, n, acc, n, x) } -> std::convertible_to<SomeElement<Op>>;
};
template <class Op>
concept GradientFits = requires {
  &NamedMembers<Op>::gradient;
}
|| requires(const Op& op, const Tensor& x, std::int64_t n) {
  { op.gradient(x, x, x, n) } -> std::convertible_to<Tensor>;
};

/// Whether reduce_with can use the op; where not, the compiler has said why.
template <class Op> constexpr bool check_reduction() {
  static_assert(ReductionHasStaticName<Op>, "a reduction needs a name: static constexpr auto name = \"...\"");
  if constexpr (!AcceptsFits<Op>) {
    static_assert(AcceptsFits<Op>,
                  "a reduction's accepts has to be a template: template <class T> static constexpr bool accepts = ...");
    return false;
  } else if constexpr (!ReductionHasAcc<Op>) {
    static_assert(ReductionHasAcc<Op>, "a reduction needs an accumulator: template <class C> using Acc = ...");
    return false;
  } else {
    static_assert(ReductionHasPlainAcc<Op>,
                  "a reduction's Acc<C> has to be plain data, such as a number or a struct of numbers: it is copied as "
                  "bytes");
    static_assert(ReductionHasLiftOrLane<Op>,
                  "a reduction needs lift: Acc<C> lift(C x) const, or lift(C x, std::int64_t i) const");
    static_assert(ReductionHasCombine<Op>,
                  "a reduction needs combine: Acc<C> combine(Acc<C> earlier, Acc<C> later) const");
    static_assert(ReductionHasProject<Op>,
                  "a reduction needs project: C project(Acc<C> acc, std::int64_t n, C pivot) const");
    static_assert(ResultTypeFits<Op>,
                  "a reduction's Result has to be a template: template <class T> using Result = ...");
    static_assert(AnyOrderFits<Op>,
                  "a reduction's any_order has to be a template: template <class C> static constexpr bool any_order = "
                  "...");
    static_assert(IdentityFits<Op>,
                  "a reduction's identity has to be a template: template <class C> Acc<C> identity() const");
    static_assert(NothingFits<Op>,
                  "a reduction's nothing has to be a template: template <class C> Acc<C> nothing() const");
    static_assert(!ReductionHasLiftOrLane<Op> || LiftFits<Op>,
                  "a reduction's lift has to be Acc<C> lift(C x) const, or lift(C x, std::int64_t i) const");
    static_assert(LaneFits<Op>,
                  "a reduction's lane has to be Acc<C> lane(const C (&x)[kPerLane], int count, std::int64_t first, C "
                  "pivot) const");
    static_assert(DerivativeFits<Op>,
                  "a reduction's derivative has to be C derivative(Acc<C> acc, std::int64_t n, C pivot) const, or take "
                  "(C x, acc, n, pivot), or (C x, std::int64_t i, acc, n, pivot)");
    static_assert(GradientFits<Op>,
                  "a reduction's gradient has to be Tensor gradient(const Tensor& x, const Tensor& y, const Tensor& "
                  "grad, std::int64_t n) const");
    return ReductionStruct<Op> && ReductionHasStaticName<Op> && ReductionHasPlainAcc<Op> && ResultTypeFits<Op> &&
           AnyOrderFits<Op> && IdentityFits<Op> && NothingFits<Op> && LiftFits<Op> && LaneFits<Op> &&
           DerivativeFits<Op> && GradientFits<Op>;
  }
}

}  // namespace tally::detail
