// The same values in many layouts: what a result must not depend on. Made from storage and strides alone, so that they
// do not trust the views under test.
#pragma once

#include <string>
#include <vector>

#include <tally/core/raw.h>
#include <tally/core/tensor.h>

namespace tally::test {

struct Layout {
  std::string name;
  Tensor tensor;
};

/// The elements of `x` at `strides` from `offset` in a storage of `room` elements, all others filled with NaN (or 77).
inline Tensor placed(const Tensor& x, const Shape& strides, std::int64_t offset, std::int64_t room) {
  Tensor ground = empty({room}, {.dtype = x.dtype(), .device = x.device()});
  if (is_floating(x.dtype()))
    raw::fill(ground, __builtin_nan(""));
  else
    raw::fill(ground, 77);
  Tensor view(ground.storage(), offset, x.shape(), strides, x.dtype());
  raw::copy(view, x);
  return view;
}

inline Layout contiguous(const Tensor& x) {
  return {"contiguous", placed(x, contiguous_strides(x.shape()), 0, x.numel())};
}
/// First dim fastest.
inline Layout transposed(const Tensor& x) {
  Shape strides = x.shape();
  std::int64_t step = 1;
  for (int d = 0; d < x.dim(); step *= x.shape()[d], ++d) strides[d] = step;
  return {"transposed", placed(x, strides, 0, x.numel())};
}
/// Every third element of the last dim, with room behind every row.
inline Layout sliced(const Tensor& x) {
  Shape wide = x.shape();
  if (wide.size() > 0) wide[wide.size() - 1] = 3 * wide[wide.size() - 1] + 2;
  Shape strides = contiguous_strides(wide);
  if (wide.size() > 0) strides[wide.size() - 1] = 3;
  return {"sliced", placed(x, strides, 1, wide.numel() + 1)};
}
/// Dense, but the first element is not on a vector's boundary.
inline Layout misaligned(const Tensor& x) {
  return {"misaligned", placed(x, contiguous_strides(x.shape()), 1, x.numel() + 1)};
}

/// All of the above.
inline std::vector<Layout> layouts(const Tensor& x) { return {contiguous(x), transposed(x), sliced(x), misaligned(x)}; }

/// `x` repeated `count` times along a new dim in front, with stride 0.
inline Tensor repeated(const Tensor& x, std::int64_t count) {
  Shape shape = x.shape(), strides = x.strides();
  shape.insert(0, count);
  strides.insert(0, 0);
  return Tensor(x.storage(), x.offset(), shape, strides, x.dtype());
}

}  // namespace tally::test
