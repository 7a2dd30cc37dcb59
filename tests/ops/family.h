// Everything that reduces, scans or ranks, as one kind of call: over the last dim of x, a list or a batch of lists. The
// names are those of the table in ops/README.md. Behind them the elementwise functions whose bits are promised too.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <tally/autograd/backward.h>
#include <tally/core/raw.h>
#include <tally/ops/binary.h>
#include <tally/ops/compose.h>
#include <tally/ops/join.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/scan.h>
#include <tally/ops/select.h>
#include <tally/ops/softmax.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>

namespace tally::test {

struct FamilyOp {
  std::string name;
  std::function<std::vector<Tensor>(const Tensor&)> run;
  bool list_by_list = false;  // takes one list a call: a batch is many calls
  std::int64_t longest = INT64_MAX;

  bool takes(std::int64_t n) const { return n <= longest && !(name == "topk" && n < 2); }
};
inline std::ostream& operator<<(std::ostream& out, const FamilyOp& op) { return out << op.name; }

namespace detail {

inline FamilyOp each_list(std::string name, Tensor (*f)(const Tensor& list), std::int64_t longest = INT64_MAX) {
  const auto run = [f](const Tensor& x) -> std::vector<Tensor> {
    if (x.dim() == 1) return {f(x)};
    std::vector<Tensor> results;
    for (std::int64_t i = 0; i < x.size(0); ++i) results.push_back(f(select(x, 0, i)));
    return {stack(results, 0)};
  };
  return {std::move(name), run, true, longest};
}

inline FamilyOp norm_of(std::string name, double p) {
  return {std::move(name), [p](const Tensor& x) { return std::vector{norm(x, p, -1)}; }};
}

}  // namespace detail

inline const std::vector<FamilyOp>& family() {
  using List = std::vector<Tensor>;
  using T = const Tensor&;
  constexpr double kInf = __builtin_inf();
  static const std::vector<FamilyOp> ops = {
      {"sum", [](T x) { return List{sum(x, -1)}; }},
      {"mean", [](T x) { return List{mean(x, -1)}; }},
      {"prod", [](T x) { return List{prod(x, -1)}; }},
      {"max", [](T x) { return List{max(x, -1)}; }},
      {"min", [](T x) { return List{min(x, -1)}; }},
      {"max_with_index",
       [](T x) {
         const ValuesAndIndices y = max_with_index(x, -1);
         return List{y.values, y.indices};
       }},
      {"min_with_index",
       [](T x) {
         const ValuesAndIndices y = min_with_index(x, -1);
         return List{y.values, y.indices};
       }},
      {"amax", [](T x) { return List{amax(x, -1)}; }},
      {"amin", [](T x) { return List{amin(x, -1)}; }},
      {"aminmax",
       [](T x) {
         const MinAndMax y = aminmax(x, -1);
         return List{y.min, y.max};
       }},
      {"argmax", [](T x) { return List{argmax(x, -1)}; }},
      {"argmin", [](T x) { return List{argmin(x, -1)}; }},
      {"any", [](T x) { return List{any(x, -1)}; }},
      {"all", [](T x) { return List{tally::all(x, -1)}; }},
      {"count_nonzero", [](T x) { return List{count_nonzero(x, -1)}; }},
      detail::norm_of("norm, p = 2", 2),
      detail::norm_of("norm, p = 1", 1),
      detail::norm_of("norm, p = 0", 0),
      detail::norm_of("norm, p = inf", kInf),
      detail::norm_of("norm, p = -inf", -kInf),
      detail::norm_of("norm, other p > 0", 3),
      detail::norm_of("norm, p < 0", -1.5),
      {"var", [](T x) { return List{var(x, -1)}; }},
      {"std", [](T x) { return List{tally::std(x, -1)}; }},
      {"var_mean",
       [](T x) {
         const VarAndMean y = var_mean(x, -1);
         return List{y.var, y.mean};
       }},
      {"logsumexp", [](T x) { return List{logsumexp(x, -1)}; }},
      {"nansum", [](T x) { return List{nansum(x, -1)}; }},
      {"nanmean", [](T x) { return List{nanmean(x, -1)}; }},
      detail::each_list("dot", [](T x) { return dot(x, x); }),
      // The list as the diagonal of a matrix of equal rows.
      detail::each_list(
          "trace",
          [](T x) {
            return trace(expand(unsqueeze(x, 0), {x.size(0), x.size(0)}));
          },
          150),
      detail::each_list("dist",
                        [](T x) { return dist(x, ones(x.shape(), {.dtype = x.dtype(), .device = x.device()})); }),
      {"median", [](T x) { return List{median(x, -1)}; }},
      {"median_with_index",
       [](T x) {
         const ValuesAndIndices y = median_with_index(x, -1);
         return List{y.values, y.indices};
       }},
      {"quantile", [](T x) { return List{quantile(x, 0.5, -1)}; }},
      {"topk",
       [](T x) {
         const ValuesAndIndices y = topk(x, 2);
         return List{y.values, y.indices};
       }},
      {"sort",
       [](T x) {
         const ValuesAndIndices y = sort(x);
         return List{y.values, y.indices};
       }},
      {"argsort", [](T x) { return List{argsort(x)}; }},
      {"softmax", [](T x) { return List{softmax(x, -1)}; }},
      {"log_softmax", [](T x) { return List{log_softmax(x, -1)}; }},
      {"normalize", [](T x) { return List{normalize(x, 2, -1)}; }},
      {"cumsum", [](T x) { return List{cumsum(x, -1)}; }},
      {"cumprod", [](T x) { return List{cumprod(x, -1)}; }},
      {"logcumsumexp", [](T x) { return List{logcumsumexp(x, -1)}; }},
      {"recurrence", [](T x) { return List{recurrence(x, x, -1)}; }},
  };
  return ops;
}

/// Functions that are no polynomials. Where one is real for positive numbers only, |x| is taken.
inline const std::vector<FamilyOp>& functions() {
  using List = std::vector<Tensor>;
  using T = const Tensor&;
  static const std::vector<FamilyOp> ops = {
      {"exp", [](T x) { return List{exp(x)}; }},
      {"expm1", [](T x) { return List{expm1(x)}; }},
      {"log", [](T x) { return List{log(abs(x))}; }},
      {"log1p", [](T x) { return List{log1p(abs(x))}; }},
      {"sqrt", [](T x) { return List{sqrt(abs(x))}; }},
      {"rsqrt", [](T x) { return List{rsqrt(abs(x))}; }},
      {"reciprocal", [](T x) { return List{reciprocal(x)}; }},
      {"sin", [](T x) { return List{sin(x)}; }},
      {"cos", [](T x) { return List{cos(x)}; }},
      {"tanh", [](T x) { return List{tanh(x)}; }},
      {"erf", [](T x) { return List{erf(x)}; }},
      {"sigmoid", [](T x) { return List{sigmoid(x)}; }},
      {"softplus", [](T x) { return List{softplus(x)}; }},
      {"silu", [](T x) { return List{silu(x)}; }},
      {"gelu", [](T x) { return List{gelu(x)}; }},
      {"pow", [](T x) { return List{pow(abs(x), x)}; }},
      {"div", [](T x) { return List{div(x, 3 + abs(x))}; }},
  };
  return ops;
}

/// All whose bits are promised.
inline std::vector<FamilyOp> promised() {
  std::vector<FamilyOp> ops = family();
  ops.insert(ops.end(), functions().begin(), functions().end());
  return ops;
}

/// 0.75 for the one result of a list; where a list has several, each place has a cotangent of its own.
inline Tensor cotangent(const Tensor& y, const Tensor& x) {
  const Options like{.dtype = y.dtype(), .device = y.device()};
  if (y.dim() < x.dim() || y.dim() == 0) return full(y.shape(), 0.75, like);
  std::vector<double> row;
  for (std::int64_t i = 0; i < y.size(-1); ++i) row.push_back(0.75 - 0.25 * static_cast<double>(i * 5 % 8));
  return expand(tensor(row).to(y.dtype()).to(y.device()), y.shape());
}

/// The results and, where there is one, the gradient of x; all dense.
inline std::vector<Tensor> results_and_gradient(const FamilyOp& op, const Tensor& x) {
  const bool floating = is_floating(x.dtype());
  const Tensor leaf = floating ? x.detach().requires_grad_() : x;
  std::vector<Tensor> all, outputs, cotangents;
  for (const Tensor& y : op.run(leaf)) {
    all.push_back(y.detach().contiguous());
    if (!y.requires_grad()) continue;
    outputs.push_back(y);
    cotangents.push_back(cotangent(y, x));
  }
  if (!outputs.empty()) all.push_back(grad(outputs, {leaf}, cotangents)[0].contiguous());
  return all;
}

}  // namespace tally::test
