// Views: other shapes and parts of a tensor's memory. A view shares memory and version with its tensor; its gradient
// goes back to the elements it shows. Dims count from the end where negative.
//
// Errors: IndexError for a dim or position out of range, ShapeError for sizes that do not fit.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <tally/core/dims.h>
#include <tally/core/tensor.h>

namespace tally {

/// The elements in row-major order under another shape; one size may be -1 and is inferred. A view where the strides
/// allow it, else a copy.
Tensor reshape(const Tensor& x, const Shape& shape, Where where = Where::here());
/// Dims `start` to `end`, both included, as one; a 0-d tensor becomes 1-d.
Tensor flatten(const Tensor& x, std::int64_t start = 0, std::int64_t end = -1, Where where = Where::here());

/// Dim i of the result is dim dims[i] of `x`; every dim is listed once.
Tensor permute(const Tensor& x, const Dims& dims, Where where = Where::here());
/// Dims `a` and `b` exchanged.
Tensor transpose(const Tensor& x, std::int64_t a, std::int64_t b, Where where = Where::here());
/// The transpose of a matrix; a tensor of fewer dims stays as it is.
Tensor t(const Tensor& x, Where where = Where::here());

/// A dim of size 1 before `dim` (-1: at the end).
Tensor unsqueeze(const Tensor& x, std::int64_t dim, Where where = Where::here());
/// Without the dims of size 1 among `dims` (none: among all); the others stay.
Tensor squeeze(const Tensor& x, const Dims& dims = {}, Where where = Where::here());

/// Dims of size 1 repeated to `shape`, aligned at the last dim, with stride 0: nothing is copied. -1 keeps a size.
Tensor expand(const Tensor& x, const Shape& shape, Where where = Where::here());
Tensor expand_as(const Tensor& x, const Tensor& other, Where where = Where::here());
/// expand without -1: `shape` is the result's.
Tensor broadcast_to(const Tensor& x, const Shape& shape, Where where = Where::here());

/// `length` positions of `dim` from `start` on.
Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t length, Where where = Where::here());

/// As `stop` of slice: the dim's end.
inline constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();
/// Every `step`-th position of `dim` from `start` up to, not including, `stop`. As in Python, negative positions count
/// from the end and the range is cut to the dim. ValueError unless step > 0: strides are not negative.
Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t stop = to_end, std::int64_t step = 1,
             Where where = Where::here());
/// Position `index` of `dim`, without that dim.
Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index, Where where = Where::here());

/// Neighbouring parts along `dim`: of `size` each (the last may be smaller), or of the given sizes.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dim = 0, Where where = Where::here());
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, std::int64_t dim = 0,
                          Where where = Where::here());
/// At most `chunks` parts of equal size (the last may be smaller).
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim = 0, Where where = Where::here());

/// The elements whose index in `b` is `offset` more than in `a`, as a last dim.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, std::int64_t a = 0, std::int64_t b = 1,
                Where where = Where::here());

}  // namespace tally
