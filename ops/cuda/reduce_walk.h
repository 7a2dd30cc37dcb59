// A strided walk as a kernel takes it: no division by a number that the host knows.
#pragma once

#include <cstdint>

#include <tally/core/hd.h>
#include <tally/core/strided.h>

namespace tally::cuda_loops {

/// i / divisor as one multiplication (Granlund and Montgomery 1994) while both are below 2^31; plain beyond.
struct Divider {
  std::int64_t divisor = 1;
  std::uint32_t factor = 1, shift = 0;

  Divider() = default;
  explicit Divider(std::int64_t d) : divisor(d) {
    if (d < 1 || d >> 31) return;
    while ((std::int64_t{1} << shift) < d) ++shift;
    factor = static_cast<std::uint32_t>((((std::uint64_t{1} << shift) - static_cast<std::uint64_t>(d)) << 32) /
                                        static_cast<std::uint64_t>(d)) +
             1;
  }
  TALLY_HD bool is_small(std::int64_t i) const { return ((i | divisor) >> 31) == 0; }
  /// Where is_small.
  TALLY_HD std::uint32_t divide_small(std::uint32_t i) const {
    return (static_cast<std::uint32_t>((std::uint64_t{i} * factor) >> 32) + i) >> shift;
  }
  TALLY_HD std::int64_t operator()(std::int64_t i) const {
    return is_small(i) ? divide_small(static_cast<std::uint32_t>(i)) : i / divisor;
  }
};

/// Strided<N> with dim 0 the innermost one. A single element is a walk of one dim.
template <int N> struct Walk {
  int rank = 1;
  Divider sizes[kMaxDims];
  std::int64_t strides[N][kMaxDims] = {};

  Walk() = default;
  explicit Walk(const Strided<N>& walk) : rank(walk.rank > 0 ? walk.rank : 1) {
    for (int d = 0; d < walk.rank; ++d) {
      sizes[d] = Divider(walk.sizes[walk.rank - 1 - d]);
      for (int k = 0; k < N; ++k) strides[k][d] = walk.strides[k][walk.rank - 1 - d];
    }
  }

  /// Whether the offsets of elements before the n-th take one short division.
  TALLY_HD bool is_near(std::int64_t n) const { return rank == 2 && sizes[0].is_small(n); }

  TALLY_HD void offsets(std::int64_t i, std::int64_t (&offset)[N]) const {
    for (int k = 0; k < N; ++k) offset[k] = 0;
    int d = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (; d + 1 < rank; ++d) {
      const std::int64_t next = sizes[d](i), here = i - next * sizes[d].divisor;
      for (int k = 0; k < N; ++k) offset[k] += here * strides[k][d];
      i = next;
    }
    for (int k = 0; k < N; ++k) offset[k] += i * strides[k][d];
  }
};

}  // namespace tally::cuda_loops
