#include <tally/ops/reduce.h>

#include <cmath>

#include <tally/core/error.h>
#include <tally/core/require.h>
#include <tally/ops/reduce_front.h>
#include <tally/ops/reduce_gradient.h>
#include <tally/ops/reduce_with.h>

namespace tally {
namespace {

/// The kernels that the library has for an op of its list.
struct LibraryKernels {
  Reduction op;

  ReduceTraits traits(DType dtype) const {
    return std::visit([&](const auto& one) { return reduce_traits<std::decay_t<decltype(one)>>(dtype); }, op);
  }
  void forward(const ReduceCall& call) const {
    on(call.x.device(), [&](auto backend) { reduce(backend, op, call); });
  }
  void backward(const ReduceBackwardCall& call, const Lists& lists) const {
    on(call.gx.device(), [&](auto backend) {
      if (std::holds_alternative<Prod>(op))
        prod_backward(backend, call, lists);
      else
        reduce_backward(backend, op, call);
    });
  }
  Spread spread() const {
    if (std::holds_alternative<Sum>(op)) return Spread::whole;
    return std::holds_alternative<Mean>(op) ? Spread::mean : Spread::no;
  }
  Tensor recorded(const Tensor& x, const Tensor& y, const Tensor& grad, std::int64_t n,
                  const std::function<Tensor(const Tensor& grad)>& fused) const {
    return recorded_gradient(op, x, y, grad, n, fused);
  }
};

std::vector<Tensor> run(const Reduction& op, const Tensor& x, const Dims& dims, KeepDim keep, Want want,
                        const char* called, Where where) {
  return detail::reduce_front(LibraryKernels{op}, x, dims, keep, want, called, where);
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
  detail::require_defined("sum_to", x, where);
  if (x.shape() == shape) return x;
  const int lead = x.dim() - shape.size();
  bool fits = lead >= 0;
  for (int d = lead; fits && d < x.dim(); ++d) fits = shape[d - lead] == 1 || shape[d - lead] == x.shape()[d];
  if (!fits) throw ShapeError("sum_to", describe(x) + " was not broadcast from " + to_string(shape), where);
  std::vector<std::int64_t> dims;
  for (int d = 0; d < x.dim(); ++d)
    if (d < lead || (shape[d - lead] == 1 && x.shape()[d] != 1)) dims.push_back(d);
  return dims.empty() ? reshape(x, shape, where) : reshape(sum(x, dims, {}, where), shape, where);
}

Tensor detail::over_count(const Tensor& grad, std::int64_t n) {
  if (n == 0) return grad;
  const DType computed = grad.dtype() == float64 ? float64 : float32;
  return (grad.to(computed) / static_cast<double>(n)).to(grad.dtype());
}

void detail::throw_reduce_once_differentiable(const char* name) {
  throw AutogradError(
      name, "this reduction has no `gradient` made of recorded ops, so it cannot be differentiated twice", {});
}

}  // namespace tally
