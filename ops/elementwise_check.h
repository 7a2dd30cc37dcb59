// What map and zip say to a struct that they cannot use: a sentence with the member's name and how it has to look. An
// optional member is left out only where nothing has its name.
#pragma once

#include <concepts>

#include <tally/ops/elementwise_op.h>
#include <tally/ops/struct_members.h>

namespace tally::detail {

/// Of a constant's type &Op::name: it is static.
template <class Address>
concept OfNoObject = !std::is_member_object_pointer_v<Address>;
template <class Op>
concept ResultFits = requires {
  &NamedMembers<Op>::result;
}
|| (
       requires {
         { &Op::result } -> OfNoObject;
       } &&
       requires { typename std::integral_constant<Result, Op::result>; });
template <class Op>
concept CurvatureFits = requires {
  &NamedMembers<Op>::curvature;
}
|| (
       requires {
         { &Op::curvature } -> OfNoObject;
       } &&
       requires { typename std::integral_constant<Curvature, Op::curvature>; });
template <class Op>
concept DaReadsFits = requires {
  &NamedMembers<Op>::da_reads;
}
|| (
       requires {
         { &Op::da_reads } -> OfNoObject;
       } &&
       requires { typename std::integral_constant<Reads, Op::da_reads>; });
template <class Op>
concept DbReadsFits = requires {
  &NamedMembers<Op>::db_reads;
}
|| (
       requires {
         { &Op::db_reads } -> OfNoObject;
       } &&
       requires { typename std::integral_constant<Reads, Op::db_reads>; });
template <class Op>
concept DfFits = requires {
  &NamedMembers<Op>::df;
}
|| FromInput<Op>;
template <class Op>
concept DfOfResultFits = requires {
  &NamedMembers<Op>::df_of_result;
}
|| FromResult<Op>;
/// Neither of the two, or both.
template <class Op>
concept PartialsFit = requires {
  &NamedMembers<Op>::da;
  &NamedMembers<Op>::db;
}
|| requires(const Op& op, float x) {
  { op.da(x, x) } -> std::convertible_to<float>;
  { op.db(x, x) } -> std::convertible_to<float>;
};

// With Curvature::recorded: what is differentiated again is the derivative of tensors, of two-sided ops also beside a
// number.
template <class Op>
concept RecordsDf = curvature_of<Op>()
!= Curvature::recorded || requires(const Op& op, const Tensor& x) { op.df_of_result(x); }
|| requires(const Op& op, const Tensor& x) { op.df(x); }
|| !(FromInput<Op> || FromResult<Op>);
template <class Op>
concept RecordsDa = curvature_of<Op>()
!= Curvature::recorded || da_reads<Op>() == Reads::nothing || requires(const Op& op, const Tensor& x, double number) {
  op.da(x, x), op.da(x, number), op.da(number, x);
};
template <class Op>
concept RecordsDb = curvature_of<Op>()
!= Curvature::recorded || db_reads<Op>() == Reads::nothing || requires(const Op& op, const Tensor& x, double number) {
  op.db(x, x), op.db(x, number), op.db(number, x);
};

/// Whether the constants of a map's or a zip's struct are usable; where not, the compiler has said why.
template <class Op> constexpr bool check_constants() {
  static_assert(OpHasName<Op>, "an elementwise op needs a name: static constexpr auto name = \"...\"");
  static_assert(ResultFits<Op>, "an elementwise op's result has to be static constexpr auto result = Result::...");
  static_assert(CurvatureFits<Op>,
                "an elementwise op's curvature has to be static constexpr auto curvature = Curvature::...");
  return OpHasName<Op> && ResultFits<Op> && CurvatureFits<Op>;
}

/// Whether map can use the op.
template <class Op> constexpr bool check_map() {
  static_assert(MapHasF<Op>, "map needs f: C f(C x) const");
  static_assert(DfFits<Op>, "map's df has to be C df(C x) const");
  static_assert(DfOfResultFits<Op>, "map's df_of_result has to be C df_of_result(C y) const");
  constexpr bool fits = check_constants<Op>() && MapHasF<Op> && DfFits<Op> && DfOfResultFits<Op>;
  if constexpr (fits) {
    static_assert(RecordsDf<Op>,
                  "with Curvature::recorded the derivative has to take a Tensor too: template <class C> "
                  "C df(const C& x) const, with using math::exp; exp(x) for what it calls");
    return RecordsDf<Op>;
  }
  return fits;
}

/// Whether zip can use the op.
template <class Op> constexpr bool check_zip() {
  static_assert(ZipHasF<Op>, "zip needs f: C f(C a, C b) const");
  static_assert(PartialsFit<Op>, "zip's derivatives have to be C da(C a, C b) const and C db(C a, C b) const");
  static_assert(DaReadsFits<Op> && DbReadsFits<Op>,
                "zip's da_reads and db_reads have to be static constexpr auto da_reads = Reads::...");
  constexpr bool fits = check_constants<Op>() && ZipHasF<Op> && PartialsFit<Op> && DaReadsFits<Op> && DbReadsFits<Op>;
  if constexpr (fits && requires(const Op& op) { op.da(1.f, 1.f); }) {
    static_assert(RecordsDa<Op> && RecordsDb<Op>,
                  "with Curvature::recorded the derivatives have to take tensors and numbers in any mix: template "
                  "<class A, class B> auto da(const A& a, const B& b) const, and db");
    return RecordsDa<Op> && RecordsDb<Op>;
  }
  return fits;
}

}  // namespace tally::detail
