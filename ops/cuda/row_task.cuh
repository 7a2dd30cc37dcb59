// What the kernels of row ops are given.
#pragma once

#include <algorithm>

#include <tally/ops/cuda/row_plan.h>
#include <tally/ops/cuda/reduce_task.cuh>
#include <tally/ops/cuda/row_quick.cuh>

namespace tally::cuda_loops {

template <class Op, class T> struct RowTask {
  using C = Compute<T>;
  using Row = typename Op::template Row<C>;
  static constexpr bool given = requires { Op::given; };
  /// What is kept of a row, or given with it: layer_norm's moments.
  using Kept = std::conditional_t<given, Var::Moments<C>,
                                  typename Op::Reduction::template Acc<typename Op::template Element<C>>>;

  const T* in[Op::inputs];
  std::int64_t step[Op::inputs];  // from row to row
  T* out;
  std::int64_t rows, n;
  Kept* kept;
  const C *weight, *bias;  // of each column; null where there are none
  bool has_columns;
  Op op;
  [[no_unique_address]] typename Op::Reduction reduction;
  RowPlan plan;

  TALLY_DEVICE const T* input(int k, std::int64_t row) const { return in[k] + row * step[k]; }
  /// Of the first `left` of W columns from `at` on, which may be before the first.
  template <int W> TALLY_DEVICE ColumnRun<C, W> columns(std::int64_t at, std::int64_t left) const {
    ColumnRun<C, W> run = {};
    if (!has_columns) return run;
    if (weight) read_columns(weight, at, left, run.weight);
    if (bias) read_columns(bias, at, left, run.bias);
    return run;
  }
  TALLY_DEVICE Row begin(const Kept& kept, C pivot) const {
    Row known{};
    if constexpr (given) op.begin(known, kept, n, pivot);
    return known;
  }
  TALLY_DEVICE Row begin(std::int64_t row, C pivot) const {
    if constexpr (given)
      return begin(kept[row], pivot);
    else
      return {};
  }
  /// One of a row's threads `stores` what is kept of it.
  template <class Acc>
  TALLY_DEVICE void finish(Row& known, std::int64_t row, const Acc& acc, C pivot, bool stores) const {
    op.template finish<T>(known, acc, n, pivot);
    if constexpr (!given)
      if (kept && stores) kept[row] = acc;
  }

 private:
  template <int W>
  TALLY_DEVICE static void read_columns(const C* from, std::int64_t at, std::int64_t left, C (&to)[W]) {
    TALLY_UNROLL
    for (int w = 0; w < W; ++w)
      if (at + w >= 0 && w < left) to[w] = from[at + w];
  }
};

}  // namespace tally::cuda_loops
