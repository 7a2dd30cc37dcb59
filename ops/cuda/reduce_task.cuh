// What every reduction kernel is given.
#pragma once

#include <tally/ops/cuda/reduce_plan.h>
#include <tally/ops/cuda/reduce_walk.h>
#include <tally/ops/results.h>
#include <tally/ops/cuda/reduce_partials.cuh>

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
/// Where walk.is_near(n), for i < n.
TALLY_DEVICE std::int64_t near_offset(const Walk<1>& walk, std::int64_t i) {
  const std::uint32_t at = static_cast<std::uint32_t>(i), outer = walk.sizes[0].divide_small(at);
  const std::uint32_t inside = at - outer * static_cast<std::uint32_t>(walk.sizes[0].divisor);
  return outer * walk.strides[0][1] + inside * walk.strides[0][0];
}

/// kPieces loads of kWidth neighbours in any layout, `step` elements of the list apart, from number `first` on and
/// before `end`. One copy of the code, rolled up; `to` is local memory.
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
      // The end of a list inside a vector, which lies in one piece.
      const T* from = x + offset(walk, at);
      TALLY_UNROLL
      for (int k = 0; k + 1 < kWidth; ++k)
        if (at + k < end) load[k] = from[k];
    }
    to[i] = load;
  }
}

/// How many elements of the lane that starts `left` elements before a tile's end there are, at most kRows.
template <int kRows> TALLY_DEVICE int lane_length(int left) {
  const int length = (left + kLanes - 1) >> 7;
  return length < 0 ? 0 : length < kRows ? length : kRows;
}

/// What the op's units see of an element: itself, or what the op measures by.
template <class C, class Op, class T> TALLY_DEVICE C measured(const Op& op, const T& x) {
  if constexpr (requires { op.measure(C()); })
    return op.measure(convert<C>(x));
  else
    return convert<C>(x);
}
/// The same of element k of what was loaded. kFromWord: of bfloat16 in one instruction, but the compiler keeps more of
/// them.
template <class C, bool kFromWord, class Op, class T, int N>
TALLY_DEVICE C element(const Op& op, const gpu::Vector<T, N>& of, int k) {
  return measured<C>(op, of[k]);
}
template <class C, bool kFromWord, class Op, class T, int N>
TALLY_DEVICE C element(const Op& op, const gpu::Halves<T, N>& of, int k) {
  if constexpr (kFromWord && std::is_same_v<T, BFloat16>)
    return measured<C>(op, math::bit_cast<float>(k % 2 == 0 ? of.word(k / 2) << 16 : of.word(k / 2) & 0xffff0000u));
  else
    return measured<C>(op, gpu::Vector<T, N>(of)[k]);
}

/// kWidth neighbouring lanes, from `lane` on, of the tile that begins with element `first` of its list and has `count`;
/// rows[j] are their j-th elements. kFull: all lanes have kRows.
template <class U, bool kFull, int kWidth, int kRows, class Op, class Row, class C>
TALLY_DEVICE typename U::Value fold_lanes(const Op& op, const Row (&rows)[kRows], std::int64_t first, int lane,
                                          int count, C pivot) {
  constexpr bool kFromWord = !is_scarce<U>;
  if constexpr (kFull && kWidth > 1 && kRows == kPerLane && has_lanes<U, Op, C>) {
    C x[kWidth][kPerLane];
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) {
      TALLY_UNROLL
      for (int j = 0; j < kPerLane; ++j) x[k][j] = element<C, kFromWord>(op, rows[j], k);
    }
    return U::lanes(op, x, pivot);
  } else if constexpr (kWidth > 1 && kRows == 1 && has_neighbours<U, Op, C>) {
    C x[kWidth];
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) x[k] = element<C, kFromWord>(op, rows[0], k);
    return U::neighbours(op, x, kFull ? kWidth : count - lane, static_cast<int>(first) + lane, pivot);
  } else {
    typename U::Value v[kWidth];
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) {
      C x[kPerLane] = {};
      TALLY_UNROLL
      for (int j = 0; j < kRows; ++j) x[j] = element<C, kFromWord>(op, rows[j], k);
      v[k] =
          U::template lane<kRows>(op, x, kFull ? kRows : lane_length<kRows>(count - lane - k), first + lane + k, pivot);
    }
    merge_within<U, kWidth, kFull>(op, v);
    return v[0];
  }
}

template <class Op, class T> struct Task {
  using C = Compute<T>;
  using Partial = PartialOf<Op, C>;

  // What every kernel needs comes first: a launch's arguments are fetched line by line.
  const T* x;
  std::int64_t n, lists;
  std::int64_t list_step, step;  // of lists that are evenly apart, and of elements; 0 where a walk has more dims
  Results<Op, T> out;
  Plan plan;
  Partial* partials;
  unsigned* tickets;
  std::uint64_t* mail_words;  // where the blocks of long rows leave their partial results
  Op op;
  Walk<1> kept, reduced;

  TALLY_DEVICE Mail mail(std::int64_t o) const {
    return {mail_words + o * (plan.readers << plan.each_bits) * kMailWords<Partial>, plan.readers, plan.each_bits};
  }
  TALLY_DEVICE const T* list(std::int64_t o) const {
    return x + (list_step != 0 || o == 0 ? o * list_step : offset(kept, o));
  }
  /// The first element: what var measures deviations from. Ops that don't look at it cost no load.
  TALLY_DEVICE C pivot(std::int64_t o) const { return n > 0 ? convert<C>(*list(o)) : C(0); }
  /// Results of list o, whose partial result is finished.
  TALLY_DEVICE void store(std::int64_t o, const Partial& total, C pivot) const {
    out.store(op, o, Fold<Op, C>::get(total), n, pivot);
  }
  TALLY_DEVICE void store(std::int64_t o, const Partial& total) const { store(o, total, pivot(o)); }
};

/// The same, where it does not happen often: one copy of the code.
template <class Op, class T>
TALLY_COLD void store_seldom(const Task<Op, T>& task, std::int64_t o, PartialOf<Op, Compute<T>> total) {
  task.store(o, total);
}

}  // namespace tally::cuda_loops
