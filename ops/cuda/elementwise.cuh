// The elementwise kernel (core/cuda/elementwise.cuh) for the ops of a list.
#pragma once

#include <variant>

#include <tally/ops/elementwise_loop.h>
#include <tally/core/cuda/elementwise.cuh>

namespace tally::detail {

template <class T> DeviceInput<T> device_input(const Input& input) {
  if (input.tensor) return {static_cast<const T*>(input.tensor->raw()), T{}};
  return {nullptr,
          input.number.is_real() ? convert<T>(input.number.as<double>()) : convert<T>(input.number.as<std::int64_t>())};
}

/// out = f(inputs...), all inputs of type `dtype`; F decides whether `out` has it too or is bool.
template <class F, std::size_t N>
void run_elementwise(const char* name, const F& f, const Tensor& out, const Inputs<N>& inputs, DType dtype) {
  const auto walk = walk_of(out, inputs);
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    if constexpr (std::is_floating_point_v<C> || F::on_integers) {
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        using R = decltype(f(((void)K, C(0))...));
        using Out = std::conditional_t<std::is_same_v<R, bool>, bool, T>;
        // The long formulas are written out for each result of a thread: not too often.
        constexpr int kMost = result_of<decltype(F::op)>() == Result::real ? 4 : 8;
        launch_elementwise<kMost>(name, f, walk, static_cast<Out*>(out.raw()), device_input<T>(inputs[K])...);
      }
      (std::make_index_sequence<N>{});
    }
  });
}

/// The same for the op that `loop` holds.
template <class... F, std::size_t N>
void visit_elementwise(const std::variant<F...>& loop, const Tensor& out, const Inputs<N>& inputs, DType dtype) {
  std::visit([&](const auto& f) { run_elementwise(decltype(f.op)::name, f, out, inputs, dtype); }, loop);
}

}  // namespace tally::detail
