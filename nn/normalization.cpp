#include <tally/nn/normalization.h>

#include <tally/autograd/backward.h>
#include <tally/autograd/record.h>
#include <tally/core/dims.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/row_backend.h>
#include <tally/ops/unary.h>

namespace tally {
namespace {

bool ends_with(const Shape& shape, const Shape& end) {
  const int lead = shape.size() - end.size();
  if (lead < 0) return false;
  for (int d = 0; d < end.size(); ++d)
    if (shape[lead + d] != end[d]) return false;
  return true;
}

/// The last dims, after all checks.
Dims normalized_dims(const char* op, const Tensor& x, const Shape& normalized, const Tensor& weight, const Tensor& bias,
                     Where where) {
  if (!is_floating(x.dtype())) throw DTypeError(op, describe(x) + " is not floating; use .to(float32)", where);
  if (normalized.empty() || !ends_with(x.shape(), normalized))
    throw ShapeError(op, describe(x) + " does not end with the normalised shape " + to_string(normalized), where);
  for (const Tensor& scale : {weight, bias})
    if (scale.defined() && scale.shape() != normalized)
      throw ShapeError(op, describe(scale) + " has not the normalised shape " + to_string(normalized), where);
  std::vector<std::int64_t> dims;
  for (int d = x.dim() - normalized.size(); d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

DType compute_dtype(const Tensor& x) { return x.dtype() == float64 ? float64 : float32; }

Tensor scaled(Tensor y, const Tensor& weight, const Tensor& bias, DType result, Where where) {
  if (weight.defined()) y = y * weight;
  if (bias.defined()) y = y + bias;
  return y.to(result, where);
}

/// out = op of rows, by one kernel; false where there is none for them.
bool by_rows(const RowOp& op, const RowCall& call) {
  return on(call.out.device(), [&](auto backend) { return map_rows(backend, op, call); });
}

/// layer_norm of ops that are recorded one by one.
Tensor composed_layer_norm(const Tensor& x, const Dims& dims, const Tensor& weight, const Tensor& bias, double eps,
                           Where where) {
  const Tensor input = x.to(compute_dtype(x), where);
  const VarAndMean moments = var_mean(input, dims, population, keepdim, where);
  const Tensor rstd = rsqrt(moments.var + eps, where);
  return scaled((input - moments.mean) * rstd, weight, bias, x.dtype(), where);
}

/// layer_norm by one kernel each way, undefined where the device takes no such rows. The CPU's gradient is composed.
Tensor layer_norm_by_rows(const Tensor& x, const Dims& dims, Tensor weight, Tensor bias, double eps, Where where) {
  if (x.numel() == 0) return {};
  const auto differentiable = [](const Tensor& t) { return t.defined() && t.requires_grad(); };
  if (x.device() == Device::cpu && grad_enabled() &&
      (differentiable(x) || differentiable(weight) || differentiable(bias)))
    return {};
  const DType computed = compute_dtype(x);
  for (Tensor* column : {&weight, &bias}) {
    if (!column->defined()) continue;
    if (column->device() != x.device() || !is_floating(column->dtype()) || size_of(column->dtype()) > size_of(computed))
      return {};
    *column = column->to(computed, where);
  }
  const Shape kept_shape = plan_reduction("layer_norm", x, dims, keepdim, where).kept_shape;
  const std::optional<RowShape> shape = rows_of({x}, kept_shape);
  if (!shape) return {};

  const bool to_x = grad_enabled() && x.requires_grad(), to_weight = weight.defined() && weight.requires_grad();
  const bool to_bias = bias.defined() && bias.requires_grad();
  const Options here{.dtype = x.dtype(), .device = x.device()}, bytes{.dtype = uint8, .device = x.device()};
  const auto rows_bytes = [&] {
    const std::size_t each = computed == float64 ? sizeof(Var::Moments<double>) : sizeof(Var::Moments<float>);
    return shape->rows * static_cast<std::int64_t>(each);
  };
  const RowCall call{.inputs = {x.detach()},
                     .out = empty(x.shape(), here, where),
                     .shape = *shape,
                     .weight = weight.defined() ? weight.detach().contiguous(where) : Tensor(),
                     .bias = bias.defined() ? bias.detach().contiguous(where) : Tensor(),
                     .accumulators = to_x ? empty({rows_bytes()}, bytes, where) : Tensor()};
  if (!by_rows(rows::LayerNorm{eps, weight.defined(), bias.defined()}, call)) return {};

  const auto backward = [dims, eps, shape = *shape, to_x, to_weight, to_bias](
                            const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& accumulators) {
    const DType computed = compute_dtype(x);
    std::vector<Tensor> grads(3);
    if (to_x && grad_enabled()) {
      // For create_graph: the gradient that the CPU records.
      const Tensor y = composed_layer_norm(x, dims, weight, {}, eps, Where::here());
      grads[0] = tally::grad({y}, {x}, {grad}, {.create_graph = true})[0];
    }
    if (to_x && !grad_enabled()) {
      grads[0] = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
      by_rows(
          rows::LayerNormBackward{eps, weight.defined()},
          {{x, grad.contiguous()}, grads[0], shape, weight.defined() ? weight.contiguous() : weight, {}, accumulators});
    }
    Shape normalized;
    for (int d = x.dim() - dims.size(); d < x.dim(); ++d) normalized.push_back(x.shape()[d]);
    const Tensor upstream = grad.to(computed);
    if (to_weight) grads[1] = sum_to(upstream * layer_norm(x.to(computed), normalized, {.eps = eps}), normalized);
    if (to_bias) grads[2] = sum_to(upstream, normalized);
    return grads;
  };
  return record("layer_norm", {x, weight, bias}, call.out, saving(x, weight, call.accumulators), backward, where);
}

double machine_epsilon(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-52;
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Shape& normalized, const LayerNormOptions& options, Where where) {
  const Dims dims = normalized_dims("layer_norm", x, normalized, options.weight, options.bias, where);
  if (const Tensor y = layer_norm_by_rows(x, dims, options.weight, options.bias, options.eps, where); y.defined())
    return y;
  return composed_layer_norm(x, dims, options.weight, options.bias, options.eps, where);
}

Tensor rms_norm(const Tensor& x, const Shape& normalized, const RmsNormOptions& options, Where where) {
  const Dims dims = normalized_dims("rms_norm", x, normalized, options.weight, {}, where);
  const Tensor input = x.to(compute_dtype(x), where);
  const Tensor power = mean(square(input, where), dims, keepdim, where);
  const Tensor rstd = rsqrt(power + options.eps.value_or(machine_epsilon(x.dtype())), where);
  return scaled(input * rstd, options.weight, {}, x.dtype(), where);
}

}  // namespace tally
