// The gradient of a reduction on the CPU: one walk for all ops, and the op's slope along a run of it.
#pragma once

#include <tally/core/strided.h>
#include <tally/ops/cpu/independent.h>
#include <tally/ops/reduction.h>

namespace tally::cpu_loops {

/// `count` elements that lie evenly. `x` and `pivot` are null where the derivative does not read them.
template <class C> struct SlopeRun {
  const C *x, *pivot, *grad;
  C* gx;
  const void* accumulators;
  std::int64_t list, index, length, count;  // which list and which of its elements comes first; elements a list
  std::int64_t x_step, pivot_step, gx_step, list_step, index_step;
};
template <class C> using SlopeLoop = void (*)(const void* op, const SlopeRun<C>&);

/// gx = grad · derivative.
template <class Op, class C> void slope_loop(const void* self, const SlopeRun<C>& run) {
  const Op& op = *static_cast<const Op*>(self);
  const auto* const accumulators = static_cast<const typename Op::template Acc<C>*>(run.accumulators);
  TALLY_INDEPENDENT
  for (std::int64_t k = 0; k < run.count; ++k) {
    const std::int64_t o = run.list + k * run.list_step;
    const C slope = Slope<Op, C>::at(op, run.x ? run.x[k * run.x_step] : C(0), run.index + k * run.index_step,
                                     accumulators[o], run.length, run.x ? run.pivot[k * run.pivot_step] : C(0));
    run.gx[k * run.gx_step] = run.grad[o] * slope;
  }
}

}  // namespace tally::cpu_loops
