// What the loops of both devices share: the functors they run, and the walk over a result and its inputs.
#pragma once

#include <array>
#include <cstddef>
#include <variant>

#include <tally/core/convert.h>
#include <tally/core/strided.h>
#include <tally/ops/elementwise_op.h>

namespace tally::detail {

/// One input of a loop: a tensor that broadcasts to the result, or a number.
struct Input {
  Input() = default;
  Input(const Tensor& x) : tensor(&x) {}  // NOLINT
  Input(Number x) : number(x) {}          // NOLINT
  const Tensor* tensor = nullptr;
  Number number = 0;
};
template <std::size_t N> using Inputs = std::array<Input, N>;

/// Strides with which `tensor` reads as `shape`, which it broadcasts to.
Shape broadcast_strides(const Tensor& tensor, const Shape& shape);

/// Operand 0 is the result, operand k + 1 input k; a number has stride 0 everywhere.
template <std::size_t N> Strided<N + 1> walk_of(const Tensor& out, const Inputs<N>& inputs) {
  std::array<Shape, N> strides;
  std::array<const Shape*, N + 1> all{&out.strides()};
  for (std::size_t k = 0; k < N; ++k) {
    if (inputs[k].tensor)
      strides[k] = broadcast_strides(*inputs[k].tensor, out.shape());
    else
      for (int d = 0; d < out.dim(); ++d) strides[k].push_back(0);
    all[k + 1] = &strides[k];
  }
  return Strided<N + 1>(out.shape(), all);
}

/// A C++ number as it enters a loop over T: rounded to T, as if it were a tensor.
template <class T> Compute<T> loop_value(Number number) {
  return convert<Compute<T>>(number.is_real() ? convert<T>(number.as<double>())
                                              : convert<T>(number.as<std::int64_t>()));
}

template <class Op> struct Forward {
  static constexpr bool on_integers = result_of<Op>() != Result::real;
  Op op;
  template <class... C> TALLY_HD auto operator()(C... x) const { return op.f(x...); }
};

/// The derivative of a one-sided op from what backward keeps; C may be Tensor.
template <class Op, class C> TALLY_HD auto derivative(const Op& op, const C& kept) {
  if constexpr (FromResult<Op>)
    return op.df_of_result(kept);
  else
    return op.df(kept);
}

template <class Op, class C> TALLY_HD C times_slope(C grad, C slope) {
  if constexpr (curvature_of<Op>() == Curvature::none)
    return slope == 0 ? C(0) : grad * slope;
  else
    return grad * slope;
}

// The gradients: Pull of a one-sided op, PullLeft and PullRight of a two-sided one.
template <class Op> struct Pull {
  static constexpr bool on_integers = false;
  Op op;
  template <class C> TALLY_HD C operator()(C grad, C kept) const {
    return times_slope<Op, C>(grad, derivative(op, kept));
  }
};

template <class Op> struct PullLeft {
  static constexpr bool on_integers = false;
  Op op;
  template <class C> TALLY_HD C operator()(C grad, C a, C b) const { return times_slope<Op, C>(grad, op.da(a, b)); }
};

template <class Op> struct PullRight {
  static constexpr bool on_integers = false;
  Op op;
  template <class C> TALLY_HD C operator()(C grad, C a, C b) const { return times_slope<Op, C>(grad, op.db(a, b)); }
};

/// LoopsOf<Forward, std::variant<Exp, Log>> is std::variant<Forward<Exp>, Forward<Log>>.
template <template <class> class Kind, class List> struct LoopsOfList;
template <template <class> class Kind, class... Op> struct LoopsOfList<Kind, std::variant<Op...>> {
  using type = std::variant<Kind<Op>...>;
};
template <template <class> class Kind, class List> using LoopsOf = typename LoopsOfList<Kind, List>::type;

}  // namespace tally::detail
