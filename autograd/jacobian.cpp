#include <tally/autograd/jacobian.h>

#include <tally/autograd/backward.h>
#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>

namespace tally {
namespace {

Tensors leaves_of(const char* op, const Tensors& inputs, Where where) {
  Tensors leaves;
  for (const Tensor& input : inputs) {
    if (!input.defined()) throw AutogradError(op, "an input is undefined", where);
    if (!is_floating(input.dtype()))
      throw AutogradError(op, describe(input) + " is not floating and has no derivative; use .to(float64)", where);
    leaves.push_back(input.detach().requires_grad_());
  }
  return leaves;
}

Tensor view(const Tensor& tensor, std::int64_t offset, const Shape& shape) {
  return Tensor(tensor.storage(), offset, shape, contiguous_strides(shape), tensor.dtype());
}

// Row by row: the gradient of each element of `output`.
Tensors rows(const Tensor& output, const Tensors& leaves, Where where) {
  const Options like{.dtype = output.dtype(), .device = output.device()};
  Tensors matrices;
  for (const Tensor& leaf : leaves) {
    Shape shape = output.shape();
    for (const std::int64_t size : leaf.shape()) {
      if (shape.size() == kMaxDims)
        throw ShapeError("jacobian", describe(output) + " by " + describe(leaf) + " has too many dims", where);
      shape.push_back(size);
    }
    matrices.push_back(zeros(shape, {.dtype = leaf.dtype(), .device = leaf.device()}, where));
  }
  if (!output.requires_grad()) return matrices;
  for (std::int64_t i = 0; i < output.numel(); ++i) {
    const Tensor one_hot = zeros(output.shape(), like, where);
    raw::fill(view(one_hot, i, {}), 1);
    const Tensors gradients = grad({output}, leaves, {one_hot}, {.retain_graph = true}, where);
    for (std::size_t k = 0; k < leaves.size(); ++k)
      if (gradients[k].defined()) raw::copy(view(matrices[k], i * leaves[k].numel(), leaves[k].shape()), gradients[k]);
  }
  return matrices;
}

// f's one output of one element.
Tensor value_of(const char* op, const TensorFunction& f, const Tensors& leaves, Where where) {
  const Tensors outputs = f(leaves);
  if (outputs.size() != 1 || !outputs[0].defined() || outputs[0].numel() != 1)
    throw ShapeError(op,
                     "the function must give one tensor of one element, not " +
                         (outputs.size() == 1 ? describe(outputs[0]) : std::to_string(outputs.size()) + " tensors"),
                     where);
  return outputs[0];
}

// The gradient with its history; an input without influence gets none.
Tensors slopes_of(const char* op, const TensorFunction& f, const Tensors& leaves, Where where) {
  const Tensor value = value_of(op, f, leaves, where);
  if (!value.requires_grad()) return Tensors(leaves.size());
  return grad({value}, leaves, {}, {.create_graph = true}, where);
}

Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), {.dtype = x.dtype(), .device = x.device()}); }

}  // namespace

std::vector<Tensors> jacobian_function(const TensorFunction& f, const Tensors& inputs, Where where) {
  GradMode recording(true);
  const Tensors leaves = leaves_of("jacobian", inputs, where);
  std::vector<Tensors> found;
  for (const Tensor& output : f(leaves)) {
    if (!output.defined() || !is_floating(output.dtype()))
      throw AutogradError("jacobian", "an output, " + describe(output) + ", has no derivative", where);
    found.push_back(rows(output, leaves, where));
  }
  return found;
}

std::vector<Tensors> hessian_function(const TensorFunction& f, const Tensors& inputs, Where where) {
  GradMode recording(true);
  const Tensors leaves = leaves_of("hessian", inputs, where);
  const Tensors slopes = slopes_of("hessian", f, leaves, where);
  std::vector<Tensors> found;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    found.push_back(rows(slopes[i].defined() ? slopes[i] : zeros_like(leaves[i]), leaves, where));
  return found;
}

Tensors hvp_function(const TensorFunction& f, const Tensors& inputs, const Tensors& vectors, Where where) {
  if (vectors.size() != inputs.size())
    throw ShapeError(
        "hvp", std::to_string(vectors.size()) + " vectors for " + std::to_string(inputs.size()) + " inputs", where);
  GradMode recording(true);
  const Tensors leaves = leaves_of("hvp", inputs, where);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!vectors[i].defined() || vectors[i].shape() != leaves[i].shape() || vectors[i].dtype() != leaves[i].dtype() ||
        vectors[i].device() != leaves[i].device())
      throw ShapeError("hvp", "vector " + describe(vectors[i]) + " does not fit input " + describe(leaves[i]), where);
  const Tensors slopes = slopes_of("hvp", f, leaves, where);
  Tensors outputs, cotangents;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    if (!slopes[i].defined() || !slopes[i].requires_grad()) continue;
    outputs.push_back(slopes[i]);
    cotangents.push_back(vectors[i]);
  }
  Tensors products(leaves.size());
  if (!outputs.empty()) products = grad(outputs, leaves, cotangents, {}, where);
  for (std::size_t i = 0; i < products.size(); ++i)
    if (!products[i].defined()) products[i] = zeros_like(leaves[i]);
  return products;
}

}  // namespace tally
