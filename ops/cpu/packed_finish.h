// From a vector of accumulators to the results of reduce_kernels.h.
#pragma once

#include <tally/ops/cpu/packed_tree.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

using detail::TileResult;

/// The results of the first `count` places of a vector; each(w, fine): whether place w is for these loops.
template <class Op>
TALLY_INLINE void finish(const AccOf<Op>& acc, int count, int elements, TileResult<ElementOf<Op>>* out, auto each) {
  using C = ElementOf<Op>;
  C fields[2][kWidth<C>];
  for (unsigned i = 0; i < sizeof(acc.f) / sizeof(acc.f[0]); ++i) store(fields[i], acc.f[i]);
  TALLY_VECTOR_LOOP
  for (int w = 0; w < count; ++w) {
    const C one[2] = {fields[0][w], fields[1][w]};
    each(w, Op::finish(one, elements, out[w]));
  }
}

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
