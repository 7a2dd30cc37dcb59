// From the front end's tensors to the CPU's typed loops, for one op.
#pragma once

#include <tally/core/raw.h>
#include <tally/ops/cpu/reduce.h>
#include <tally/ops/reduce_backend.h>

namespace tally::cpu_loops {

template <class C> Source<C> source_of(const Tensor& x) {
  return visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<Compute<T>, C>)
      return Source<C>::of(static_cast<const T*>(x.raw()));
    else
      return Source<C>{};
  });
}

// A result is written as the loops compute it and rounded once on its way to the caller's tensor.
class Landing {
 public:
  Landing(const Tensor& target, DType dtype)
      : target_(target),
        temporary_(target.defined() && target.dtype() != dtype ? empty(target.shape(), {.dtype = dtype}) : target) {}
  void* raw() const { return temporary_.defined() ? temporary_.raw() : nullptr; }
  void finish() const {
    if (target_.defined() && !temporary_.is_same(target_)) raw::copy(target_, temporary_);
  }

 private:
  Tensor target_, temporary_;
};

inline Tensor in(DType dtype, const Tensor& x) {
  if (!x.defined() || x.dtype() == dtype) return x;
  // Strides stay as they are: the walk was planned for them. Only memory that the view spans is copied.
  std::int64_t span = 1;
  for (int d = 0; d < x.dim(); ++d) span += (x.shape()[d] - 1) * x.strides()[d];
  const Tensor whole(x.storage(), x.offset(), {span}, {1}, x.dtype());
  Tensor converted = empty({span}, {.dtype = dtype});
  raw::copy(converted, whole);
  return Tensor(converted.storage(), 0, x.shape(), x.strides(), dtype);
}

/// f(C{}) for the type that `op` computes in on elements of `dtype`.
template <class Op, class F> void for_compute(DType dtype, F&& f) {
  if (dtype == float64) return f(double{});
  if (is_floating(dtype)) return f(float{});
  if constexpr (op_accepts<Op, std::int64_t>()) f(std::int64_t{});
}

template <class Op> void run(const Op& op, const ReduceCall& call) {
  for_compute<Op>(call.x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    using Out = Results<Op, C>;
    const Landing first(call.first, dtype_of<typename Out::First>());
    const Landing second(call.second, dtype_of<typename Out::Second>());
    reduce(op, call.lists, source_of<C>(call.x),
           Out{static_cast<typename Out::First*>(first.raw()), static_cast<typename Out::Second*>(second.raw()),
               call.accumulators.defined() ? static_cast<typename Out::Acc*>(call.accumulators.raw()) : nullptr});
    first.finish();
    second.finish();
  });
}

template <class Op> void run_backward(const Op& op, const ReduceBackwardCall& call) {
  for_compute<Op>(call.gx.dtype(), [&](auto zero) {
    using C = decltype(zero);
    if constexpr (std::is_floating_point_v<C> && Slope<Op, C>::exists) {
      const Tensor x = in(dtype_of<C>(), call.x), grad = in(dtype_of<C>(), call.grad);
      const Landing gx(call.gx, dtype_of<C>());
      reduce_backward(op, call.walk, call.length, x.defined() ? x.data<C>() : nullptr, grad.data<C>(),
                      static_cast<const typename Op::template Acc<C>*>(call.accumulators.raw()),
                      static_cast<C*>(gx.raw()));
      gx.finish();
    }
  });
}

}  // namespace tally::cpu_loops
