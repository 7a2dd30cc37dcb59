// The front end of elementwise ops: dtype, device and shape rules, and the graph.
#include <vector>

#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/core/require.h>
#include <tally/ops/elementwise_record.h>

namespace tally {

Tensor sum_to(const Tensor& x, const Shape& shape, Where where);

namespace detail {
namespace {

/// Whether a gradient is wanted as recorded ops; throws where there are none.
bool wants_recorded(Curvature curvature, const char* name, Where where) {
  if (curvature == Curvature::none || !grad_enabled()) return false;
  if (curvature == Curvature::unknown)
    throw AutogradError(name,
                        "has no second derivative: its struct has to declare `curvature` (ops/WRITING.md); without "
                        "create_graph its first one is found",
                        where);
  return true;
}

/// loop(grad, kept...) as a recorded op: linear in `grad`, constant in what is kept.
template <std::size_t N>
Tensor linear_pull(Loop<N + 1> loop, const KeptOp& op, const char* name, const Tensor& grad,
                   const std::array<Side, N>& kept, Where where) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    Tensor result = empty(grad.shape(), like(grad.dtype(), grad.device()), where);
    loop(op.get(), result, Inputs<N + 1>{grad, kept[K].input()...}, grad.dtype(), name, where);
    const auto backward = [loop, op, name, where, numbers = std::array<Number, N>{kept[K].number...}](
                              const Tensor& grad_of_result, const auto&... tensors) {
      return std::vector{
          linear_pull<N>(loop, op, name, grad_of_result, std::array<Side, N>{Side{tensors, numbers[K]}...}, where)};
    };
    return record(name, {grad}, std::move(result), saving(kept[K].tensor...), backward, where);
  }
  (std::make_index_sequence<N>{});
}

/// The gradient of one side, of the result's shape.
Tensor pull_side(const PartialRule& rule, Curvature curvature, const KeptOp& op, const char* name, const Tensor& grad,
                 const Side& a, const Side& b, Where where) {
  if (rule.constant) {
    if (rule.constant(op.get()) == 1) return grad;
  } else if (wants_recorded(curvature, name, where)) {
    return rule.recorded(op.get(), grad, a, b, where);
  }
  const std::array<Side, 2> read{includes(rule.reads, Reads::a) ? a : Side{},
                                 includes(rule.reads, Reads::b) ? b : Side{}};
  return linear_pull(rule.pull, op, name, grad, read, where);
}

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

Tensor record_map(const MapRule& rule, const char* name, const void* op, const Tensor& input, Where where) {
  const Tensor x = loop_input(name, rule.result, input, where);
  Tensor y = empty(x.shape(), like(rule.result == Result::boolean ? boolean : x.dtype(), x.device()), where);
  rule.forward(op, y, Inputs<1>{x}, x.dtype(), name, where);
  if (!is_floating(y.dtype())) return y;
  const auto backward = [&rule, kept_op = rule.keep && x.requires_grad() ? rule.keep(op) : nullptr, name, where](
                            const Tensor& grad, const Tensor& kept) -> std::vector<Tensor> {
    if (!rule.pull) throw AutogradError(name, "its struct gives no derivative", where);
    if (wants_recorded(rule.curvature, name, where)) return {rule.recorded(kept_op.get(), grad, kept, where)};
    return {linear_pull(rule.pull, kept_op, name, grad, std::array<Side, 1>{Side{kept}}, where)};
  };
  const Saving<1> kept{{rule.from_result ? SavedArgument(output) : SavedArgument(x)}};
  return record(name, {x}, std::move(y), kept, backward, where);
}

Tensor record_zip(const ZipRule& rule, const char* name, const void* op, const Operand& left, const Operand& right,
                  Where where) {
  const Pair pair(name, rule.result, left, right, where);
  Tensor y = empty(pair.shape, like(rule.result == Result::boolean ? boolean : pair.dtype, pair.device), where);
  rule.forward(op, y, Inputs<2>{pair.a.input(), pair.b.input()}, pair.dtype, name, where);
  if (!is_floating(y.dtype())) return y;
  if (!rule.left.pull)
    return record(
        name, {pair.a.tensor, pair.b.tensor}, y,
        [name, where](const Tensor&) -> std::vector<Tensor> {
          throw AutogradError(name, "its struct gives no derivative", where);
        },
        where);
  const bool to_a = pair.a.wants_grad(), to_b = pair.b.wants_grad();
  const auto kept = [&](const Side& side, Reads which) {
    return (to_a && includes(rule.left.reads, which)) || (to_b && includes(rule.right.reads, which)) ? side.tensor
                                                                                                     : Tensor();
  };
  const auto backward = [&rule, kept_op = rule.keep && (to_a || to_b) ? rule.keep(op) : nullptr, name, where, to_a,
                         to_b, number_a = pair.a.number, number_b = pair.b.number,
                         shape_a = to_a ? pair.a.tensor.shape() : Shape(),
                         shape_b = to_b ? pair.b.tensor.shape() : Shape()](const Tensor& grad, const Tensor& kept_a,
                                                                           const Tensor& kept_b) {
    const Side a{kept_a, number_a}, b{kept_b, number_b};
    const auto pull = [&](const PartialRule& side, const Shape& shape) {
      return sum_to(pull_side(side, rule.curvature, kept_op, name, grad, a, b, where), shape, where);
    };
    std::vector<Tensor> grads(2);
    if (to_a) grads[0] = pull(rule.left, shape_a);
    if (to_b) grads[1] = pull(rule.right, shape_b);
    return grads;
  };
  return record(name, {pair.a.tensor, pair.b.tensor}, std::move(y),
                saving(kept(pair.a, Reads::a), kept(pair.b, Reads::b)), backward, where);
}

}  // namespace detail
}  // namespace tally
