#include <tally/ops/matmul.h>

#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>
#include <tally/core/require.h>
#include <tally/ops/cpu/matmul.h>
#include <tally/ops/cuda/matmul.h>
#include <tally/ops/reduce.h>
#include <tally/ops/view.h>

namespace tally {
namespace {

Tensor transposed(const Tensor& x, Where where) { return transpose(x, -2, -1, where); }

std::string operands(const Tensor& a, const Tensor& b) { return describe(a) + " and " + describe(b); }

DType common_dtype(const char* op, const Tensor& a, const Tensor& b, Where where) {
  if (a.device() != b.device()) throw DeviceError(op, operands(a, b) + " are on different devices", where);
  const DType dtype = promote(a.dtype(), b.dtype());
  if (!is_floating(dtype)) throw DTypeError(op, operands(a, b) + ": products are of floats; use .to(float32)", where);
  return dtype;
}

Tensor multiplied(const Tensor& a, const Tensor& b, Where where) {
  Shape shape = a.shape();
  shape[shape.size() - 1] = b.size(-1);
  Tensor y = empty(shape, {.dtype = a.dtype(), .device = a.device()}, where);
  on(y.device(), [&](auto backend) { detail::matmul(backend, y, a, b); });
  return y;
}

// [..., m, k] by [..., k, n] with equal leading dims and dtypes. What no gradient needs is neither kept nor computed.
Tensor product(const Tensor& a, const Tensor& b, Where where) {
  const bool a_wanted = a.requires_grad(), b_wanted = b.requires_grad();
  const Tensor none;
  return record(
      "matmul", {a, b}, multiplied(a, b, where), saving(b_wanted ? a : none, a_wanted ? b : none),
      [=](const Tensor& grad, const Tensor& a, const Tensor& b) {
        return std::vector{a_wanted ? product(grad, transposed(b, where), where) : Tensor(),
                           b_wanted ? product(transposed(a, where), grad, where) : Tensor()};
      },
      where);
}

// The leading dims as one, so that a stack of rows is one product.
Tensor as_rows(const Tensor& x, Where where) {
  std::int64_t rows = 1;
  for (int i = 0; i < x.dim() - 1; ++i) rows *= x.shape()[i];
  return reshape(x, {rows, x.size(-1)}, where);
}

Shape with_last(Shape shape, std::int64_t size) {
  shape[shape.size() - 1] = size;
  return shape;
}

// `x` with the leading dims `lead` instead of its own.
Tensor broadcast_stack(const Tensor& x, Shape lead, Where where) {
  lead.push_back(x.size(-2));
  lead.push_back(x.size(-1));
  return broadcast_to(x, lead, where);
}

Shape lead_of(const Tensor& x) { return Shape(x.shape().begin(), static_cast<std::size_t>(x.dim() - 2)); }

Tensor product_of_stacks(const Tensor& a, const Tensor& b, Where where) {
  if (a.size(-1) != b.size(-2))
    throw ShapeError("matmul",
                     operands(a, b) + " do not fit: " + std::to_string(a.size(-1)) + " columns against " +
                         std::to_string(b.size(-2)) + " rows",
                     where);
  if (b.dim() == 2 && a.dim() > 2)
    return reshape(product(as_rows(a, where), b, where), with_last(a.shape(), b.size(-1)), where);
  const Shape lead = broadcast_shapes("matmul", lead_of(a), lead_of(b), where);
  return product(broadcast_stack(a, lead, where), broadcast_stack(b, lead, where), where);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Where where) {
  detail::require_defined("matmul", a, where);
  detail::require_defined("matmul", b, where);
  if (a.dim() == 0 || b.dim() == 0)
    throw ShapeError("matmul", operands(a, b) + ": a 0-d tensor is no matrix; use *", where);
  const DType dtype = common_dtype("matmul", a, b, where);
  Tensor left = a.to(dtype, where), right = b.to(dtype, where);
  if (a.dim() == 1) left = unsqueeze(left, 0, where);
  if (b.dim() == 1) right = unsqueeze(right, 1, where);
  Tensor y = product_of_stacks(left, right, where);
  if (b.dim() == 1) y = squeeze(y, -1, where);
  if (a.dim() == 1) y = squeeze(y, b.dim() == 1 ? -1 : -2, where);
  return y;
}

namespace {

// x [n, in]. One op, so that y is written once more, not read and written by an op of its own.
Tensor linear_of_rows(const Tensor& x, const Tensor& weight, const Tensor& bias, Where where) {
  const Tensor y = no_grad([&] { return multiplied(x, transposed(weight, where), where); });
  if (bias.defined()) raw::add(y, y, no_grad([&] { return broadcast_to(bias, y.shape(), where); }));
  const bool x_wanted = x.requires_grad(), weight_wanted = weight.requires_grad();
  const bool bias_wanted = bias.defined() && bias.requires_grad();
  const Tensor none;
  return record(
      "linear", {x, weight, bias}, y, saving(weight_wanted ? x : none, x_wanted ? weight : none),
      [=](const Tensor& grad, const Tensor& x, const Tensor& weight) {
        return std::vector{x_wanted ? product(grad, weight, where) : Tensor(),
                           weight_wanted ? product(transposed(grad, where), x, where) : Tensor(),
                           bias_wanted ? sum(grad, 0, {}, where) : Tensor()};
      },
      where);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Where where) {
  detail::require_defined("linear", x, where);
  detail::require_defined("linear", weight, where);
  if (x.dim() == 0 || weight.dim() != 2 || x.size(-1) != weight.size(1))
    throw ShapeError("linear",
                     "input " + describe(x) + " does not fit weight " + describe(weight) +
                         (x.dim() > 0 && weight.dim() == 2 ? ": it takes " + std::to_string(weight.size(1)) +
                                                                 " features, not " + std::to_string(x.size(-1))
                                                           : ""),
                     where);
  if (bias.defined() && bias.shape() != Shape{weight.size(0)})
    throw ShapeError("linear", "bias " + describe(bias) + " does not fit weight " + describe(weight), where);
  const DType dtype = common_dtype("linear", x, weight, where);
  if (bias.defined()) common_dtype("linear", weight, bias, where);
  const Tensor y = linear_of_rows(as_rows(x.to(dtype, where), where), weight.to(dtype, where),
                                  bias.defined() ? bias.to(dtype, where) : bias, where);
  return reshape(y, with_last(x.shape(), weight.size(0)), where);
}

}  // namespace tally
