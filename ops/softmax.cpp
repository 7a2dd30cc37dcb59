#include <tally/ops/softmax.h>

#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/core/math.h>
#include <tally/core/require.h>
#include <tally/ops/cpu/isa_loops.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/reduce_backend.h>
#include <tally/ops/row_backend.h>
#include <tally/ops/unary.h>

namespace tally {
namespace {

// What follows the sums, in one pass over x on the CPU, for lists that are no rows.
struct Exponentials {
  static constexpr bool on_integers = false;
  template <class C> C operator()(C x, C max, C sum) const { return math::exp(x - max) / sum; }
};
struct Logarithms {
  static constexpr bool on_integers = false;
  template <class C> C operator()(C x, C max, C log_sum) const { return (x - max) - log_sum; }
};

/// Rows as the device takes them, undefined for others.
Tensor by_rows(const RowOp& op, const std::vector<Tensor>& inputs, const Dims& dims, Where where) {
  const Tensor& x = inputs[0];
  if (!x.defined() || !is_floating(x.dtype()) || x.numel() == 0) return {};
  const char* name = std::visit([](const auto& one) { return one.name; }, op);
  const ReducePlan plan = plan_reduction(name, x, dims, keepdim, where);
  const std::optional<RowShape> shape = rows_of(inputs, plan.kept_shape);
  if (!shape) return {};
  RowCall call{
      .inputs = {}, .out = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()}, where), .shape = *shape};
  for (const Tensor& one : inputs) call.inputs.push_back(one.detach());
  return on(x.device(), [&](auto backend) { return map_rows(backend, op, call); }) ? call.out : Tensor();
}

/// The same for a gradient that nothing differentiates again.
Tensor pulled_by_rows(const RowOp& op, const Tensor& y, const Tensor& grad, const Dims& dims, Where where) {
  if (grad_enabled() || y.device() == Device::cpu) return {};
  return by_rows(op, {y, grad.contiguous()}, dims, where);
}

template <class F> Tensor in_one_pass(const F& f, const Tensor& x, const Tensor& max, const Tensor& last, Where where) {
  const Tensor y = empty(x.shape(), {.dtype = x.dtype()}, where);
  const Tensor in = x.detach();
  if (y.numel() > 0) detail::elementwise<detail::IsaLoops>(Cpu{}, f, y, detail::Inputs<3>{in, max, last}, max.dtype());
  return y;
}

}  // namespace

detail::ShiftedSums detail::shifted_sums(const char* op, const Tensor& x, const Dims& dims, Where where) {
  require_defined(op, x, where);
  if (!is_floating(x.dtype())) throw DTypeError(op, describe(x) + " is not floating; use .to(float32)", where);
  const ReducePlan plan = plan_reduction(op, x, dims, keepdim, where);
  const DType computed = x.dtype() == float64 ? float64 : float32;
  // LogSumExp's accumulator is this pair.
  const Tensor pairs = empty({plan.lists.outputs(), 2}, {.dtype = computed, .device = x.device()}, where);
  const Tensor unused = empty(plan.shape, {.dtype = x.dtype(), .device = x.device()}, where);
  const ReduceCall call{.x = x.detach(), .lists = plan.lists, .first = unused, .second = {}, .accumulators = pairs};
  if (plan.lists.outputs() > 0) on(x.device(), [&](auto backend) { reduce(backend, LogSumExp{}, call); });
  Shape strides = contiguous_strides(plan.kept_shape);
  for (int d = 0; d < strides.size(); ++d) strides[d] *= 2;
  return {Tensor(pairs.storage(), 0, plan.kept_shape, strides, computed),
          Tensor(pairs.storage(), 1, plan.kept_shape, strides, computed)};
}

Tensor softmax(const Tensor& x, Dims dims, Where where) {
  const Tensor y = no_grad([&] {
    if (const Tensor rows = by_rows(rows::Softmax{}, {x}, dims, where); rows.defined()) return rows;
    const detail::ShiftedSums sums = detail::shifted_sums("softmax", x, dims, where);
    if (x.device() == Device::cpu) return in_one_pass(Exponentials{}, x, sums.max, sums.sum, where);
    return (exp(x - sums.max, where) / sums.sum).to(x.dtype(), where);
  });
  return record(
      "softmax", {x}, y, saving(output),
      [dims, where](const Tensor& grad, const Tensor& y) {
        const Tensor rows = pulled_by_rows(rows::SoftmaxBackward{}, y, grad, dims, where);
        return std::vector{rows.defined() ? rows : y * (grad - sum(y * grad, dims, keepdim))};
      },
      where);
}

Tensor softmax(const Tensor& x, Dims dims, DType dtype, Where where) {
  return softmax(x.to(dtype, where), dims, where);
}

Tensor log_softmax(const Tensor& x, Dims dims, Where where) {
  const Tensor y = no_grad([&] {
    if (const Tensor rows = by_rows(rows::LogSoftmax{}, {x}, dims, where); rows.defined()) return rows;
    const detail::ShiftedSums sums = detail::shifted_sums("log_softmax", x, dims, where);
    if (x.device() == Device::cpu) return in_one_pass(Logarithms{}, x, sums.max, log(sums.sum, where), where);
    return ((x - sums.max) - log(sums.sum, where)).to(x.dtype(), where);
  });
  return record(
      "log_softmax", {x}, y, saving(output),
      [dims, where](const Tensor& grad, const Tensor& y) {
        const Tensor rows = pulled_by_rows(rows::LogSoftmaxBackward{}, y, grad, dims, where);
        return std::vector{rows.defined() ? rows : grad - exp(y) * sum(grad, dims, keepdim)};
      },
      where);
}

Tensor log_softmax(const Tensor& x, Dims dims, DType dtype, Where where) {
  return log_softmax(x.to(dtype, where), dims, where);
}

}  // namespace tally
