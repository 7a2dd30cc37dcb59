// The front end of all elementwise ops: dtype and shape rules, the loop, the graph.
#pragma once

#include <string>
#include <vector>

#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/ops/cpu/elementwise.h>
#include <tally/ops/elementwise_loop.h>

namespace tally {

Tensor mul(const Tensor& a, const Operand& b, Where where);
Tensor sum_to(const Tensor& x, const Shape& shape, Where where);

namespace detail {

[[noreturn]] void throw_once_differentiable(const char* name, Where where);
[[noreturn]] void throw_no_derivative(const char* name, Where where);
[[noreturn]] void throw_host_only(const char* name, Where where);

/// x as a one-sided op reads it.
Tensor loop_input(const char* name, Result result, const Tensor& x, Where where);

/// One side of a two-sided op; `tensor` is undefined for a number.
struct Side {
  Tensor tensor;
  Number number = 0;
  Input input() const { return tensor.defined() ? Input(tensor) : Input(number); }
  bool wants_grad() const { return tensor.defined() && tensor.requires_grad(); }
};

/// Both sides in the common dtype. Throws DeviceError, ShapeError, ValueError (a number that the dtype cannot hold).
struct Pair {
  Pair(const char* name, Result result, const Operand& left, const Operand& right, Where where);
  Side a, b;
  Shape shape;
  DType dtype;
  Device device;
};

inline Options like(DType dtype, Device device) { return {.dtype = dtype, .device = device}; }

/// loop(grad, kept...) as a recorded op: linear in `grad`, constant in what is kept.
template <class Loops, class Loop, std::size_t N>
Tensor linear_pull(const Loop& loop, const char* name, const Tensor& grad, const std::array<Side, N>& kept,
                   Where where) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    Tensor result = empty(grad.shape(), like(grad.dtype(), grad.device()), where);
    Loops::run(loop, result, Inputs<N + 1>{grad, kept[K].input()...}, grad.dtype(), name, where);
    const auto backward = [loop, name, where, numbers = std::array<Number, N>{kept[K].number...}](
                              const Tensor& grad_of_result, const auto&... tensors) {
      return std::vector{
          linear_pull<Loops>(loop, name, grad_of_result, std::array<Side, N>{Side{tensors, numbers[K]}...}, where)};
    };
    return record(name, {grad}, std::move(result), saving(kept[K].tensor...), backward, where);
  }
  (std::make_index_sequence<N>{});
}

template <class Loops, class Op> Tensor record_map(const Op& op, const Tensor& input, Where where) {
  constexpr Result kResult = result_of<Op>();
  const Tensor x = loop_input(op.name, kResult, input, where);
  Tensor y = empty(x.shape(), like(kResult == Result::boolean ? boolean : x.dtype(), x.device()), where);
  Loops::run(Forward<Op>{op}, y, Inputs<1>{x}, x.dtype(), op.name, where);
  if (!is_floating(y.dtype())) return y;
  const auto backward = [op, where](const Tensor& grad, const Tensor& kept) -> std::vector<Tensor> {
    if constexpr (!FromResult<Op> && !FromInput<Op>) {
      throw_no_derivative(op.name, where);
    } else {
      if constexpr (curvature_of<Op>() == Curvature::recorded)
        if (grad_enabled()) return {mul(grad, derivative(op, kept), where)};
      if constexpr (curvature_of<Op>() == Curvature::unknown)
        if (grad_enabled()) throw_once_differentiable(op.name, where);
      const std::array<Side, 1> sides{Side{kept}};
      return {linear_pull<Loops>(Pull<Op>{op}, op.name, grad, sides, where)};
    }
  };
  if constexpr (FromResult<Op>)
    return record(op.name, {x}, std::move(y), saving(output), backward, where);
  else
    return record(op.name, {x}, std::move(y), saving(x), backward, where);
}

/// f(a, b), each a Tensor or, where it is a number or was not kept, a double.
template <class F> auto with_sides(const Side& a, const Side& b, F&& f) {
  const double x = a.number.as<double>(), y = b.number.as<double>();
  if (a.tensor.defined()) return b.tensor.defined() ? f(a.tensor, b.tensor) : f(a.tensor, y);
  return b.tensor.defined() ? f(x, b.tensor) : f(x, y);
}

/// The gradient of one side, of the result's shape. `Loop` is PullLeft or PullRight, `partial` calls da or db.
template <class Loops, Reads kReads, class Op, class Loop, class Partial>
Tensor pull_side(const Op& op, const Loop& loop, const char* name, const Tensor& grad, const Side& a, const Side& b,
                 Partial partial, Where where) {
  if constexpr (kReads == Reads::nothing) {
    if (partial(0.0, 0.0) == 1) return grad;
    const std::array<Side, 2> nothing;
    return linear_pull<Loops>(loop, name, grad, nothing, where);
  } else {
    if constexpr (curvature_of<Op>() == Curvature::recorded)
      if (grad_enabled())
        return with_sides(a, b, [&](const auto& x, const auto& y) { return mul(grad, partial(x, y), where); });
    if constexpr (curvature_of<Op>() == Curvature::unknown)
      if (grad_enabled()) throw_once_differentiable(op.name, where);
    const std::array<Side, 2> read{includes(kReads, Reads::a) ? a : Side{}, includes(kReads, Reads::b) ? b : Side{}};
    return linear_pull<Loops>(loop, name, grad, read, where);
  }
}

template <class Loops, class Op>
Tensor record_zip(const Op& op, const char* name, const Operand& left, const Operand& right, Where where) {
  constexpr Result kResult = result_of<Op>();
  const Pair pair(name, kResult, left, right, where);
  Tensor y = empty(pair.shape, like(kResult == Result::boolean ? boolean : pair.dtype, pair.device), where);
  Loops::run(Forward<Op>{op}, y, Inputs<2>{pair.a.input(), pair.b.input()}, pair.dtype, name, where);
  if (!is_floating(y.dtype())) return y;
  if constexpr (requires { op.da(1.f, 1.f), op.db(1.f, 1.f); }) {
    constexpr Reads kLeft = da_reads<Op>(), kRight = db_reads<Op>();
    const bool to_a = pair.a.wants_grad(), to_b = pair.b.wants_grad();
    const auto kept = [&](const Side& side, Reads which) {
      return (to_a && includes(kLeft, which)) || (to_b && includes(kRight, which)) ? side.tensor : Tensor();
    };
    const auto backward = [op, name, where, to_a, to_b, number_a = pair.a.number, number_b = pair.b.number,
                           shape_a = to_a ? pair.a.tensor.shape() : Shape(),
                           shape_b = to_b ? pair.b.tensor.shape() : Shape()](const Tensor& grad, const Tensor& kept_a,
                                                                             const Tensor& kept_b) {
      const Side a{kept_a, number_a}, b{kept_b, number_b};
      std::vector<Tensor> grads(2);
      if (to_a)
        grads[0] = sum_to(pull_side<Loops, kLeft>(
                              op, PullLeft<Op>{op}, name, grad, a, b,
                              [&](const auto& x, const auto& y) { return op.da(x, y); }, where),
                          shape_a, where);
      if (to_b)
        grads[1] = sum_to(pull_side<Loops, kRight>(
                              op, PullRight<Op>{op}, name, grad, a, b,
                              [&](const auto& x, const auto& y) { return op.db(x, y); }, where),
                          shape_b, where);
      return grads;
    };
    return record(name, {pair.a.tensor, pair.b.tensor}, std::move(y),
                  saving(kept(pair.a, Reads::a), kept(pair.b, Reads::b)), backward, where);
  } else {
    return record(
        name, {pair.a.tensor, pair.b.tensor}, y,
        [name, where](const Tensor&) -> std::vector<Tensor> { throw_no_derivative(name, where); }, where);
  }
}

}  // namespace detail
}  // namespace tally
