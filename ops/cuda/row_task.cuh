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
  Op op;
  [[no_unique_address]] typename Op::Reduction reduction;
  RowPlan plan;

  TALLY_DEVICE const T* input(int k, std::int64_t row) const { return in[k] + row * step[k]; }
  TALLY_DEVICE C weight_at(std::int64_t i) const { return weight ? weight[i] : C(0); }
  TALLY_DEVICE C bias_at(std::int64_t i) const { return bias ? bias[i] : C(0); }
  TALLY_DEVICE Row begin(std::int64_t row, C pivot) const {
    Row known{};
    if constexpr (given) op.begin(known, kept[row], n, pivot);
    return known;
  }
  template <class Acc> TALLY_DEVICE void finish(Row& known, std::int64_t row, const Acc& acc, C pivot) const {
    op.template finish<T>(known, acc, n, pivot);
    if constexpr (!given)
      if (kept && is_first(row)) kept[row] = acc;
  }

 private:
  /// One of a row's threads, of those that finish it together.
  TALLY_DEVICE bool is_first(std::int64_t) const {
    return plan.mapping == RowPlan::Mapping::long_rows ? threadIdx.x == 0
                                                       : (static_cast<int>(threadIdx.x) & (plan.group - 1)) == 0;
  }
};

/// The map as it is defined.
template <class Op, class T> struct ExactMap {
  using C = Compute<T>;
  const Op& op;
  const typename Op::template Row<C>& row;
  TALLY_DEVICE C operator()(const C (&x)[Op::inputs], C weight, C bias) const {
    return op.template map<T>(x, row, weight, bias);
  }
};

}  // namespace tally::cuda_loops
