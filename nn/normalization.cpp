#include <tally/nn/normalization.h>

#include <tally/core/dims.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
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
  const Tensor input = x.to(compute_dtype(x), where);
  const VarAndMean moments = var_mean(input, dims, population, keepdim, where);
  const Tensor rstd = rsqrt(moments.var + options.eps, where);
  return scaled((input - moments.mean) * rstd, options.weight, options.bias, x.dtype(), where);
}

Tensor rms_norm(const Tensor& x, const Shape& normalized, const RmsNormOptions& options, Where where) {
  const Dims dims = normalized_dims("rms_norm", x, normalized, options.weight, {}, where);
  const Tensor input = x.to(compute_dtype(x), where);
  const Tensor power = mean(square(input, where), dims, keepdim, where);
  const Tensor rstd = rsqrt(power + options.eps.value_or(machine_epsilon(x.dtype())), where);
  return scaled(input * rstd, options.weight, {}, x.dtype(), where);
}

}  // namespace tally
