// The gradient check of a gradient: of its values under create_graph, then of what they are derived to.
#include <algorithm>
#include <cmath>

#include <tally/autograd/backward.h>
#include <tally/autograd/gradcheck_run.h>
#include <tally/autograd/no_grad.h>
#include <tally/core/random.h>

namespace tally {
namespace {

using detail::Values;

// Whether the gradient recorded under create_graph cannot be had, or has other values than the plain one by more than
// round-off: then it is itself what is to be checked first.
bool recorded_is_suspect(const TensorFunction& f, const std::vector<Tensor>& inputs, std::uint64_t seed) {
  detail::Probe plain(f, inputs, seed), recorded(f, inputs, seed, detail::Backward::recorded);
  if (!plain.run() || !recorded.run()) return true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!plain.is_checked(i)) continue;
    const Values &a = plain.gradient(i), &b = recorded.gradient(i);
    double largest = 0;
    for (const double g : a) largest = std::isfinite(g) ? std::max(largest, std::abs(g)) : largest;
    for (std::size_t j = 0; j < a.size(); ++j)
      if (a[j] != b[j] && !(std::abs(a[j] - b[j]) <= 1e-9 * largest) && !(std::isnan(a[j]) && std::isnan(b[j])))
        return true;
  }
  return false;
}

}  // namespace

GradCheck gradgradcheck_function(const TensorFunction& f, const std::vector<Tensor>& inputs, GradCheckOptions options,
                                 Where where) {
  detail::require_inputs("gradgradcheck", inputs, where);
  GradMode recording(true);
  // A wrong gradient may have a right derivative: where an op writes its gradient twice, the second has to be one.
  if (recorded_is_suspect(f, inputs, options.seed)) {
    GradCheck first = detail::check_gradients(f, inputs, options, detail::Backward::recorded);
    if (first.verdict() == Verdict::wrong) {
      first.notes.push_back(first.failure.empty()
                                ? "of first order: under create_graph backward gives another gradient than without it"
                                : "of first order: there is no gradient under create_graph to differentiate");
      return first;
    }
  }
  // Inputs of the gradient: those of f, then a cotangent for each floating output.
  std::vector<Tensor> both = inputs;
  std::uint64_t word = 0;
  for (const Tensor& output : f(inputs)) {
    if (!output.defined() || !is_floating(output.dtype())) continue;
    Values weights(static_cast<std::size_t>(output.numel()));
    for (double& weight : weights) weight = 0.5 + uniform_of(philox(options.seed + 2, word++).word[0]);
    both.push_back(tensor(weights, output.shape(), output.device()));
  }
  const std::size_t count = inputs.size();
  return gradcheck_function(
      [&f, count](const std::vector<Tensor>& both) {
        std::vector<Tensor> inputs(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(count));
        std::vector<Tensor> wanted, outputs, cotangents;
        for (Tensor& input : inputs) {
          if (!is_floating(input.dtype())) continue;
          if (!input.requires_grad()) input = input.detach().requires_grad_();
          wanted.push_back(input);
        }
        std::size_t next = count;
        for (const Tensor& output : f(inputs)) {
          if (!output.defined() || !is_floating(output.dtype())) continue;
          const Tensor& cotangent = both[next++];
          if (!output.requires_grad()) continue;
          outputs.push_back(output);
          cotangents.push_back(cotangent.to(output.dtype()));
        }
        std::vector<Tensor> gradients(wanted.size());
        if (!outputs.empty()) gradients = grad(outputs, wanted, cotangents, {.create_graph = true});
        return gradients;
      },
      both, options, where);
}

}  // namespace tally
