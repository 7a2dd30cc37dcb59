// Reductions on the CUDA device, as host code sees them. The library's ops are instantiated in the reduce_*.cu files;
// a user's .cu includes reduce.cuh.
#pragma once

#include <tally/core/strided.h>
#include <tally/ops/reduce_plan.h>
#include <tally/ops/results.h>

namespace tally::cuda_loops {

/// All lists of `x`, in the order of ops/reduction.h. A list of nothing gives the identity; the caller has refused it
/// where there is none.
template <class Op, class T> void reduce(const Op& op, const Lists& lists, const T* x, const Results<Op, T>& out);

/// gx = grad · derivative for every element of `walk` (ops/reduce_plan.h); `grad` and the accumulators are dense, one a
/// list of n elements. `x` is null where the derivative does not read it.
template <class Op, class T>
void reduce_backward(const Op& op, const Strided<5>& walk, std::int64_t n, const T* x, const T* grad,
                     const typename Op::template Acc<Compute<T>>* accumulators, T* gx);

}  // namespace tally::cuda_loops
