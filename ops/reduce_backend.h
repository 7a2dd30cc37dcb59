// What the front end of the reductions asks of a device: a pair of overloads each.
#pragma once

#include <tally/core/device.h>
#include <tally/ops/reduce_plan.h>
#include <tally/ops/reductions.h>

namespace tally {

/// One forward call. `first` and `second` are dense, one element a list; either may be undefined where the op has two
/// results. `accumulators` (undefined: not kept) holds one accumulator a list as bytes.
struct ReduceCall {
  Tensor x;
  Lists lists;
  Tensor first, second, accumulators;
};
void reduce(Cpu, const Reduction& op, const ReduceCall& call);
void reduce(Cuda, const Reduction& op, const ReduceCall& call);

/// One backward call: gx = grad · derivative. `x` is undefined where the derivative does not read it.
struct ReduceBackwardCall {
  Strided<5> walk;  // of plan_backward
  std::int64_t length = 0;
  Tensor x, grad, accumulators, gx;
};
void reduce_backward(Cpu, const Reduction& op, const ReduceBackwardCall& call);
void reduce_backward(Cuda, const Reduction& op, const ReduceBackwardCall& call);

/// d prod / d x = grad · the product of the others in the list, by the reverse sweep of the order's own tree (never P /
/// x).
void prod_backward(Cpu, const ReduceBackwardCall& call, const Lists& lists);
void prod_backward(Cuda, const ReduceBackwardCall& call, const Lists& lists);

}  // namespace tally
