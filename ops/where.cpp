#include <tally/ops/where.h>

#include <tally/autograd/record.h>
#include <tally/core/require.h>
#include <tally/ops/binary_ops.h>
#include <tally/ops/library_loops.h>
#include <tally/ops/reduce.h>

namespace tally {

Tensor where(const Tensor& condition, const Operand& left, const Operand& right, Where where) {
  if (!left.is_tensor() && !right.is_tensor())
    throw ShapeError("where", "two numbers have no dtype to take; give one as a tensor", where);
  const detail::Pair pair("where", Result::same, left, right, where);
  detail::require_defined("where", condition, where);
  if (condition.device() != pair.device)
    throw DeviceError("where", "condition " + describe(condition) + ", choices on " + name_of(pair.device), where);
  const Shape shape = broadcast_shapes("where", condition.shape(), pair.shape, where);
  const Tensor mask = condition.to(boolean, where);
  Tensor y = empty(shape, detail::like(pair.dtype, pair.device), where);
  detail::LibraryLoops::run(detail::Forward<ops::Choose>{}, y, detail::Inputs<3>{mask, pair.a.input(), pair.b.input()},
                            pair.dtype, "where", where);
  const bool to_a = pair.a.wants_grad(), to_b = pair.b.wants_grad();
  return record(
      "where", {pair.a.tensor, pair.b.tensor}, y, saving(mask),
      [to_a, to_b, shape_a = to_a ? pair.a.tensor.shape() : Shape(), shape_b = to_b ? pair.b.tensor.shape() : Shape(),
       where](const Tensor& grad, const Tensor& mask) {
        std::vector<Tensor> grads(2);
        if (to_a) grads[0] = sum_to(tally::where(mask, grad, 0, where), shape_a, where);
        if (to_b) grads[1] = sum_to(tally::where(mask, 0, grad, where), shape_b, where);
        return grads;
      },
      where);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value, Where where) {
  detail::require_defined("masked_fill", x, where);
  detail::require_defined("masked_fill", mask, where);
  if (broadcast_shapes("masked_fill", mask.shape(), x.shape(), where) != x.shape())
    throw ShapeError("masked_fill", "mask " + describe(mask) + " does not broadcast to " + describe(x), where);
  return tally::where(mask, value, x, where);
}

}  // namespace tally
