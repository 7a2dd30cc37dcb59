#include <tally/ops/reduce.h>

#include <cmath>

#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce_backend.h>
#include <tally/ops/reduce_gradient.h>
#include <tally/ops/results.h>
#include <tally/ops/view.h>

namespace tally {
namespace {

// What an op of the list gives for a dtype, asked of its definition.
struct Traits {
  const char* name;
  bool accepts = false, needs_elements = false, has_second = false, reads_x = false, differentiable = false;
  DType result = float32, second = float32;
  std::size_t accumulator_bytes = 0;
};

Traits traits_of(const Reduction& op, DType dtype) {
  return std::visit(
      [&](const auto& one) {
        return visit(dtype, [&](auto tag) {
          using Op = std::decay_t<decltype(one)>;
          using T = typename decltype(tag)::type;
          using C = Compute<T>;
          Traits traits{.name = Op::name};
          if constexpr (op_accepts<Op, T>()) {
            using Out = Results<Op, T>;
            traits.accepts = true;
            traits.needs_elements = !Fold<Op, C>::has_identity;
            traits.has_second = requires(typename Out::Projected p) { p.second; };
            traits.result = dtype_of<typename Out::First>();
            traits.second = dtype_of<typename Out::Second>();
            traits.accumulator_bytes = sizeof(typename Out::Acc);
            if constexpr (is_float_type<T>) {
              traits.differentiable = Slope<Op, C>::exists || std::is_same_v<Op, Prod>;
              traits.reads_x = Slope<Op, C>::from_x || std::is_same_v<Op, Prod>;
            }
          }
          return traits;
        });
      },
      op);
}

struct Want {
  bool first = true, second = false;
};

// The gradient of a reduction as one kernel over x; `grad` belongs to the first result.
Tensor fused_gradient(const Reduction& op, const ReducePlan& plan, const Shape& x_shape, const Tensor& x,
                      const Tensor& accumulators, const Tensor& grad) {
  const Tensor gx = empty(x_shape, {.dtype = grad.dtype(), .device = grad.device()});
  const Tensor dense = grad.contiguous();
  const ReduceBackwardCall call{
      plan_backward(x.defined() ? x : gx, plan.kept_shape), plan.lists.length(), x, dense, accumulators, gx};
  if (gx.numel() == 0) return gx;
  on(gx.device(), [&](auto backend) {
    if (std::holds_alternative<Prod>(op))
      prod_backward(backend, call, plan.lists);
    else
      reduce_backward(backend, op, call);
  });
  return gx;
}

// The one front end: shape rule, errors, kernels, recording. Gives both results; one not wanted is undefined.
std::vector<Tensor> run(const Reduction& op, const Tensor& x, const Dims& dims, KeepDim keep, Want want,
                        const char* called, Where where) {
  if (!x.defined()) throw ShapeError(called, "the input is undefined", where);
  const Traits traits = traits_of(op, x.dtype());
  if (!traits.accepts) throw DTypeError(called, describe(x) + " is not floating; use .to(float32)", where);
  const ReducePlan plan = plan_reduction(called, x, dims, keep, where);
  if (plan.lists.length() == 0 && traits.needs_elements)
    throw ShapeError(called, describe(x) + " has no elements along the reduced dims, and nothing has no extreme",
                     where);

  const bool records = traits.differentiable && grad_enabled() && x.requires_grad();
  ReduceCall call{.x = x, .lists = plan.lists, .first = {}, .second = {}, .accumulators = {}};
  if (want.first) call.first = empty(plan.shape, {.dtype = traits.result, .device = x.device()}, where);
  if (want.second) call.second = empty(plan.shape, {.dtype = traits.second, .device = x.device()}, where);
  const bool spreads = std::holds_alternative<Sum>(op) || std::holds_alternative<Mean>(op);  // their gradient is a view
  if (records && want.first && !spreads)
    call.accumulators = empty({plan.lists.outputs() * static_cast<std::int64_t>(traits.accumulator_bytes)},
                              {.dtype = uint8, .device = x.device()}, where);
  if (plan.lists.outputs() > 0) on(x.device(), [&](auto backend) { reduce(backend, op, call); });
  if (!records) return {call.first, call.second};

  std::vector<Tensor> values;
  if (want.first) values.push_back(call.first);
  if (want.second) values.push_back(call.second);
  const Tensor none;
  const auto backward = [op, plan, want, x_shape = x.shape(), spreads, called](
                            const std::vector<Tensor>& grads, const Tensor& x, const Tensor& accumulators,
                            const Tensor& y) {
    const auto spread = [&](const Tensor& grad) { return expand(reshape(grad, plan.kept_shape), x_shape); };
    const auto by_count = [&](const Tensor& grad) { return spread(grad / static_cast<double>(plan.lists.length())); };
    Tensor gx;
    if (want.first) {
      if (spreads)
        gx = std::holds_alternative<Mean>(op) ? by_count(grads[0]) : spread(grads[0]);
      else if (!grad_enabled())
        gx = fused_gradient(op, plan, x_shape, x, accumulators, grads[0]);
      else
        gx = recorded_gradient(op, x, reshape(y, plan.kept_shape), reshape(grads[0], plan.kept_shape),
                               plan.lists.length(), [&] {
                                 return fused_gradient(op, plan, x_shape, x, accumulators,
                                                       ones(y.shape(), {.dtype = y.dtype(), .device = y.device()}));
                               });
    }
    const bool mean_too = want.second && is_floating(grads.back().dtype()) && std::holds_alternative<Var>(op);
    if (mean_too) gx = gx.defined() ? gx + by_count(grads.back()) : by_count(grads.back());
    return std::vector{gx};
  };
  values = record(called, {x}, std::move(values), saving(traits.reads_x ? x : none, call.accumulators, output),
                  backward, where);
  return {want.first ? values.front() : Tensor(), want.second ? values.back() : Tensor()};
}

Tensor one(const Reduction& op, const Tensor& x, const Dims& dims, KeepDim keep, const char* called, Where where) {
  return run(op, x, dims, keep, {}, called, where)[0];
}

}  // namespace

Tensor sum(const Tensor& x, Dims dims, KeepDim keep, Where where) { return one(Sum{}, x, dims, keep, "sum", where); }
Tensor mean(const Tensor& x, Dims dims, KeepDim keep, Where where) { return one(Mean{}, x, dims, keep, "mean", where); }
Tensor prod(const Tensor& x, Dims dims, KeepDim keep, Where where) { return one(Prod{}, x, dims, keep, "prod", where); }
Tensor max(const Tensor& x, Dims dims, KeepDim keep, Where where) { return one(Max{}, x, dims, keep, "max", where); }
Tensor min(const Tensor& x, Dims dims, KeepDim keep, Where where) { return one(Min{}, x, dims, keep, "min", where); }
Tensor amax(const Tensor& x, Dims dims, KeepDim keep, Where where) { return one(AMax{}, x, dims, keep, "amax", where); }
Tensor amin(const Tensor& x, Dims dims, KeepDim keep, Where where) { return one(AMin{}, x, dims, keep, "amin", where); }
Tensor any(const Tensor& x, Dims dims, KeepDim keep, Where where) { return one(Any{}, x, dims, keep, "any", where); }
Tensor all(const Tensor& x, Dims dims, KeepDim keep, Where where) { return one(All{}, x, dims, keep, "all", where); }
Tensor count_nonzero(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  return one(CountNonzero{}, x, dims, keep, "count_nonzero", where);
}
Tensor logsumexp(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  return one(LogSumExp{}, x, dims, keep, "logsumexp", where);
}

Tensor argmax(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  return run(Max{}, x.detach(), dims, keep, {.first = false, .second = true}, "argmax", where)[1];
}
Tensor argmin(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  return run(Min{}, x.detach(), dims, keep, {.first = false, .second = true}, "argmin", where)[1];
}
ValuesAndIndices max_with_index(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  const auto both = run(Max{}, x, dims, keep, {.first = true, .second = true}, "max_with_index", where);
  return {both[0], both[1]};
}
ValuesAndIndices min_with_index(const Tensor& x, Dims dims, KeepDim keep, Where where) {
  const auto both = run(Min{}, x, dims, keep, {.first = true, .second = true}, "min_with_index", where);
  return {both[0], both[1]};
}

Tensor norm(const Tensor& x, double p, Dims dims, KeepDim keep, Where where) {
  if (std::isnan(p)) throw ValueError("norm", "the order p is NaN", where);
  Reduction op = Norm2{};
  if (p == 1)
    op = Norm1{};
  else if (p == 0)
    op = Norm0{};
  else if (std::isinf(p))
    op = p > 0 ? Reduction(NormInf<true>{}) : Reduction(NormInf<false>{});
  else if (p != 2)
    op = NormP{p};
  return one(op, x, dims, keep, "norm", where);
}

Tensor var(const Tensor& x, Dims dims, Correction correction, KeepDim keep, Where where) {
  return one(Var{.correction = correction.value}, x, dims, keep, "var", where);
}
Tensor std(const Tensor& x, Dims dims, Correction correction, KeepDim keep, Where where) {
  return one(Std{{.correction = correction.value}}, x, dims, keep, "std", where);
}
VarAndMean var_mean(const Tensor& x, Dims dims, Correction correction, KeepDim keep, Where where) {
  const auto both =
      run(Var{.correction = correction.value}, x, dims, keep, {.first = true, .second = true}, "var_mean", where);
  return {both[0], both[1]};
}

Tensor sum_to(const Tensor& x, const Shape& shape, Where where) {
  if (x.shape() == shape) return x;
  const int lead = x.dim() - shape.size();
  std::vector<std::int64_t> dims;
  for (int d = 0; d < x.dim(); ++d)
    if (d < lead || (shape[d - lead] == 1 && x.shape()[d] != 1)) dims.push_back(d);
  return dims.empty() ? reshape(x, shape, where) : reshape(sum(x, dims, {}, where), shape, where);
}

}  // namespace tally
