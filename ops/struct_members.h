// Whether an op's struct mentions a member at all, in whatever form. An optional member that is there but cannot be
// called as expected would otherwise pass for one that was left out.
#pragma once

#include <type_traits>

namespace tally::detail {

/// The optional members of all kinds of structs.
struct MemberNames {
  int accepts, Result, any_order, lift, lane, derivative, gradient;
  int df, df_of_result, da, db, result, curvature, da_reads, db_reads;
};
template <class Op> struct WithMemberNames : Op, MemberNames {};
/// A name that both bases have is ambiguous, be it a function, a template, a type or private in the op. Nothing can be
/// derived from a final struct, so of it nothing is known.
template <class Op>
using NamedMembers =
    typename std::conditional_t<std::is_class_v<Op> && !std::is_final_v<Op>,  //
                                std::type_identity<WithMemberNames<Op>>, std::type_identity<MemberNames>>::type;

}  // namespace tally::detail
