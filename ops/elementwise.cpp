// The dtype, device and shape rules of elementwise ops.
#include <tally/core/error.h>
#include <tally/core/require.h>
#include <tally/ops/elementwise_record.h>

namespace tally::detail {
namespace {

bool fits(Number number, DType dtype) {
  return visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return static_cast<std::int64_t>(static_cast<T>(number.as<std::int64_t>())) == number.as<std::int64_t>();
    else
      return true;
  });
}

/// The dtype of a tensor beside a number: the tensor's, unless the number is of a higher kind.
DType beside_number(DType tensor, Number number) {
  if (is_floating(tensor)) return tensor;
  if (number.is_real()) return float32;
  return tensor == boolean && number.kind() == Number::Kind::integer ? int64 : tensor;
}

}  // namespace

void throw_once_differentiable(const char* name, Where where) {
  throw AutogradError(name, "has no second derivative; without create_graph its first one is found", where);
}
void throw_no_derivative(const char* name, Where where) {
  throw AutogradError(name, "its struct gives no derivative", where);
}
void throw_host_only(const char* name, Where where) {
  throw DeviceError(name, "this loop was compiled for the CPU; move the call into a .cu file to run it on cuda", where);
}

Shape broadcast_strides(const Tensor& tensor, const Shape& shape) {
  Shape strides = shape;
  const int lead = shape.size() - tensor.dim();
  for (int d = 0; d < shape.size(); ++d)
    strides[d] = d < lead || (tensor.shape()[d - lead] == 1 && shape[d] != 1) ? 0 : tensor.strides()[d - lead];
  return strides;
}

Tensor loop_input(const char* name, Result result, const Tensor& x, Where where) {
  require_defined(name, x, where);
  return result == Result::real && !is_floating(x.dtype()) ? x.to(float32, where) : x;
}

Pair::Pair(const char* name, Result result, const Operand& left, const Operand& right, Where where) {
  if (!left.is_tensor() && !right.is_tensor()) throw ShapeError(name, "two numbers and no tensor", where);
  for (const Operand* side : {&left, &right})
    if (side->is_tensor()) require_defined(name, side->tensor(), where);
  const Tensor& first = left.is_tensor() ? left.tensor() : right.tensor();
  device = first.device();
  shape = first.shape();
  dtype = first.dtype();
  if (left.is_tensor() && right.is_tensor()) {
    const Tensor& second = right.tensor();
    if (second.device() != device)
      throw DeviceError(name, describe(first) + " with " + describe(second) + "; move one with .to(device)", where);
    shape = broadcast_shapes(name, shape, second.shape(), where);
    dtype = promote(dtype, second.dtype());
  } else {
    const Number number = left.is_tensor() ? right.number() : left.number();
    dtype = beside_number(dtype, number);
    if (!fits(number, dtype))
      throw ValueError(name, std::to_string(number.as<std::int64_t>()) + " does not fit " + describe(first), where);
  }
  if (result == Result::real && !is_floating(dtype)) dtype = float32;
  const auto side = [&](const Operand& operand) {
    return operand.is_tensor() ? Side{operand.tensor().to(dtype, where), 0} : Side{{}, operand.number()};
  };
  a = side(left);
  b = side(right);
}

}  // namespace tally::detail
