// Elementwise loops on the CPU. The op's own loop is always over dense arrays of its arithmetic type, a block at a
// time, so it vectorises for every layout and there is one an op and type; what is strided, broadcast or of another
// type goes through a buffer in the L1 cache first. These copies do not depend on the op (elementwise.cpp).
#pragma once

#include <cstdint>
#include <type_traits>

#include <tally/ops/cpu/independent.h>
#include <tally/ops/elementwise_loop.h>

#if defined(__CUDACC__)
#define TALLY_FLATTEN
#else
#define TALLY_FLATTEN [[gnu::flatten]]
#endif

namespace tally::detail {

/// An op's loop over `count` elements, with the functor's type erased. R is what the functor returns: C or bool.
template <class C, class R>
using DenseLoop = void (*)(const void* functor, R* out, const C* const* inputs, std::int64_t count);

template <class C, class R, std::size_t N>
void run_blocks(const Tensor& out, const Inputs<N>& inputs, DType dtype, DenseLoop<C, R> loop, const void* functor);

template <class F, class C, class R, std::size_t N>
inline __attribute__((always_inline)) void loop_body(const void* functor, R* out, const C* const* inputs,
                                                     std::int64_t count) {
  const F f = *static_cast<const F*>(functor);
  const C* const a = inputs[0];
  if constexpr (N == 1) {
    TALLY_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(a[i]);
  } else if constexpr (N == 2) {
    const C* const b = inputs[1];
    TALLY_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
  } else {
    const C *const b = inputs[1], *const c = inputs[2];
    TALLY_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(a[i], b[i], c[i]);
  }
}

/// The loop in the instruction set of the file that it is compiled in. A call left in it would keep it from
/// vectorising.
struct DenseLoops {
  template <class F, class C, class R, std::size_t N>
  TALLY_FLATTEN static void run(const void* functor, R* out, const C* const* inputs, std::int64_t count) {
    loop_body<F, C, R, N>(functor, out, inputs, count);
  }
  template <class F, class C, class R, std::size_t N> static DenseLoop<C, R> best() { return run<F, C, R, N>; }
};

template <class Loops, class C, std::size_t N, class F>
void elementwise_as(const F& f, const Tensor& out, const Inputs<N>& inputs, DType dtype) {
  using R = decltype([&]<std::size_t... K>(std::index_sequence<K...>) {
    return f(((void)K, C(0))...);
  }(std::make_index_sequence<N>{}));
  run_blocks<C, R, N>(out, inputs, dtype, Loops::template best<F, C, R, N>(), &f);
}

/// out = f(inputs...), each input read as `dtype`, the arithmetic in Compute of it. `out` has the result's shape.
template <class Loops = DenseLoops, class F, std::size_t N>
void elementwise(Cpu, const F& f, const Tensor& out, const Inputs<N>& inputs, DType dtype) {
  if (dtype == float64) return elementwise_as<Loops, double>(f, out, inputs, dtype);
  if (is_floating(dtype)) return elementwise_as<Loops, float>(f, out, inputs, dtype);
  if constexpr (F::on_integers) elementwise_as<Loops, std::int64_t>(f, out, inputs, dtype);
}

}  // namespace tally::detail
