// Reductions on the CUDA device: which kernel, and its launch.
#pragma once

#include <tally/ops/cuda/reduce.h>
#include <tally/ops/cuda/reduce_scratch.h>
#include <tally/ops/cuda/reduce_backward.cuh>
#include <tally/ops/cuda/reduce_columns.cuh>
#include <tally/ops/cuda/reduce_rows.cuh>

namespace tally::cuda_loops {

/// Whether the row kernels load neighbours at once. Values of 8 bytes fill a warp's access as they are, and heavy ops
/// merge as often either way.
template <class Op, class T> constexpr bool has_row_vectors() {
  return !kHeavy<Op, Compute<T>> && is_float_type<T> && sizeof(T) < 8;
}

template <class Op, class T> void reduce(const Op& op, const Lists& lists, const T* x, const Results<Op, T>& out) {
  using Partial = PartialOf<Op, Compute<T>>;
  constexpr int kColumns = column_width<Op, T>();
  const Plan plan = cuda_loops::plan({.lists = lists,
                                      .element_bytes = sizeof(T),
                                      .address = reinterpret_cast<std::uintptr_t>(x),
                                      .row_vectors = has_row_vectors<Op, T>(),
                                      .column_width = kColumns},
                                     limits());
  if (plan.blocks == 0) return;
  const Scratch partials(static_cast<std::size_t>(plan.partials) * sizeof(Partial));
  const Task<Op, T> task{op,
                         x,
                         Walk<1>(lists.kept),
                         Walk<1>(lists.reduced),
                         lists.length(),
                         lists.outputs(),
                         out,
                         plan,
                         partials.as<Partial>(),
                         plan.tickets > 0 ? tickets(plan.tickets) : nullptr};
  const gpu::Grid grid{plan.blocks, plan.threads, 0, Op::name};
  if (plan.mapping == Plan::Mapping::columns) {
    const std::size_t board = static_cast<std::size_t>(2 * plan.threads) * kColumns * sizeof(Partial);
    const gpu::Grid with_board{plan.blocks, plan.threads, board, Op::name};
    if constexpr (kColumns > 1)
      if (plan.width == kColumns)
        return gpu::launch(
            plan.rows == 1 ? reduce_columns<Op, T, kColumns, 1> : reduce_columns<Op, T, kColumns, kRowsOfTile>,
            with_board, task);
    return gpu::launch(plan.rows == 1 ? reduce_columns<Op, T, 1, 1> : reduce_columns<Op, T, 1, kRowsOfTile>, with_board,
                       task);
  }
  const auto along_rows = [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    if (plan.mapping == Plan::Mapping::rows) return gpu::launch(reduce_rows<Op, T, kWidth>, grid, task);
    gpu::launch(plan.rows == 1   ? reduce_short_rows<Op, T, kWidth, 1>
                : plan.rows == 2 ? reduce_short_rows<Op, T, kWidth, 2>
                                 : reduce_short_rows<Op, T, kWidth, kRowsOfTile>,
                grid, task);
  };
  if constexpr (has_row_vectors<Op, T>()) {
    if (plan.width == kVector) return along_rows(std::integral_constant<int, kVector>());
  }
  along_rows(std::integral_constant<int, 1>());
}

}  // namespace tally::cuda_loops
