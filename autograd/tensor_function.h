// Functions of tensors, however they are written: what gradcheck, jacobian and verify_op take.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include <tally/core/tensor.h>

namespace tally {

/// Tensors to tensors: what checks and Jacobians are of.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

namespace detail {

inline std::vector<Tensor> as_list(Tensor one) { return {std::move(one)}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> list) { return list; }
[[noreturn]] void throw_argument_count(std::size_t inputs);

inline constexpr std::size_t kMostArguments = 8;

template <class F, std::size_t... I> constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, decltype((void)I, std::declval<const Tensor&>())...>;
}
template <class F, std::size_t N = 1> constexpr bool takes_tensors() {
  if constexpr (N > kMostArguments)
    return false;
  else
    return takes<F>(std::make_index_sequence<N>{}) || takes_tensors<F, N + 1>();
}
template <class F> constexpr bool takes_list() { return std::is_invocable_v<F&, const std::vector<Tensor>&>; }
template <class Result> constexpr bool gives_tensors() {
  return std::is_convertible_v<Result, Tensor> || std::is_convertible_v<Result, std::vector<Tensor>>;
}
template <class Result> std::vector<Tensor> listed(Result&& result) {
  static_assert(gives_tensors<Result>(), "the function has to return a Tensor or a std::vector<Tensor>");
  if constexpr (gives_tensors<Result>())
    return as_list(std::forward<Result>(result));
  else
    return {};
}
template <class F, std::size_t... I>
std::vector<Tensor> call(F& f, const std::vector<Tensor>& inputs, std::index_sequence<I...>) {
  return listed(f(inputs[I]...));
}
template <class F, std::size_t N = 1> std::vector<Tensor> call_by_count(F& f, const std::vector<Tensor>& inputs) {
  if constexpr (N <= kMostArguments) {
    if constexpr (takes<F>(std::make_index_sequence<N>{}))
      if (inputs.size() == N) return call(f, inputs, std::make_index_sequence<N>{});
    return call_by_count<F, N + 1>(f, inputs);
  } else {
    throw_argument_count(inputs.size());
  }
}

}  // namespace detail

/// f(Tensor, ...) or f(vector<Tensor>), giving a Tensor or a vector of them, as one kind of function.
template <class F> TensorFunction as_tensor_function(F f) {
  constexpr bool takes_tensors = detail::takes_tensors<F>(), takes_list = detail::takes_list<F>();
  static_assert(
      takes_tensors || takes_list,
      "the function has to take one to eight Tensors, or a std::vector of them, and nothing else: put it into a "
      "lambda, such as [](const Tensor& x) { return op(x); } for an op whose last argument is a Where");
  return [f = std::move(f)]([[maybe_unused]] const std::vector<Tensor>& inputs) mutable -> std::vector<Tensor> {
    if constexpr (takes_tensors)
      return detail::call_by_count(f, inputs);
    else if constexpr (takes_list)
      return detail::listed(f(inputs));
    else
      return {};
  };
}

}  // namespace tally
