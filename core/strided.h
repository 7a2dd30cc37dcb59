// How several strided tensors of one shape are walked together: dims of size 1 dropped, neighbours merged where every
// operand allows it. Row-major order is kept, so element i is the same for every layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tally/core/hd.h>
#include <tally/core/shape.h>

namespace tally {

/// N operands. Plain data, so a kernel takes it by value. Strides in elements.
template <int N> struct Strided {
  static constexpr std::size_t kOperands = N;

  int rank = 0;  // after merging; 0 for one element
  std::int64_t count = 1;
  std::int64_t sizes[kMaxDims] = {};
  std::int64_t strides[kOperands][kMaxDims] = {};

  Strided() = default;
  Strided(const Shape& shape, const std::array<const Shape*, kOperands>& operand_strides) {
    for (int d = 0; d < shape.size(); ++d) {
      count *= shape[d];
      if (shape[d] == 1) continue;
      bool merges = rank > 0;
      for (int k = 0; merges && k < N; ++k) merges = strides[k][rank - 1] == (*operand_strides[k])[d] * shape[d];
      if (merges)
        sizes[rank - 1] *= shape[d];
      else
        sizes[rank++] = shape[d];
      for (int k = 0; k < N; ++k) strides[k][rank - 1] = (*operand_strides[k])[d];
    }
  }

  /// Offsets of element i of the row-major order.
  TALLY_HD void offsets(std::int64_t i, std::int64_t (&offset)[kOperands]) const {
    for (int k = 0; k < N; ++k) offset[k] = 0;
    for (int d = rank - 1; d > 0; --d) {
      const std::int64_t next = i / sizes[d];
      for (int k = 0; k < N; ++k) offset[k] += (i - next * sizes[d]) * strides[k][d];
      i = next;
    }
    if (rank > 0)
      for (int k = 0; k < N; ++k) offset[k] += i * strides[k][0];
  }

  /// Length and stride of the innermost run, within which an operand steps evenly.
  TALLY_HD std::int64_t inner() const { return rank ? sizes[rank - 1] : 1; }
  TALLY_HD std::int64_t inner_stride(int operand) const { return rank ? strides[operand][rank - 1] : 0; }
  /// Whether every operand is one dense run.
  bool is_dense() const {
    if (rank > 1) return false;
    for (int k = 0; k < N; ++k)
      if (rank == 1 && strides[k][0] != 1) return false;
    return true;
  }
};

/// Calls f(offsets, length) for the runs that make up elements [begin, end), in order. Within one, operand k steps by
/// inner_stride(k).
template <int N, class F> void for_each_run(const Strided<N>& walk, std::int64_t begin, std::int64_t end, F&& f) {
  const std::int64_t inner = walk.inner();
  while (begin < end) {
    std::int64_t offset[Strided<N>::kOperands];
    walk.offsets(begin, offset);
    const std::int64_t left = inner - begin % inner;
    const std::int64_t length = left < end - begin ? left : end - begin;
    f(offset, length);
    begin += length;
  }
}

}  // namespace tally
