#include <tally/ops/binary.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

#include <limits>

#include "helpers.h"

namespace tally::conformance {
namespace {

using OfTensors = Tensor (*)(const Tensor&, const Operand&, Where);
using OfNumber = Tensor (*)(Number, const Tensor&, Where);

/// A number as a tensor: its own kind, a real one in float64.
Tensor alone(Number number, Device device = cpu) {
  const bool real = number.is_real(), flag = number.kind() == Number::Kind::boolean;
  return full({}, number, {.dtype = real ? float64 : flag ? boolean : int64, .device = device});
}

/// What two numbers give: PyTorch makes a float32 tensor of a real one.
Tensor of_numbers(const Tensor& x) { return is_floating(x.dtype()) ? x.to(float32) : x; }

/// `with_number` serves a number on the left; where Tally has none, the sides exchange.
template <OfTensors F> Tensors two_sided(Arguments& a, OfNumber with_number, bool commutes = false) {
  const TensorOrNumber left = a.operand(0, "input"), right = a.operand(1, "other");
  if (const Tensor* x = std::get_if<Tensor>(&left)) return {F(*x, as_operand(right), Where::here())};
  const Number x = std::get<Number>(left);
  if (const Tensor* y = std::get_if<Tensor>(&right))
    return {commutes ? F(*y, x, Where::here()) : with_number(x, *y, Where::here())};
  return {of_numbers(F(alone(x), as_operand(right), Where::here()))};
}

template <OfTensors F> Tensors compared(Arguments& a) {
  if (!a.is_tensor(0, "input")) throw Skip("Tally takes a number on either side, PyTorch does not");
  return two_sided<F>(a, nullptr);
}

/// add and sub: `other` times alpha.
template <OfTensors F> Tensors scaled(Arguments& a, OfNumber with_number, bool commutes) {
  if (!a.has(2, "alpha")) return two_sided<F>(a, with_number, commutes);
  const Number alpha = a.number(2, "alpha");
  const TensorOrNumber left = a.operand(0, "input"), right = a.operand(1, "other");
  const bool numbers = !std::holds_alternative<Tensor>(left) && !std::holds_alternative<Tensor>(right);
  const auto as_tensor = [](const TensorOrNumber& side) {
    return std::holds_alternative<Tensor>(side) ? std::get<Tensor>(side) : alone(std::get<Number>(side));
  };
  if (const Number* y = std::get_if<Number>(&right); y && !numbers) {
    const bool real = y->is_real() || alpha.is_real();
    const Number product =
        real ? Number(y->as<double>() * alpha.as<double>()) : Number(y->as<std::int64_t>() * alpha.as<std::int64_t>());
    return {F(as_tensor(left), product, Where::here())};
  }
  const Tensor sum = F(as_tensor(left), as_tensor(right) * alpha, Where::here());
  return {numbers ? of_numbers(sum) : sum};
}

Tensor trunc(const Tensor& x) { return where(x < 0, ceil(x), floor(x)); }

template <Rounding rounding> Tensor whole_quotient(const Tensor& a, const Operand& b, Where where) {
  return div(a, b, rounding, where);
}
template <Rounding rounding> Tensor whole_quotient_of_number(Number a, const Tensor& b, Where where) {
  return div(a, b, rounding, where);
}
template <Rounding rounding> Tensors divide_rounded(Arguments& a) {
  return two_sided<whole_quotient<rounding>>(a, whole_quotient_of_number<rounding>);
}

Tensors divide(Arguments& a) {
  const std::string mode = a.text(2, "rounding_mode", "");
  if (mode == "floor") return divide_rounded<Rounding::floor>(a);
  if (mode == "trunc") return divide_rounded<Rounding::trunc>(a);
  if (!mode.empty()) throw Skip("no rounding mode " + mode);
  return two_sided<div>(a, div);
}

Tensors power(Arguments& a) {
  const TensorOrNumber left = a.operand(0, "input"), right = a.operand(1, "exponent");
  if (!std::holds_alternative<Tensor>(left) && !std::holds_alternative<Tensor>(right))
    throw Skip("two numbers are no tensor expression: std::pow");
  return two_sided<pow>(a, pow);
}

/// PyTorch takes no number here, Tally does.
template <OfTensors F> Tensors extreme(Arguments& a) {
  if (!a.is_tensor(0, "input") || !a.is_tensor(1, "other"))
    throw Skip("Tally takes a number on either side, PyTorch does not");
  return two_sided<F>(a, nullptr);
}

Tensors clamped(Arguments& a) {
  if (a.is_tensor(1, "min") || a.is_tensor(2, "max")) {
    Tensor x = a.self();
    if (a.has(1, "min")) x = maximum(x, as_operand(a.operand(1, "min")));
    if (a.has(2, "max")) x = minimum(x, as_operand(a.operand(2, "max")));
    return {x};
  }
  const Tensor x = a.self();
  const bool whole = !is_floating(x.dtype());
  const double infinity = std::numeric_limits<double>::infinity();
  const Number lowest = whole ? Number(std::numeric_limits<std::int64_t>::min()) : Number(-infinity);
  const Number highest = whole ? Number(std::numeric_limits<std::int64_t>::max()) : Number(infinity);
  return {clamp(x, a.number(1, "min", lowest), a.number(2, "max", highest))};
}

/// log(1 + e^(beta x)) / beta, and x itself where beta x is above the threshold.
Tensors soft_plus(Arguments& a) {
  const Tensor x = a.self();
  const double beta = a.real(1, "beta", 1), threshold = a.real(2, "threshold", 20);
  return {where(x * beta > threshold, x, softplus(x * beta) / beta)};
}

Tensors gaussian_unit(Arguments& a) {
  const Tensor x = a.self();
  const std::string approximate = a.text(1, "approximate", "none");
  if (approximate == "none") return {gelu(x)};
  if (approximate != "tanh") throw Skip("no approximation " + approximate);
  const double slope = 0.79788456080286535588;  // sqrt(2 / pi)
  return {x * 0.5 * (tanh((x + x * x * x * 0.044715) * slope) + 1)};
}

/// The cases call it on the first choice, as a method.
Tensors choose(Arguments& a) {
  const Tensor condition = a.tensor(1, "condition");
  const TensorOrNumber left = a.operand(0, "input"), right = a.operand(2, "other");
  if (std::holds_alternative<Tensor>(left) || std::holds_alternative<Tensor>(right))
    return {where(condition, as_operand(left), as_operand(right))};
  const auto as_tensor = [&](const TensorOrNumber& side) { return alone(std::get<Number>(side), condition.device()); };
  return {of_numbers(where(condition, as_tensor(left), as_tensor(right)))};
}

Tensors fill_masked(Arguments& a) {
  const Tensor mask = a.tensor(1, "mask");
  const Tensor x =
      broadcast_to(a.self(), broadcast_shapes("masked_fill", a.self().shape(), mask.shape(), Where::here()));
  const TensorOrNumber value = a.operand(2, "value");
  if (const Number* number = std::get_if<Number>(&value)) return {masked_fill(x, mask, *number).to(x.dtype())};
  const Tensor& one = std::get<Tensor>(value);
  if (one.dim() > 0) throw Skip("masked_fill takes a number; where takes a value of any shape");
  return {where(mask, one.to(x.dtype()), x)};
}

Tensors signs(Arguments& a) {
  const Tensor x = a.self();
  if (any(isnan(x)).item<bool>()) throw Skip("the sign of NaN is NaN");
  return {sign(x)};
}

}  // namespace

Table elementwise_ops() {
  return {
      {"abs", one_sided<abs>},
      {"ceil", one_sided<ceil>},
      {"cos", one_sided<cos>},
      {"erf", one_sided<erf>},
      {"exp", one_sided<exp>},
      {"expm1", one_sided<expm1>},
      {"floor", one_sided<floor>},
      {"isfinite", one_sided<isfinite>},
      {"isinf", one_sided<isinf>},
      {"isnan", one_sided<isnan>},
      {"log", one_sided<log>},
      {"log1p", one_sided<log1p>},
      {"logical_not", one_sided<logical_not>},
      {"neg", one_sided<neg>},
      {"reciprocal", one_sided<reciprocal>},
      {"relu", one_sided<relu>},
      {"round", one_sided<round>},
      {"rsqrt", one_sided<rsqrt>},
      {"sigmoid", one_sided<sigmoid>},
      {"sign", signs},
      {"silu", one_sided<silu>},
      {"sin", one_sided<sin>},
      {"sqrt", one_sided<sqrt>},
      {"square", one_sided<square>},
      {"tanh", one_sided<tanh>},
      {"trunc", [](Arguments& a) { return Tensors{trunc(a.self())}; }},
      {"clamp", clamped},
      {"softplus", soft_plus},
      {"gelu", gaussian_unit},
      {"add", [](Arguments& a) { return scaled<add>(a, nullptr, true); }},
      {"sub", [](Arguments& a) { return scaled<sub>(a, sub, false); }},
      {"mul", [](Arguments& a) { return two_sided<mul>(a, nullptr, true); }},
      {"div", divide},
      {"div_no_rounding_mode", divide},
      {"div_floor_rounding", divide_rounded<Rounding::floor>},
      {"div_trunc_rounding", divide_rounded<Rounding::trunc>},
      {"pow", power},
      {"maximum", extreme<maximum>},
      {"minimum", extreme<minimum>},
      {"eq", compared<eq>},
      {"ne", compared<ne>},
      {"lt", compared<lt>},
      {"le", compared<le>},
      {"gt", compared<gt>},
      {"ge", compared<ge>},
      {"where", choose},
      {"masked_fill", fill_masked},
  };
}

}  // namespace tally::conformance
