// For the row_*.cu files: a call of one op, for all element types.
#pragma once

#include <tally/ops/row_backend.h>
#include <tally/ops/cuda/row_long.cuh>
#include <tally/ops/cuda/row_short.cuh>

namespace tally::cuda_loops {

template <class Op, class T> bool map_rows(const RowTask<Op, T>& task) {
  const RowPlan& plan = task.plan;
  const gpu::Grid grid{plan.blocks, plan.threads, plan.shared_bytes, Op::name, true};
  switch (plan.mapping) {
    case RowPlan::Mapping::none:
      return false;
    case RowPlan::Mapping::short_rows:
      if (plan.lane_rows == 1)
        gpu::launch(map_short_rows<Op, T, 1>, grid, task);
      else if (plan.lane_rows == 2)
        gpu::launch(map_short_rows<Op, T, 2>, grid, task);
      else
        gpu::launch(map_short_rows<Op, T, 8>, grid, task);
      return true;
    case RowPlan::Mapping::long_rows:
      if constexpr (sizeof(T) <= 4) {
        if (plan.wide) {
          gpu::launch(map_long_rows<Op, T, kVector, false>, grid, task);
          return true;
        }
        if (plan.shifted) {
          gpu::launch(map_long_rows<Op, T, kVector, true>, grid, task);
          return true;
        }
      }
      gpu::launch(map_long_rows<Op, T, 1, false>, grid, task);
      return true;
  }
  return false;
}

template <class Op> bool map_rows_of(const Op& op, const RowCall& call) {
  return visit(call.out.dtype(), [&](auto tag) -> bool {
    using T = typename decltype(tag)::type;
    if constexpr (!is_float_type<T>) {
      return false;
    } else {
      using Task = RowTask<Op, T>;
      using C = Compute<T>;
      Task task{};
      task.op = op;
      bool aligned = true, alike = true;
      const auto past = [](const void* address) {
        return reinterpret_cast<std::uintptr_t>(address) % (kVector * sizeof(T));
      };
      for (int k = 0; k < Op::inputs; ++k) {
        const Tensor& in = call.inputs[static_cast<std::size_t>(k)];
        task.in[k] = static_cast<const T*>(in.raw());
        task.step[k] = row_step(in, call.shape);
        aligned &= past(task.in[k]) == 0 && task.step[k] % kVector == 0;
        alike &= past(task.in[k]) == past(call.out.raw()) && (task.step[k] - call.shape.n) % kVector == 0;
      }
      task.out = static_cast<T*>(call.out.raw());
      aligned &= past(task.out) == 0;
      task.rows = call.shape.rows;
      task.n = call.shape.n;
      const auto column = [&](const Tensor& of) { return of.defined() ? static_cast<const C*>(of.raw()) : nullptr; };
      task.weight = column(call.weight);
      task.bias = column(call.bias);
      task.has_columns = task.weight || task.bias;
      task.kept = call.accumulators.defined() ? static_cast<typename Task::Kept*>(call.accumulators.raw()) : nullptr;
      using Reduction = typename Op::Reduction;
      task.plan = plan_map(
          {.rows = task.rows,
           .n = task.n,
           .inputs = Op::inputs,
           .element_bytes = sizeof(T),
           .partial_bytes = std::max(sizeof(typename RowUnit<Op, C>::Value),
                                     sizeof(typename Exact<Reduction, typename Op::template Element<C>>::Value)),
           .aligned = aligned,
           .alike = alike},
          row_device());
      return map_rows(task);
    }
  });
}

}  // namespace tally::cuda_loops
