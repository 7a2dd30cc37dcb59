// What every reduction kernel is given.
#pragma once

#include <tally/ops/cuda/reduce_plan.h>
#include <tally/ops/cuda/reduce_walk.h>
#include <tally/ops/results.h>
#include <tally/ops/cuda/reduce_fold.cuh>

namespace tally::cuda_loops {

/// One copy of the code for layouts that take divisions.
TALLY_COLD std::int64_t far_offset(const Walk<1>& walk, std::int64_t i) {
  std::int64_t at[1];
  walk.offsets(i, at);
  return at[0];
}
TALLY_DEVICE std::int64_t offset(const Walk<1>& walk, std::int64_t i) {
  return walk.rank == 1 ? i * walk.strides[0][0] : far_offset(walk, i);
}

/// A thread's share of a tile in a list of several dims: kPieces loads of kWidth neighbours, `step` elements apart.
/// Rolled up, since it is much code; `to` is local memory.
template <int kPieces, int kWidth, class T>
TALLY_COLD void read_scattered(const Walk<1>& walk, const T* x, std::int64_t first, std::int64_t end, int step,
                               gpu::Vector<T, kWidth>* to) {
#if defined(__CUDACC__)
#pragma unroll 4
#endif
  for (int i = 0; i < kPieces; ++i) {
    const std::int64_t at = first + i * step;
    std::int64_t offset[1] = {0};
    if (at < end) {
      walk.offsets(at, offset);
      to[i] = gpu::load_streaming(reinterpret_cast<const gpu::Vector<T, kWidth>*>(x + offset[0]));
    }
  }
}

template <class Op, class T> struct Task {
  using C = Compute<T>;
  using Partial = PartialOf<Op, C>;

  Op op;
  const T* x;
  Walk<1> kept, reduced;
  std::int64_t n, lists;
  Results<Op, T> out;
  Plan plan;
  Partial* partials;
  unsigned* tickets;

  TALLY_DEVICE const T* list(std::int64_t o) const { return x + offset(kept, o); }
  /// The first element: what var measures deviations from. Ops that don't look at it cost no load.
  TALLY_DEVICE C pivot(std::int64_t o) const { return n > 0 ? convert<C>(*list(o)) : C(0); }
  /// Results of list o, whose partial result is finished.
  TALLY_DEVICE void store(std::int64_t o, const Partial& total) const {
    out.store(op, o, Fold<Op, C>::get(total), n, pivot(o));
  }
};

}  // namespace tally::cuda_loops
