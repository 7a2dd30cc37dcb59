// Whole matrices of derivatives, and products with the second derivative. Each takes a function of tensors and the
// inputs at which to differentiate; it runs on leaves of its own that share the inputs' memory, so that no grad() is
// touched. Results have no history.
//
//   Tensor j = jacobian([](const Tensor& x) { return x * x; }, x);         // [3, 3] for x of shape [3]
//   Tensor h = hessian([](const Tensor& x) { return sum(x * x * x); }, x);  // [3, 3]
//   Tensor p = hvp([](const Tensor& x) { return sum(x * x * x); }, x, v);  // h times v, without h
#pragma once

#include <utility>
#include <vector>

#include <tally/autograd/tensor_function.h>

namespace tally {

/// Inputs, outputs or gradients, in order.
using Tensors = std::vector<Tensor>;

/// d output o / d input i as [o][i], of the output's shape followed by the input's; zeros where there is no dependence.
/// One backward walk an element of the outputs. AutogradError unless inputs and outputs are floating.
std::vector<Tensors> jacobian_function(const TensorFunction& f, const Tensors& inputs, Where where = Where::here());

/// d² f / d input i d input k as [i][k], of the first's shape followed by the second's, for a function of one output of
/// one element. One walk through the recorded gradient an element of the inputs.
std::vector<Tensors> hessian_function(const TensorFunction& f, const Tensors& inputs, Where where = Where::here());

/// The Hessian times `vectors`, one of the shape of each input: two walks, whatever the sizes.
Tensors hvp_function(const TensorFunction& f, const Tensors& inputs, const Tensors& vectors,
                     Where where = Where::here());

/// The same for any f that as_tensor_function takes; of one input and, for jacobian, one output, the one tensor.
template <class F> std::vector<Tensors> jacobian(F f, const Tensors& inputs, Where where = Where::here()) {
  return jacobian_function(as_tensor_function(std::move(f)), inputs, where);
}
template <class F> Tensor jacobian(F f, const Tensor& input, Where where = Where::here()) {
  return jacobian_function(as_tensor_function(std::move(f)), {input}, where).at(0).at(0);
}
template <class F> std::vector<Tensors> hessian(F f, const Tensors& inputs, Where where = Where::here()) {
  return hessian_function(as_tensor_function(std::move(f)), inputs, where);
}
template <class F> Tensor hessian(F f, const Tensor& input, Where where = Where::here()) {
  return hessian_function(as_tensor_function(std::move(f)), {input}, where)[0][0];
}
template <class F> Tensors hvp(F f, const Tensors& inputs, const Tensors& vectors, Where where = Where::here()) {
  return hvp_function(as_tensor_function(std::move(f)), inputs, vectors, where);
}
template <class F> Tensor hvp(F f, const Tensor& input, const Tensor& vector, Where where = Where::here()) {
  return hvp_function(as_tensor_function(std::move(f)), {input}, {vector}, where)[0];
}

}  // namespace tally
