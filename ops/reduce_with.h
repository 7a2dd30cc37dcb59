// A user's own reduction: a struct as ops/reduction.h describes it, run in the library's order, with gradient.
//
//   struct SumOfSquares {
//     static constexpr auto name = "sum_of_squares";
//     template <class C> using Acc = C;
//     template <class C> TALLY_HD C identity() const { return C(0); }
//     template <class C> TALLY_HD C lift(C x) const { return x * x; }
//     template <class C> TALLY_HD C combine(C a, C b) const { return a + b; }
//     template <class C> TALLY_HD C project(C acc, std::int64_t, C) const { return acc; }
//     template <class C> TALLY_HD C derivative(C x, C, std::int64_t, C) const { return 2 * x; }
//   };
//   Tensor y = reduce_with(SumOfSquares{}, x, {1});
//
// From a .cpp it runs on the CPU, from a .cu that nvcc compiles on both devices. The bits are those of the documented
// order if the file is compiled with -ffp-contract=off (and -fmad=false).
#pragma once

#include <functional>

#include <tally/ops/cpu/reduce_call.h>
#include <tally/ops/elementwise.h>
#include <tally/ops/reduce_front.h>
#include <tally/ops/reduction_check.h>
#if defined(__CUDACC__) || defined(TALLY_SIMT)
#include <tally/ops/cuda/reduce.cuh>
#define TALLY_REDUCES_ON_CUDA 1
#endif

namespace tally {
namespace detail {

[[noreturn]] void throw_reduce_once_differentiable(const char* name);

/// Kernels instantiated where they are used. Unit is the kind of translation unit: the same op in a .cpp and in a .cu
/// are two instantiations.
template <class Op, class Unit> struct LocalKernels {
  Op op;

  ReduceTraits traits(DType dtype) const { return reduce_traits<Op>(dtype); }
  Spread spread() const { return Spread::no; }

  void forward(const ReduceCall& call) const {
    for_type(call.x.dtype(), [&](auto tag) {
      using T [[maybe_unused]] = typename decltype(tag)::type;
      if (call.x.device() == Device::cpu) {
        cpu_loops::run(op, call);
      } else {
#if defined(TALLY_REDUCES_ON_CUDA)
        using Out = Results<Op, T>;
        const auto data = [](const Tensor& t) { return t.defined() ? t.raw() : nullptr; };
        cuda_loops::reduce(op, call.lists, static_cast<const T*>(call.x.raw()),
                           Out{static_cast<typename Out::First*>(data(call.first)),
                               static_cast<typename Out::Second*>(data(call.second)),
                               static_cast<typename Out::Acc*>(data(call.accumulators))});
#else
        throw_host_only(Op::name, {});
#endif
      }
    });
  }

  void backward(const ReduceBackwardCall& call, const Lists&) const {
    for_type(call.gx.dtype(), [&](auto tag) {
      using T [[maybe_unused]] = typename decltype(tag)::type;
      if (call.gx.device() == Device::cpu) {
        cpu_loops::run_backward(op, call);
      } else {
#if defined(TALLY_REDUCES_ON_CUDA)
        using Acc = typename Op::template Acc<Compute<T>>;
        cuda_loops::reduce_backward(op, call.walk, call.length,
                                    static_cast<const T*>(call.x.defined() ? call.x.raw() : nullptr),
                                    static_cast<const T*>(call.grad.raw()),
                                    static_cast<const Acc*>(call.accumulators.raw()), static_cast<T*>(call.gx.raw()));
#else
        throw_host_only(Op::name, {});
#endif
      }
    });
  }

  Tensor recorded(const Tensor& x, const Tensor& y, const Tensor& grad, std::int64_t n,
                  const std::function<Tensor(const Tensor& grad)>&) const {
    if constexpr (requires { op.gradient(x, y, grad, n); })
      return op.gradient(x, y, grad, n);
    else
      throw_reduce_once_differentiable(Op::name);
  }

 private:
  template <class F> static void for_type(DType dtype, F&& f) {
    visit(dtype, [&](auto tag) {
      if constexpr (op_accepts<Op, typename decltype(tag)::type>()) f(tag);
    });
  }
};

}  // namespace detail

/// The op over `dims` of x. For a second derivative the op also has `Tensor gradient(x, y, grad, n) const`, made of
/// recorded ops, where y and grad have the reduced dims as size 1.
template <class Op, class Unit = detail::Unit>
Tensor reduce_with(const Op& op, const Tensor& x, Dims dims = {}, KeepDim keep = {}, Where where = Where::here()) {
  if constexpr (detail::check_reduction<Op>())
    return detail::reduce_front(detail::LocalKernels<Op, Unit>{op}, x, dims, keep, {}, Op::name, where)[0];
  else
    return x;
}

}  // namespace tally
