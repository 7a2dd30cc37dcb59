#include <tally/ops/binary.h>
#include <tally/ops/compose.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/scan.h>
#include <tally/ops/select.h>
#include <tally/ops/softmax.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>

#include "helpers.h"

namespace tally::conformance {
namespace {

using Reduce = Tensor (*)(const Tensor&, Dims, KeepDim, Where);
using ReduceAs = Tensor (*)(const Tensor&, Dims, KeepDim, DType, Where);

/// (input, dim, keepdim)
template <Reduce F> Tensors over_dims(Arguments& a) {
  return {F(a.self(), a.dims(1, "dim"), a.keep(2), Where::here())};
}

/// (input, dim, keepdim, dtype)
template <Reduce F, ReduceAs As> Tensors with_dtype(Arguments& a) {
  const std::optional<DType> dtype = a.dtype(3, "dtype");
  if (!dtype) return over_dims<F>(a);
  return {As(a.self(), a.dims(1, "dim"), a.keep(2), *dtype, Where::here())};
}

template <Reduce F> Tensors cast_first(Arguments& a) {
  return {F(in_dtype(a.self(), a.dtype(3, "dtype")), a.dims(1, "dim"), a.keep(2), Where::here())};
}

/// PyTorch divides by a count of 0 there.
void require_no_nan_gradient(const Tensor& x, const Tensor& result) {
  if (x.requires_grad() && any(isnan(result)).item<bool>())
    throw Skip("where the result is NaN, the gradient is shared among the NaNs");
}

template <Reduce F> Tensors shared_extreme(Arguments& a) {
  const Tensors results = over_dims<F>(a);
  require_no_nan_gradient(a.self(), results[0]);
  return results;
}

/// max and min: of two tensors, of all, or over one dim with the index.
template <Reduce All, ValuesAndIndices (*Along)(const Tensor&, Dims, KeepDim, Where),
          Tensor (*Pairs)(const Tensor&, const Operand&, Where)>
Tensors extreme(Arguments& a) {
  if (a.is_tensor(1, "other")) return {Pairs(a.self(), a.tensor(1, "other"), Where::here())};
  if (!a.has(1, "dim")) return shared_extreme<All>(a);
  const ValuesAndIndices both = Along(a.self(), a.integer(1, "dim"), a.keep(2), Where::here());
  return {both.values, both.indices};
}

struct Spread {
  Dims dims;
  Correction correction;
  KeepDim keep;
};

/// var, std and their pairs: (input, unbiased) or (input, dim, unbiased, keepdim), or by name with a correction.
/// PyTorch's default is the sample's.
Spread spread(Arguments& a) {
  if (a.is_flag(1)) return {{}, a.flag(1, "unbiased") ? sample : population, a.keep(3)};
  const Dims dims = a.dims(1, "dim");
  if (a.has(2, "unbiased")) return {dims, a.flag(2, "unbiased") ? sample : population, a.keep(3)};
  return {dims, Correction(a.real(4, "correction", 1)), a.keep(3)};
}

using OfSpread = Tensor (*)(const Tensor&, Dims, Correction, KeepDim, Where);
template <OfSpread F> Tensors spread_of(Arguments& a) {
  const Spread s = spread(a);
  return {F(a.self(), s.dims, s.correction, s.keep, Where::here())};
}

Tensors variance_and_mean(Arguments& a) {
  const Spread s = spread(a);
  const VarAndMean both = var_mean(a.self(), s.dims, s.correction, s.keep);
  return {both.var, both.mean};
}
Tensors deviation_and_mean(Arguments& a) {
  const Spread s = spread(a);
  const Tensor x = a.self();
  return {tally::std(x, s.dims, s.correction, s.keep), mean(x, s.dims, s.keep)};
}

Tensors vector_norm(Arguments& a) {
  return {norm(in_dtype(a.self(), a.dtype(4, "dtype")), a.real(1, "ord", 2), a.dims(2, "dim"), a.keep(3))};
}

/// torch.norm, whose order may be a word: "fro" is 2 over any dims.
Tensors legacy_norm(Arguments& a) {
  double p = 2;
  if (a.is_text(1, "p")) {
    const std::string word = a.text(1, "p", "fro");
    if (word == "nuc") throw Skip("the nuclear norm is no reduction of elements");
    if (word != "fro") p = a.real(1, "p");
  } else {
    p = a.real(1, "p", 2);
  }
  return {norm(in_dtype(a.self(), a.dtype(4, "dtype")), p, a.dims(2, "dim"), a.keep(3))};
}

template <Tensor (*F)(const Tensor&, Dims, Where)> Tensors soft(Arguments& a) {
  const std::int64_t dim = a.integer(1, "dim");
  // PyTorch has a private third argument, the depth of the warning for a missing dim.
  const char* const name = "dtype";
  const std::optional<DType> dtype = a.has(3, name) ? a.dtype(3, name) : a.dtype(2, name);
  return {F(in_dtype(a.self(), dtype), dim, Where::here())};
}

template <Tensor (*F)(const Tensor&, std::int64_t, Where), Tensor (*As)(const Tensor&, std::int64_t, DType, Where)>
Tensors running(Arguments& a) {
  const std::int64_t dim = a.integer(1, "dim");
  const std::optional<DType> dtype = a.dtype(2, "dtype");
  return {dtype ? As(a.self(), dim, *dtype, Where::here()) : F(a.self(), dim, Where::here())};
}

/// For ops with positions, of which PyTorch promises none in particular for equal elements.
void require_no_ties(const Tensor& x, std::int64_t dim) {
  if (x.dim() == 0 || x.numel() == 0) return;
  const Tensor values = sort(x, dim).values;
  const std::int64_t left = x.size(dim) - 1;
  if (any(narrow(values, dim, 0, left) == narrow(values, dim, 1, left)).item<bool>())
    throw Skip("of equal elements Tally takes the first");
}

Tensors medians(Arguments& a) {
  if (!a.has(1, "dim")) return {median(a.self())};
  require_no_ties(a.self(), a.integer(1, "dim"));
  const ValuesAndIndices both = median_with_index(a.self(), a.integer(1, "dim"), a.keep(2));
  return {both.values, both.indices};
}

Tensors quantiles(Arguments& a) {
  if (a.text(4, "interpolation", "linear") != "linear") throw Skip("quantile interpolates linearly only");
  const Dims dims = a.dims(2, "dim");
  if (a.is_tensor(1, "q") && a.tensor(1, "q").requires_grad()) throw Skip("q is a number, which has no gradient");
  if (!a.is_tensor(1, "q")) return {quantile(a.self(), a.real(1, "q"), dims, a.keep(3))};
  const Tensor q = a.tensor(1, "q");
  if (q.dim() == 0) return {quantile(a.self(), q.item<double>(), dims, a.keep(3))};
  return {quantile(a.self(), q.to_vector<double>(), dims, a.keep(3))};
}

Tensors largest(Arguments& a) {
  const Order order = a.flag(3, "largest", true) ? Order::descending : Order::ascending;
  a.flag(4, "sorted", true);  // Tally's always are
  require_no_ties(a.self(), a.integer(2, "dim", -1));
  const ValuesAndIndices both = topk(a.self(), a.integer(1, "k"), a.integer(2, "dim", -1), order);
  return {both.values, both.indices};
}

Order order_of(Arguments& a) { return a.flag(2, "descending") ? Order::descending : Order::ascending; }

Tensors sorted(Arguments& a) {
  a.flag(3, "stable");  // Tally's always is
  const ValuesAndIndices both = sort(a.self(), a.integer(1, "dim", -1), order_of(a));
  return {both.values, both.indices};
}

Tensors minimum_and_maximum(Arguments& a) {
  const MinAndMax both = aminmax(a.self(), a.dims(1, "dim"), a.keep(2));
  require_no_nan_gradient(a.self(), both.min);
  return {both.min, both.max};
}

Tensors normalized(Arguments& a) {
  return {
      normalize(a.self(), a.real(1, "p", 2), a.has(2, "dim") ? a.dims(2, "dim") : Dims(1), a.real(3, "eps", 1e-12))};
}

}  // namespace

Table reductions() {
  return {
      {"sum", with_dtype<sum, sum>},
      {"mean", with_dtype<mean, mean>},
      {"prod", with_dtype<prod, prod>},
      {"nansum", cast_first<nansum>},
      {"nanmean", cast_first<nanmean>},
      {"max", extreme<amax, max_with_index, maximum>},
      {"min", extreme<amin, min_with_index, minimum>},
      {"max_all", shared_extreme<amax>},
      {"min_all", shared_extreme<amin>},
      {"amax", shared_extreme<amax>},
      {"amin", shared_extreme<amin>},
      {"aminmax", minimum_and_maximum},
      {"argmax", over_dims<argmax>},
      {"argmin", over_dims<argmin>},
      {"any", over_dims<any>},
      {"all", over_dims<all>},
      {"count_nonzero", over_dims<count_nonzero>},
      {"logsumexp",
       [](Arguments& a) {
         if (!is_floating(a.self().dtype())) throw Skip("integers want a cast");
         return over_dims<logsumexp>(a);
       }},
      {"norm", vector_norm},
      {"norm_legacy", legacy_norm},
      {"var", spread_of<var>},
      {"var_unbiased", spread_of<var>},
      {"std", spread_of<tally::std>},
      {"std_unbiased", spread_of<tally::std>},
      {"var_mean", variance_and_mean},
      {"var_mean_unbiased", variance_and_mean},
      {"std_mean", deviation_and_mean},
      {"std_mean_unbiased", deviation_and_mean},
      {"softmax", soft<softmax>},
      {"softmax_with_dtype", soft<softmax>},
      {"log_softmax", soft<log_softmax>},
      {"log_softmax_with_dtype", soft<log_softmax>},
      {"cumsum", running<cumsum, cumsum>},
      {"cumprod", running<cumprod, cumprod>},
      {"logcumsumexp", [](Arguments& a) { return Tensors{logcumsumexp(a.self(), a.integer(1, "dim"))}; }},
      {"median", medians},
      {"quantile", quantiles},
      {"topk", largest},
      {"sort", sorted},
      {"argsort",
       [](Arguments& a) {
         a.flag(3, "stable");
         return Tensors{argsort(a.self(), a.integer(1, "dim", -1), order_of(a))};
       }},
      {"normalize", normalized},
      {"dist", [](Arguments& a) { return Tensors{dist(a.self(), a.tensor(1, "other"), a.real(2, "p", 2))}; }},
      {"dot", [](Arguments& a) { return Tensors{dot(a.self(), a.tensor(1, "tensor"))}; }},
      {"trace", one_sided<trace>},
  };
}

}  // namespace tally::conformance
