// From the front end's tensors to the CPU's typed loops, for one op.
#pragma once

#include <tally/ops/cpu/reduce.h>
#include <tally/ops/cpu/reduce_backward.h>
#include <tally/ops/reduce_backend.h>

namespace tally::cpu_loops {

/// The call with the op's loops; `first` and `second` are the dtypes they write.
template <class C> void run(const OpLoops<C>& loops, const ReduceCall& call, DType first, DType second);
template <class C> void run_backward(const void* op, SlopeLoop<C> loop, const ReduceBackwardCall& call);

/// f(C{}) for the type that `op` computes in on elements of `dtype`.
template <class Op, class F> void for_compute(DType dtype, F&& f) {
  if (dtype == float64) return f(double{});
  if (is_floating(dtype)) return f(float{});
  if constexpr (op_accepts<Op, std::int64_t>()) f(std::int64_t{});
}

template <class Op> void run(const Op& op, const ReduceCall& call) {
  for_compute<Op>(call.x.dtype(), [&](auto zero) {
    using Out = Results<Op, decltype(zero)>;
    run(loops_of<Op, decltype(zero)>(op), call, dtype_of<typename Out::First>(), dtype_of<typename Out::Second>());
  });
}

template <class Op> void run_backward(const Op& op, const ReduceBackwardCall& call) {
  for_compute<Op>(call.gx.dtype(), [&](auto zero) {
    using C = decltype(zero);
    if constexpr (std::is_floating_point_v<C> && Slope<Op, C>::exists) run_backward<C>(&op, slope_loop<Op, C>, call);
  });
}

}  // namespace tally::cpu_loops
