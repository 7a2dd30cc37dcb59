// What the plans of the kernels have in common. Inside.
#pragma once

#include <algorithm>
#include <bit>

#include <tally/ops/cuda/reduce_plan.h>
#include <tally/ops/reduction.h>

namespace tally::cuda_loops {

constexpr int kWarp = 32, kThreads = 256, kWarps = kThreads / kWarp;

inline std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }
inline std::int64_t power_of_two(std::int64_t at_least) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(at_least, 1))));
}

// Whether every stride but the innermost is a multiple of `width`.
inline bool outer_strides_fit(const Strided<1>& walk, int width) {
  for (int d = 0; d + 1 < walk.rank; ++d)
    if (walk.strides[0][d] % width != 0) return false;
  return true;
}
inline bool strides_fit(const Strided<1>& walk, int width) {
  return outer_strides_fit(walk, width) && (walk.rank == 0 || walk.inner_stride(0) % width == 0);
}
inline bool address_fits(const Problem& p, int width) {
  return p.address % (p.element_bytes * static_cast<std::size_t>(width)) == 0;
}

// Lists of several dims have kernels for single loads and whole tiles only.
inline bool columns_fit_vectors(const Problem& p) {
  const Strided<1>& kept = p.lists.kept;
  const int width = p.column_width;
  if (p.lists.reduced.rank > 1) return false;
  return address_fits(p, width) && kept.inner_stride(0) == 1 && kept.inner() % width == 0 &&
         outer_strides_fit(kept, width) && strides_fit(p.lists.reduced, width);
}

/// Whether slabs (reduce_slab.cuh) or threads on their own (reduce_straight.cuh, reduce_upright.cuh) can have the
/// lists, and are better at them than columns.
bool prefers_slabs(const Problem& problem, const Limits& limits);
Plan plan_slabs(const Problem& problem, const Limits& limits);
/// Whether the kernel for short rows, a warp a list, is better still.
bool prefers_short_rows(const Problem& problem, const Limits& limits);

}  // namespace tally::cuda_loops
