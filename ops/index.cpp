#include <tally/ops/index.h>

#include <tally/autograd/record.h>
#include <tally/core/dims.h>
#include <tally/core/error.h>
#include <tally/core/require.h>
#include <tally/ops/cpu/index.h>
#include <tally/ops/cuda/index.h>
#include <tally/ops/view.h>

namespace tally {
namespace {

void check_positions(const char* op, const Tensor& x, const Tensor& index, Where where) {
  detail::require_defined(op, x, where);
  detail::require_defined(op, index, where);
  if (index.dtype() != int64)
    throw DTypeError(op, "positions are int64, not " + describe(index) + "; use .to(int64)", where);
  if (index.device() != x.device())
    throw DeviceError(op, describe(x) + " and positions " + describe(index) + " are on different devices", where);
}

// The positions over `shape`: a list of them holds for every other place.
Tensor spread(const Tensor& index, const Shape& shape, int dim) {
  if (index.dim() == shape.size()) return index;
  Shape strides = shape;
  for (int i = 0; i < strides.size(); ++i) strides[i] = i == dim;
  return Tensor(index.storage(), index.offset(), shape, strides, index.dtype());
}

Tensor spread_back(const char* op, const Tensor& grad, const Tensor& index, int dim, std::int64_t size, Where where);

// `index` is dense: a list, or of x's shape but for `dim`.
Tensor pick(const char* op, const Tensor& x, const Tensor& index, int dim, Where where) {
  Shape shape = x.shape();
  shape[dim] = index.dim() == x.dim() ? index.shape()[dim] : index.numel();
  const Tensor y = empty(shape, {.dtype = x.dtype(), .device = x.device()}, where);
  on(x.device(), [&](auto backend) { detail::gather(backend, op, y, x, spread(index, shape, dim), dim, where); });
  return record(
      op, {x}, y, saving(index),
      [=, size = x.shape()[dim]](const Tensor& grad, const Tensor& index) {
        return std::vector{spread_back(op, grad, index, dim, size, where)};
      },
      where);
}

// The gradient of `pick`, which is linear: its own gradient is `pick` again.
Tensor spread_back(const char* op, const Tensor& grad, const Tensor& index, int dim, std::int64_t size, Where where) {
  Shape shape = grad.shape();
  shape[dim] = size;
  const Tensor x = zeros(shape, {.dtype = grad.dtype(), .device = grad.device()}, where);
  const Tensor dense = grad.contiguous(where);
  on(x.device(), [&](auto backend) { detail::scatter_add(backend, x, dense, spread(index, grad.shape(), dim), dim); });
  return record(
      op, {grad}, x, saving(index),
      [=](const Tensor& g, const Tensor& index) { return std::vector{pick(op, g, index, dim, where)}; }, where);
}

}  // namespace

Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index, Where where) {
  check_positions("index_select", x, index, where);
  if (x.dim() == 0) throw ShapeError("index_select", describe(x) + " has no dims", where);
  const int d = normalize_dim("index_select", dim, x.dim(), where);
  Shape shape = x.shape();
  shape.erase(d);
  for (int i = 0; i < index.dim(); ++i) shape.insert(d + i, index.shape()[i]);
  const Tensor list = no_grad([&] { return flatten(index.contiguous(where), 0, -1, where); });
  return reshape(pick("index_select", x, list, d, where), shape, where);
}

Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index, Where where) {
  check_positions("gather", x, index, where);
  if (x.dim() == 0 || index.dim() == 0) {  // a 0-d tensor counts as a vector of one
    const auto vector = [&](const Tensor& t) { return t.dim() == 0 ? reshape(t, {1}, where) : t; };
    return reshape(gather(vector(x), dim, vector(index), where), index.shape(), where);
  }
  if (index.dim() != x.dim())
    throw ShapeError("gather", "positions " + describe(index) + " have not the dims of " + describe(x), where);
  const int d = normalize_dim("gather", dim, x.dim(), where);
  Tensor within = x;
  for (int i = 0; i < x.dim(); ++i) {
    if (i == d || index.shape()[i] == x.shape()[i]) continue;
    if (index.shape()[i] > x.shape()[i])
      throw ShapeError(
          "gather", "positions " + describe(index) + " are larger than " + describe(x) + " in dim " + std::to_string(i),
          where);
    within = narrow(within, i, 0, index.shape()[i], where);
  }
  return pick("gather", within, index.contiguous(where), d, where);
}

Tensor one_hot(const Tensor& labels, std::int64_t classes, DType dtype, Where where) {
  check_positions("one_hot", labels, labels, where);
  if (classes < 0) throw ValueError("one_hot", std::to_string(classes) + " classes", where);
  Shape shape = labels.shape();
  shape.push_back(classes);
  const Tensor y = zeros(shape, {.dtype = dtype, .device = labels.device()}, where);
  const Tensor dense = labels.contiguous(where);
  on(y.device(), [&](auto backend) { detail::mark(backend, "one_hot", y, dense, where); });
  return y;
}

}  // namespace tally
