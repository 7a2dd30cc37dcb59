// The quick side of softmax in float: the bits of core/math in fewer instructions, for rows whose maximum is finite or
// NaN. Other rows are done again with all the op's care.
#pragma once

#include <cmath>

#include <tally/ops/row_ops.h>
#include <tally/ops/cuda/reduce_quick.cuh>

namespace tally::cuda_loops {

/// The columns' weights and biases of W neighbours; 0 where there are none.
template <class C, int W> struct ColumnRun { C weight[W], bias[W]; };

/// What threads reduce a row in. Where a map follows, a maximum of -inf does not hold either.
struct QuickRowLogSumExp : QuickLogSumExp {
  TALLY_DEVICE static bool holds(const Value& a) { return !math::isinf(a.max); }
};
template <class R, class E> struct RowUnitOf { using type = Unit<R, E>; };
template <> struct RowUnitOf<LogSumExp, float> { using type = QuickRowLogSumExp; };
template <class Op, class C>
using RowUnit = typename RowUnitOf<typename Op::Reduction, typename Op::template Element<C>>::type;

/// The map as it is defined, of W neighbours.
template <class Op, class T> struct ExactMap {
  using C = Compute<T>;
  using Row = typename Op::template Row<C>;
  const Op& op;
  const Row& row;
  template <int W>
  TALLY_DEVICE gpu::Vector<T, W> operator()(const gpu::Vector<T, W> (&loads)[Op::inputs],
                                            const ColumnRun<C, W>& columns) const {
    gpu::Vector<T, W> y;
    TALLY_UNROLL
    for (int w = 0; w < W; ++w) {
      C in[Op::inputs];
      TALLY_UNROLL
      for (int k = 0; k < Op::inputs; ++k) in[k] = convert<C>(loads[k][w]);
      y[w] = convert<T>(op.template map<T>(in, row, columns.weight[w], columns.bias[w]));
    }
    return y;
  }
};

/// The map of a row whose reduction held.
template <class Op, class T> struct QuickMap : ExactMap<Op, T> {
  TALLY_DEVICE QuickMap(const Op& op, const typename ExactMap<Op, T>::Row& row) : ExactMap<Op, T>{op, row} {}
};

/// exp(x - m) / S with one reciprocal a row: two steps of Markstein's give the correctly rounded quotient (Muller et
/// al., Handbook of Floating-Point Arithmetic, 2nd ed., §4.7), where no remainder underflows.
template <class T>
requires std::is_same_v < Compute<T>,
float > struct QuickMap<rows::Softmax, T> {
  using Row = rows::Softmax::Row<float>;
  TALLY_DEVICE QuickMap(const rows::Softmax&, const Row& row) : row_(row), inverse_(1 / row.sum) {}
  template <int W>
  TALLY_DEVICE gpu::Vector<T, W> operator()(const gpu::Vector<T, W> (&loads)[1], const ColumnRun<float, W>&) const {
    float d[W], least = 0;
    TALLY_UNROLL
    for (int w = 0; w < W; ++w) {
      d[w] = convert<float>(loads[0][w]) - row_.max;
      least = gpu::min_or_nan(least, d[w]);
    }
    if (!(least >= -45)) return as_defined(loads[0], row_);
    gpu::Vector<T, W> y;
    TALLY_UNROLL
    for (int w = 0; w < W; ++w) {
      const float e = raised_exp<0>(d[w]);
      float q = e * inverse_;
      q = std::fma(std::fma(-q, row_.sum, e), inverse_, q);
      q = std::fma(std::fma(-q, row_.sum, e), inverse_, q);
      y[w] = convert<T>(q);
    }
    return y;
  }

 private:
  template <int W> TALLY_COLD static gpu::Vector<T, W> as_defined(gpu::Vector<T, W> x, Row row) {
    TALLY_ROLLED
    for (int w = 0; w < W; ++w) x[w] = convert<T>(math::exp(convert<float>(x[w]) - row.max) / row.sum);
    return x;
  }
  Row row_;
  float inverse_;
};

/// The gradient of layer_norm's x with one reciprocal a row: the quotient as softmax has it, of what is comfortable.
template <class T>
requires std::is_same_v < Compute<T>,
float > struct QuickMap<rows::LayerNormBackward, T> {
  using Op = rows::LayerNormBackward;
  using Row = Op::Row<float>;
  TALLY_DEVICE QuickMap(const Op& op, const Row& row) : op_(op), row_(row), inverse_(1 / row.count) {}
  template <int W>
  TALLY_DEVICE gpu::Vector<T, W> operator()(const gpu::Vector<T, W> (&loads)[2],
                                            const ColumnRun<float, W>& columns) const {
    float twice[W];
    bool quick = row_.moments.mean.e == 0;
    TALLY_UNROLL
    for (int w = 0; w < W; ++w) {
      const float d = (convert<float>(loads[0][w]) - row_.pivot) - row_.moments.mean.m;
      twice[w] = d + d;
      quick = quick && twice[w] != 0 && is_comfortable(math::abs(twice[w]));  // of -0 the steps lose the sign
    }
    if (!quick) return as_defined(op_, row_, loads[0], loads[1], columns);
    gpu::Vector<T, W> y;
    TALLY_UNROLL
    for (int w = 0; w < W; ++w) {
      float q = twice[w] * inverse_;
      q = std::fma(std::fma(-q, row_.count, twice[w]), inverse_, q);
      q = std::fma(std::fma(-q, row_.count, twice[w]), inverse_, q);
      const float x = convert<float>(loads[1][w]), g = op_.weighs ? x * columns.weight[w] : x;
      y[w] = convert<T>(g * row_.rstd + (row_.to_var * q + row_.to_mean));
    }
    return y;
  }

 private:
  template <int W>
  TALLY_COLD static gpu::Vector<T, W> as_defined(Op op, Row row, gpu::Vector<T, W> x, gpu::Vector<T, W> g,
                                                 ColumnRun<float, W> columns) {
    const gpu::Vector<T, W> loads[2] = {x, g};
    return ExactMap<Op, T>{op, row}(loads, columns);
  }
  const Op& op_;
  const Row& row_;
  float inverse_;
};

}  // namespace tally::cuda_loops
