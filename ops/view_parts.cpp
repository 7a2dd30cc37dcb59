// The views that show a part of a tensor.
#include <tally/ops/view.h>

#include <algorithm>

#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>
#include <tally/core/require.h>

namespace tally {
namespace {

Tensor view(const Tensor& x, const Shape& shape, const Shape& strides, std::int64_t shift) {
  return Tensor(x.storage(), x.offset() + shift, shape, strides, x.dtype());
}

// A view that shows a part. `part` makes it of any tensor of x's shape. Back, the gradient is laid into zeros at the
// same part, and forward again for second derivatives.
template <class Part>
Tensor lay_into_zeros(const char* op, const Tensor& grad, const Shape& shape, Part part, Where where);

template <class Part> Tensor take_part(const char* op, const Tensor& x, Part part, Where where) {
  return record(
      op, {x}, part(x),
      [=, shape = x.shape()](const Tensor& grad) { return std::vector{lay_into_zeros(op, grad, shape, part, where)}; },
      where);
}

template <class Part>
Tensor lay_into_zeros(const char* op, const Tensor& grad, const Shape& shape, Part part, Where where) {
  Tensor whole = zeros(shape, {.dtype = grad.dtype(), .device = grad.device()});
  raw::copy(part(whole), grad);
  return record(
      op, {grad}, whole, [=](const Tensor& g) { return std::vector{take_part(op, g, part, where)}; }, where);
}

std::string of(const Tensor& x) { return " of " + describe(x); }

// `length` positions of `dim`, from `start` by `step`. The caller has checked.
Tensor positions(const char* op, const Tensor& x, int dim, std::int64_t start, std::int64_t length, std::int64_t step,
                 Where where) {
  const auto part = [=](const Tensor& whole) {
    Shape shape = whole.shape(), strides = whole.strides();
    shape[dim] = length;
    strides[dim] *= step;
    return view(whole, shape, strides, start * whole.strides()[dim]);
  };
  return take_part(op, x, part, where);
}

// A dim of a tensor that must have one.
int dim_of(const char* op, const Tensor& x, std::int64_t dim, Where where) {
  detail::require_defined(op, x, where);
  if (x.dim() == 0) throw ShapeError(op, describe(x) + " has no dims", where);
  return normalize_dim(op, dim, x.dim(), where);
}

}  // namespace

Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t length, Where where) {
  const int d = dim_of("narrow", x, dim, where);
  const std::int64_t size = x.shape()[d], first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || first > size || length > size - first)
    throw IndexError("narrow",
                     std::to_string(length) + " positions from " + std::to_string(start) + " are not in dim " +
                         std::to_string(dim) + of(x),
                     where);
  return positions("narrow", x, d, first, length, 1, where);
}

Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step, Where where) {
  const int d = dim_of("slice", x, dim, where);
  if (step <= 0)
    throw ValueError("slice", "step " + std::to_string(step) + " is not positive; a view does not run backwards",
                     where);
  const std::int64_t size = x.shape()[d];
  const auto place = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size); };
  const std::int64_t first = place(start), length = std::max<std::int64_t>(place(stop) - first, 0);
  return positions("slice", x, d, first, length / step + (length % step != 0), length > step ? step : 1, where);
}

Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index, Where where) {
  const int d = dim_of("select", x, dim, where);
  const std::int64_t size = x.shape()[d];
  if (index < -size || index >= size)
    throw IndexError(
        "select", "index " + std::to_string(index) + " is out of range for dim " + std::to_string(dim) + of(x), where);
  const std::int64_t at = index < 0 ? index + size : index;
  const auto part = [=](const Tensor& whole) {
    Shape shape = whole.shape(), strides = whole.strides();
    shape.erase(d);
    strides.erase(d);
    return view(whole, shape, strides, at * whole.strides()[d]);
  };
  return take_part("select", x, part, where);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, std::int64_t dim, Where where) {
  const int d = dim_of("split", x, dim, where);
  std::int64_t total = 0;
  for (std::int64_t size : sizes)
    if (size < 0 || __builtin_add_overflow(total, size, &total)) total = -1;
  if (total != x.shape()[d])
    throw ShapeError(
        "split", "the " + std::to_string(sizes.size()) + " sizes do not add up to dim " + std::to_string(dim) + of(x),
        where);
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t size : sizes) {
    parts.push_back(positions("split", x, d, start, size, 1, where));
    start += size;
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dim, Where where) {
  const int d = dim_of("split", x, dim, where);
  if (size <= 0) throw ValueError("split", "parts of size " + std::to_string(size), where);
  std::vector<Tensor> parts;
  const std::int64_t total = x.shape()[d];
  for (std::int64_t start = 0; start < total || parts.empty(); start += size)
    parts.push_back(positions("split", x, d, start, std::min(size, total - start), 1, where));
  return parts;
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim, Where where) {
  const int d = dim_of("chunk", x, dim, where);
  if (chunks <= 0) throw ValueError("chunk", std::to_string(chunks) + " chunks", where);
  const std::int64_t size = x.shape()[d] / chunks + (x.shape()[d] % chunks != 0);
  return split(x, std::max<std::int64_t>(size, 1), dim, where);
}

Tensor diagonal(const Tensor& x, std::int64_t offset, std::int64_t a, std::int64_t b, Where where) {
  const int i = dim_of("diagonal", x, a, where), j = dim_of("diagonal", x, b, where);
  if (i == j) throw ShapeError("diagonal", "dim " + std::to_string(a) + " is listed twice", where);
  const std::int64_t row = offset < 0 ? -std::max(offset, -to_end) : 0, column = std::max<std::int64_t>(offset, 0);
  const std::int64_t length = std::max<std::int64_t>(std::min(x.shape()[i] - row, x.shape()[j] - column), 0);
  const auto part = [=](const Tensor& whole) {
    Shape shape = whole.shape(), strides = whole.strides();
    for (int d : {std::max(i, j), std::min(i, j)}) {
      shape.erase(d);
      strides.erase(d);
    }
    shape.push_back(length);
    strides.push_back(whole.strides()[i] + whole.strides()[j]);
    const std::int64_t shift = length ? row * whole.strides()[i] + column * whole.strides()[j] : 0;
    return view(whole, shape, strides, shift);
  };
  return take_part("diagonal", x, part, where);
}

}  // namespace tally
