#include <tally/autograd/backward.h>

#include <tally/autograd/no_grad.h>
#include <tally/autograd/walk.h>
#include <tally/core/error.h>

namespace tally {
namespace {

// A leaf's gradient is dense and shares no bytes: not with a cotangent, nor with another leaf's.
Tensor own(Tensor&& grad, Where where) {
  const bool dense =
      grad.is_contiguous() && grad.storage()->bytes() == static_cast<std::size_t>(grad.numel()) * size_of(grad.dtype());
  return dense && grad.is_unique() ? std::move(grad) : grad.clone(where);
}

}  // namespace

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents, BackwardOptions options,
              Where where) {
  detail::Walk walk(options, where);
  GradMode mode(options.create_graph);
  walk.run(outputs, cotangents);
  for (auto& [leaf, grad] : walk.leaves) {
    Tensor total = leaf.body().grad;
    detail::Walk::accumulate(total, std::move(grad), where);
    grad = own(std::move(total), where);
  }
  for (auto& [leaf, grad] : walk.leaves) leaf.body().grad = std::move(grad);
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& cotangents, BackwardOptions options, Where where) {
  for (const Tensor& input : inputs)
    if (!input.defined() || !input.requires_grad())
      throw AutogradError("grad", "input " + describe(input) + " does not require grad", where);
  detail::Walk walk(options, where);
  walk.want(inputs);
  GradMode mode(options.create_graph);
  walk.run(outputs, cotangents);
  walk.leaves.clear();
  // Nothing that a caller may change in place shares memory with a cotangent or another gradient.
  for (Tensor& result : walk.results)
    if (result.defined() && result.is_leaf() && !result.is_unique()) result = result.clone(where);
  return std::move(walk.results);
}

}  // namespace tally
