// Scans: running results along one dim of any strided view, on both devices, with gradients that can be derived again.
//
// The order, which makes the bits depend on the values alone and those of an element on what comes before it alone:
//   1. a tile is 1024 consecutive elements of the list, a chunk of it 8 consecutive elements;
//   2. a chunk runs from left to right;
//   3. the last elements of the tile's 128 chunks are scanned by doubling: e[c] = combine(e[c - d], e[c]) for all c >=
//   d
//      at once (Hillis, Steele: Data Parallel Algorithms, 1986), d = 1, 2, 4, ..., 64; then each chunk but the first is
//      combined with e of the chunk before;
//   4. the last elements of the tiles are scanned by 1 to 4 as a list of their own; then each tile but the first is
//      combined with that of the tile before.
// A combination has the earlier operand on its left. A sum of n elements is off by at most k·u·Σ|x|, with
// k = 15 + 15·(levels of tiles above the first).
//
// float16 and bfloat16 are computed in float32 and rounded once. Errors: IndexError for a dim out of range, DTypeError.
#pragma once

#include <tally/core/tensor.h>

namespace tally {

/// Running sum. Integers and bool give int64.
Tensor cumsum(const Tensor& x, std::int64_t dim, Where where = Where::here());
/// The same of x.to(dtype), as `dtype`.
Tensor cumsum(const Tensor& x, std::int64_t dim, DType dtype, Where where = Where::here());

/// Running product, with unbounded exponent in between. Integers and bool give int64 (wrapping). The gradient has no
/// division and is exact at zeros; it is not scaled, so where a product of the first elements underflows or one of the
/// rest overflows, so does the gradient.
Tensor cumprod(const Tensor& x, std::int64_t dim, Where where = Where::here());
Tensor cumprod(const Tensor& x, std::int64_t dim, DType dtype, Where where = Where::here());

/// log of the running sum of exp(x), the maximum so far taken out. +inf and -inf as in logsumexp. Floating only.
Tensor logcumsumexp(const Tensor& x, std::int64_t dim, Where where = Where::here());

/// y[i] = b[i] + a[i]·y[i - 1], y[-1] = 0: discounted sums and the gradients of scans. The composed maps have unbounded
/// exponent. Floating; `a` and `b` of one shape and dtype.
Tensor recurrence(const Tensor& a, const Tensor& b, std::int64_t dim, Where where = Where::here());

}  // namespace tally
