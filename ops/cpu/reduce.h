// The CPU's loops of every reduction, in the order of ops/reduction.h. A template: the library instantiates its own
// list, a user's .cpp its own ops through reduce_with. What is instantiated is one tile; the rest takes any op.
#pragma once

#include <tally/ops/cpu/reduce_loops.h>
#include <tally/ops/reduce_plan.h>

namespace tally::cpu_loops {

/// All lists of `x`. A list of nothing gives the identity; the caller has refused it where there is none.
template <class C>
void reduce_lists(const OpLoops<C>& loops, const Lists& lists, const Source<C>& x, const Outputs& out);

template <class Op, class C>
void reduce(const Op& op, const Lists& lists, const Source<C>& x, const Results<Op, C>& out) {
  reduce_lists(loops_of<Op, C>(op), lists, x, {out.first, out.second, out.accumulators});
}

}  // namespace tally::cpu_loops
