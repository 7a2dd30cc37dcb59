// For the row_*.cu files: a call of one op, for all element types.
#pragma once

#include <tally/ops/row_backend.h>
#include <tally/ops/cuda/row_kernel.cuh>

namespace tally::cuda_loops {

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
      bool aligned = true;
      const auto fits = [&](const void* address, std::size_t bytes) {
        aligned &= reinterpret_cast<std::uintptr_t>(address) % (kVector * bytes) == 0;
      };
      for (int k = 0; k < Op::inputs; ++k) {
        const Tensor& in = call.inputs[static_cast<std::size_t>(k)];
        task.in[k] = static_cast<const T*>(in.raw());
        task.step[k] = row_step(in, call.shape);
        fits(task.in[k], sizeof(T));
        aligned &= task.step[k] % kVector == 0;
      }
      task.out = static_cast<T*>(call.out.raw());
      fits(task.out, sizeof(T));
      task.rows = call.shape.rows;
      task.n = call.shape.n;
      const auto column = [&](const Tensor& of) { return of.defined() ? static_cast<const C*>(of.raw()) : nullptr; };
      task.weight = column(call.weight);
      task.bias = column(call.bias);
      task.kept = call.accumulators.defined() ? static_cast<typename Task::Kept*>(call.accumulators.raw()) : nullptr;
      return map_rows(task, aligned);
    }
  });
}

}  // namespace tally::cuda_loops
