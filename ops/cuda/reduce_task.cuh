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

/// A thread's share of a tile in any layout: kPieces loads of kWidth neighbours, `step` elements of the list apart,
/// from number `first` on and before `end`. One copy of the code, rolled up; `to` is local memory.
template <int kPieces, int kWidth, class T>
TALLY_COLD void read_scattered(const Walk<1>& walk, const T* x, std::int64_t first, std::int64_t end, int step,
                               gpu::Vector<T, kWidth>* to) {
  using Load = gpu::Vector<T, kWidth>;
#if defined(__CUDACC__)
#pragma unroll 4
#endif
  for (int i = 0; i < kPieces; ++i) {
    const std::int64_t at = first + i * step;
    Load load = {};
    if (at + kWidth <= end) {
      load = gpu::load_streaming(reinterpret_cast<const Load*>(x + offset(walk, at)));
    } else if (kWidth > 1 && at < end) {
      // The end of a list inside a vector: the list has one dim.
      TALLY_UNROLL
      for (int k = 0; k + 1 < kWidth; ++k)
        if (at + k < end) load[k] = x[at + k];
    }
    to[i] = load;
  }
}

/// Blocks of 256 threads that a multiprocessor is to hold: enough loads under way, without spilling registers.
template <class Op, class T> inline constexpr int kBlocksAtLeast = kHeavy<Op, Compute<T>> || sizeof(T) == 8 ? 3 : 4;

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

/// The same, where it does not happen often: one copy of the code.
template <class Op, class T>
TALLY_COLD void store_seldom(const Task<Op, T>& task, std::int64_t o, PartialOf<Op, Compute<T>> total) {
  task.store(o, total);
}

}  // namespace tally::cuda_loops
