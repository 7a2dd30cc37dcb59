// The one front end of all reductions: shape rule, errors, kernels, recording. The library's list and a user's struct
// differ in where their kernels come from, and only in that.
//
// A kernel source K has
//   const char* name() const
//   ReduceTraits traits(DType) const
//   void forward(const ReduceCall&) const, void backward(const ReduceBackwardCall&, const Lists&) const
//   Spread spread() const
//   Tensor recorded(x, y, grad, n, fused) const      the gradient as recorded ops (ops/reduce_gradient.h)
#pragma once

#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/core/require.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce_backend.h>
#include <tally/ops/results.h>
#include <tally/ops/view.h>

namespace tally {

/// What an op gives for a dtype, asked of its definition.
struct ReduceTraits {
  bool accepts = false, needs_elements = false, reads_x = false, differentiable = false;
  DType result = float32, second = float32;
  std::size_t accumulator_bytes = 0;
};

template <class Op> ReduceTraits reduce_traits(DType dtype) {
  return visit(dtype, [](auto tag) {
    using T = typename decltype(tag)::type;
    ReduceTraits traits;
    if constexpr (op_accepts<Op, T>()) {
      using Out = Results<Op, T>;
      using S = Slope<Op, Compute<T>>;
      traits.accepts = true;
      traits.needs_elements = !Fold<Op, Compute<T>>::has_identity;
      traits.result = dtype_of<typename Out::First>();
      traits.second = dtype_of<typename Out::Second>();
      traits.accumulator_bytes = sizeof(typename Out::Acc);
      traits.differentiable = is_float_type<T> && (S::exists || std::is_same_v<Op, Prod>);
      traits.reads_x = S::from_x || std::is_same_v<Op, Prod>;
    }
    return traits;
  });
}

/// Gradients that are a view: the upstream one spread over the list, or its share of the mean.
enum class Spread : unsigned char { no, whole, mean };

/// Which results a call wants; the second is the index, or the mean of var.
struct Want {
  bool first = true, second = false;
};

namespace detail {

// The gradient of the first result, as one kernel over x.
template <class K>
Tensor fused_gradient(const K& kernels, const ReducePlan& plan, const Shape& x_shape, const Tensor& x,
                      const Tensor& accumulators, const Tensor& grad) {
  const Tensor gx = empty(x_shape, {.dtype = grad.dtype(), .device = grad.device()});
  if (gx.numel() > 0)
    kernels.backward({plan_backward(x.defined() ? x : gx, plan.kept_shape), plan.lists.length(), x, grad.contiguous(),
                      accumulators, gx},
                     plan.lists);
  return gx;
}

/// grad / n, rounded once: n itself may be beyond a two-byte float. Of nothing, where no element takes a share, grad.
Tensor over_count(const Tensor& grad, std::int64_t n);

/// Both results, of which one that was not wanted is undefined. Errors speak in the name of `called`.
template <class K>
std::vector<Tensor> reduce_front(const K& kernels, const Tensor& x, const Dims& dims, KeepDim keep, Want want,
                                 const char* called, Where where) {
  require_defined(called, x, where);
  const ReduceTraits traits = kernels.traits(x.dtype());
  if (!traits.accepts) throw DTypeError(called, describe(x) + " is not floating; use .to(float32)", where);
  const ReducePlan plan = plan_reduction(called, x, dims, keep, where);
  if (plan.lists.length() == 0 && traits.needs_elements)
    throw ShapeError(called,
                     describe(x) + " has no elements along the reduced dims, and " + called +
                         " of none has no value; test numel() first, or reduce other dims",
                     where);

  const bool records = traits.differentiable && grad_enabled() && x.requires_grad();
  const auto make = [&](bool wanted, const Shape& shape, DType dtype) {
    return wanted ? empty(shape, {.dtype = dtype, .device = x.device()}, where) : Tensor();
  };
  const bool keeps = records && want.first && kernels.spread() == Spread::no;
  const std::int64_t bytes = plan.lists.outputs() * static_cast<std::int64_t>(traits.accumulator_bytes);
  const ReduceCall call{x, plan.lists, make(want.first, plan.shape, traits.result),
                        make(want.second, plan.shape, traits.second), make(keeps, {bytes}, uint8)};
  if (plan.lists.outputs() > 0) kernels.forward(call);
  if (!records) return {call.first, call.second};

  std::vector<Tensor> values;
  if (want.first) values.push_back(call.first);
  if (want.second) values.push_back(call.second);
  const auto backward = [kernels, plan, want, x_shape = x.shape()](const std::vector<Tensor>& grads,
                                                                   const Tensor& kept_x, const Tensor& accumulators,
                                                                   const Tensor& y) {
    const auto spread = [&](const Tensor& grad) { return expand(reshape(grad, plan.kept_shape), x_shape); };
    const auto by_count = [&](const Tensor& grad) { return spread(over_count(grad, plan.lists.length())); };
    Tensor gx;
    if (want.first) {
      if (kernels.spread() == Spread::whole)
        gx = spread(grads[0]);
      else if (kernels.spread() == Spread::mean)
        gx = by_count(grads[0]);
      else if (!grad_enabled())
        gx = fused_gradient(kernels, plan, x_shape, kept_x, accumulators, grads[0]);
      else
        gx = kernels.recorded(
            kept_x, reshape(y, plan.kept_shape), reshape(grads[0], plan.kept_shape), plan.lists.length(),
            [&](const Tensor& grad) { return fused_gradient(kernels, plan, x_shape, kept_x, accumulators, grad); });
    }
    // A floating second result is the mean.
    if (want.second && is_floating(grads.back().dtype()))
      gx = gx.defined() ? gx + by_count(grads.back()) : by_count(grads.back());
    return std::vector{gx};
  };
  const Tensor none;
  values =
      record(called, {x}, std::move(values),
             saving(traits.reads_x ? x : none, call.accumulators, keeps ? SavedArgument(output) : SavedArgument(none)),
             backward, where);
  return {want.first ? values.front() : Tensor(), want.second ? values.back() : Tensor()};
}

}  // namespace detail
}  // namespace tally
