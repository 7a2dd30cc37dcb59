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
template <class F, std::size_t... I>
std::vector<Tensor> call(F& f, const std::vector<Tensor>& inputs, std::index_sequence<I...>) {
  return as_list(f(inputs[I]...));
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
  return [f = std::move(f)](const std::vector<Tensor>& inputs) mutable {
    if constexpr (detail::takes_tensors<F>())
      return detail::call_by_count(f, inputs);
    else
      return detail::as_list(f(inputs));
  };
}

}  // namespace tally
