// How the accumulators of lanes merge on vectors, neighbours first. For ops as packed_ops.h has them.
#pragma once

#include <tally/ops/cpu/packed_ops.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

template <class Op> using AccOf = typename Op::Acc;
template <class Op> using ElementOf = typename Op::C;
template <class Op> using BadOf = typename Op::Bad;
/// Levels of a tree inside a vector.
template <class C> inline constexpr int kInside = kWidth<C> == 2 ? 1 : kWidth<C> == 4 ? 2 : kWidth<C> == 8 ? 3 : 4;

/// Neighbours pair up: the even and odd lanes of two accumulators, merged; n as even() has it.
template <class Op>
TALLY_INLINE AccOf<Op> merge(const AccOf<Op>& a, const AccOf<Op>& b, const Weight<ElementOf<Op>>& weight,
                             BadOf<Op>& bad, int n = 0) {
  using C = ElementOf<Op>;
  AccOf<Op> first, second;
  for (unsigned i = 0; i < sizeof(a.f) / sizeof(a.f[0]); ++i) {
    first.f[i] = even<C>(a.f[i], b.f[i], n);
    second.f[i] = odd<C>(a.f[i], b.f[i], n);
  }
  return Op::combine(first, second, weight, bad);
}

/// 2^Levels vectors, get(first) and on: the tree inside each, all in one, so that no lane idles.
template <class Op, int Levels>
TALLY_INLINE AccOf<Op> tree(auto get, int first, const Weight<ElementOf<Op>>* weights, BadOf<Op>& bad) {
  if constexpr (Levels == 0) {
    return get(first);
  } else if constexpr (Op::kLong) {
    AccOf<Op> acc[1 << Levels];
    TALLY_VECTOR_LOOP
    for (int k = 0; k < 1 << Levels; ++k) acc[k] = get(first + k);
    TALLY_VECTOR_LOOP
    for (int n = 2; n <= 1 << Levels; n *= 2, weights += Op::kCounts) {
      const int pairs = (1 << Levels) / n;
      TALLY_VECTOR_LOOP
      for (int k = 0; k < pairs; ++k) acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], *weights, bad, n);
    }
    return acc[0];
  } else {
    const AccOf<Op> a = tree<Op, Levels - 1>(get, first, weights, bad),
                    b = tree<Op, Levels - 1>(get, first + (1 << (Levels - 1)), weights, bad);
    return merge<Op>(a, b, *weights, bad, 1 << Levels);
  }
}

/// Of two accumulators of n elements each.
template <class C> TALLY_INLINE Weight<C> equal_weight(int n) {
  return {splat(C(0.5)), splat(static_cast<C>(n) * C(0.5)), Mask<C>{}};
}
template <class C> TALLY_INLINE Weight<C> weight_of(int a, int b) {
  const C share = static_cast<C>(b) / static_cast<C>(a + b);
  return {splat(share), splat(static_cast<C>(a) * share), Mask<C>{}};
}

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
