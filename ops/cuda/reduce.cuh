// Reductions on the CUDA device: which kernel, and its launch.
#pragma once

#include <algorithm>
#include <type_traits>

#include <tally/ops/cuda/reduce.h>
#include <tally/ops/cuda/reduce_scratch.h>
#include <tally/ops/cuda/reduce_alike.cuh>
#include <tally/ops/cuda/reduce_backward.cuh>
#include <tally/ops/cuda/reduce_columns.cuh>
#include <tally/ops/cuda/reduce_rows.cuh>
#include <tally/ops/cuda/reduce_short_rows.cuh>
#include <tally/ops/cuda/reduce_slabs.cuh>
#include <tally/ops/cuda/reduce_small_slabs.cuh>
#include <tally/ops/cuda/reduce_straight.cuh>
#include <tally/ops/cuda/reduce_tiles.cuh>
#include <tally/ops/cuda/reduce_upright.cuh>

namespace tally::cuda_loops {

/// Of a thread of the column kernel.
template <class U, class Partial> std::size_t stack_bytes(int levels, int values) {
  return static_cast<std::size_t>(levels) *
         std::max(static_cast<std::size_t>(values) * sizeof(typename U::Value), sizeof(Partial));
}

/// Of a block of the kernel for slabs: its values and the binary counters of its lists, also where they turn exact.
template <class U, class Partial> std::size_t slab_bytes(const Plan& plan) {
  constexpr int kFiner = finer_steps<U, Partial>();
  const int quick = (plan.depth + plan.levels) * static_cast<int>(sizeof(typename U::Value));
  const int exact = ((plan.depth >> kFiner) + plan.levels + kFiner) * static_cast<int>(sizeof(Partial));
  return static_cast<std::size_t>(plan.slices * plan.across * std::max(quick, exact));
}

/// Whether the kernel is to begin while the one before it still runs. Its blocks are then not dealt evenly: of about
/// one a multiprocessor some get two, which counts where blocks compute for long (logsumexp of 2^20: 6.6 us, else 5.4).
template <class U> bool begins_early(const Plan& plan) {
  constexpr bool kLong = U::heavy || std::is_same_v<U, QuickLogSumExp>;
  return !kLong || plan.blocks <= 64 || plan.blocks > 132;
}

/// Reduces by the kernels of this very op.
template <class Op, class T>
void reduce_as(const char* name, const Op& op, const Lists& lists, const T* x, const Results<Op, T>& out) {
  using U = Unit<Op, Compute<T>>;
  using Partial = PartialOf<Op, Compute<T>>;
  constexpr int kColumns = column_width<U, T>(), kRowWidth = row_width<U, T>();
  constexpr bool kLight = !U::heavy && is_float_type<T> && sizeof(T) <= 4;
  const Plan plan = cuda_loops::plan({.lists = lists,
                                      .element_bytes = sizeof(T),
                                      .address = reinterpret_cast<std::uintptr_t>(x),
                                      .row_width = kRowWidth,
                                      .column_width = kColumns,
                                      .column_blocks = strip_blocks<U>(),
                                      .value_bytes = sizeof(typename U::Value),
                                      .together = Board<U, kRowWidth>::pays && sizeof(typename U::Value) <= 8,
                                      .alone = kLight,
                                      .tiles = kLight,
                                      .apart = U::checked,
                                      .heavy = U::heavy,
                                      .twice_from = twice_from<U, T>()},
                                     limits());
  if (plan.blocks == 0) return;
  gpu::Grid grid{plan.blocks, plan.threads, 0, name, begins_early<U>(plan)};
  if constexpr (kLight)
    if (plan.mapping == Plan::Mapping::tiles) {
      unsigned* const words = plan.blocks > 1 ? tickets(2 + 2 * tiles_mail_size<Op, Compute<T>>(plan.blocks)) : nullptr;
      const TilesTask<Op, T> task{x,
                                  out,
                                  words,
                                  reinterpret_cast<std::uint64_t*>(words ? words + 2 : nullptr),
                                  static_cast<int>(lists.length()),
                                  op};
      return gpu::launch(reduce_tiles<Op, T>, grid, task);
    }
  // The kernel for long rows has its partial results behind the tickets, as zeros too.
  const bool mail = plan.mapping == Plan::Mapping::rows;
  const std::int64_t zeros =
      mail ? (plan.tickets + 1) / 2 * 2 + 2 * plan.tickets * mail_size<Partial>(plan.splits) : plan.tickets;
  const Scratch partials(static_cast<std::size_t>(plan.partials) * sizeof(Partial));
  const auto even_step = [](const Strided<1>& walk) { return walk.rank > 1 ? 0 : walk.inner_stride(0); };
  unsigned* const counters = plan.tickets > 0 ? tickets(zeros) : nullptr;
  const Task<Op, T> task{x,
                         lists.length(),
                         lists.outputs(),
                         even_step(lists.kept),
                         even_step(lists.reduced),
                         out,
                         plan,
                         partials.as<Partial>(),
                         counters,
                         reinterpret_cast<std::uint64_t*>(counters + (plan.tickets + 1) / 2 * 2),
                         op,
                         Walk<1>(lists.kept),
                         Walk<1>(lists.reduced)};
  switch (plan.mapping) {
    case Plan::Mapping::tiles:
      return;  // above
    case Plan::Mapping::rows:
      if (plan.splits > 1) grid.grid = {plan.splits, plan.blocks / plan.splits};
      if constexpr (kRowWidth > 1) {
        if (plan.shifted) return gpu::launch(reduce_rows<Op, T, kRowWidth, true>, grid, task);
        if (plan.width > 1) return gpu::launch(reduce_rows<Op, T, kRowWidth, false>, grid, task);
      }
      return gpu::launch(reduce_rows<Op, T, 1, false>, grid, task);
    case Plan::Mapping::short_rows:
      if constexpr (!U::heavy) {
        if (plan.rows == 2) return gpu::launch(reduce_short_rows<Op, T, 2>, grid, task);
        if (plan.rows == 4) return gpu::launch(reduce_short_rows<Op, T, 4>, grid, task);
      }
      if (plan.rows == 1) return gpu::launch(reduce_short_rows<Op, T, 1>, grid, task);
      return gpu::launch(reduce_short_rows<Op, T, kRowsOfTile>, grid, task);
    case Plan::Mapping::columns:
      // A warp that turns exact has one value a level, but a larger one.
      grid.shared_bytes =
          static_cast<std::size_t>(plan.board) * sizeof(Partial) +
          static_cast<std::size_t>(plan.threads) * stack_bytes<U, Partial>(plan.levels, column_values(plan.width));
      if constexpr (kColumns > 1) {
        if (plan.width == kColumns) {
          if (plan.rows == 1) return gpu::launch(reduce_columns<Op, T, kColumns, 1>, grid, task);
          if (plan.rows == 4) return gpu::launch(reduce_columns<Op, T, kColumns, 4>, grid, task);
          return gpu::launch(reduce_columns<Op, T, kColumns, kRowsOfTile>, grid, task);
        }
      }
      if constexpr (U::heavy)
        if (plan.rows == 1) return gpu::launch(reduce_columns<Op, T, 1, 1>, grid, task);
      return gpu::launch(reduce_columns<Op, T, 1, kRowsOfTile>, grid, task);
    case Plan::Mapping::small_slabs:
      grid.shared_bytes = static_cast<std::size_t>(plan.shared) * sizeof(T);
      return gpu::launch(reduce_small_slabs<Op, T>, grid, task);
    case Plan::Mapping::slabs:
      grid.shared_bytes = slab_bytes<U, Partial>(plan);
      return gpu::launch(reduce_slabs<Op, T, kColumns>, grid, task);
    case Plan::Mapping::straight:
      if constexpr (kLight) {
        if (plan.at_once == kFewLists) return gpu::launch(reduce_straight<Op, T, kFewLists>, grid, task);
        return gpu::launch(reduce_straight<Op, T, 1>, grid, task);
      }
      return;
    case Plan::Mapping::upright:
      if constexpr (kLight) {
        grid.shared_bytes = static_cast<std::size_t>(plan.threads) * sizeof(Partial);
        if (plan.rows == 4) return gpu::launch(reduce_upright<Op, T, 4>, grid, task);
        return gpu::launch(reduce_upright<Op, T, kRowsOfTile>, grid, task);
      }
      return;
  }
}

template <class Op, class T> void reduce(const Op& op, const Lists& lists, const T* x, const Results<Op, T>& out) {
  using As = typename CompiledAs<Op>::type;
  if constexpr (std::is_same_v<As, Op>)
    reduce_as(Op::name, op, lists, x, out);
  else
    reduce_as(Op::name, As(op), lists, x, Results<As, T>{out.first, out.second, out.accumulators});
}

}  // namespace tally::cuda_loops
