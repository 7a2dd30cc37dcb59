// The quick side of softmax in float: the bits of core/math and of LogSumExp in fewer instructions, for rows whose
// maximum is finite or NaN. Other rows are done again with all the op's care.
#pragma once

#include <cmath>

#include <tally/ops/row_ops.h>
#include <tally/ops/cuda/reduce_quick.cuh>

namespace tally::cuda_loops {

/// The columns' weights and biases of W neighbours; 0 where there are none.
template <class C, int W> struct ColumnRun { C weight[W], bias[W]; };

/// math::exp(d) · 2^kUp before its one rounding, for d <= 0 that keep this normal; of NaN it is anything. Products with
/// n are exact, so they may be fused; the power of two is added to the exponent, high enough that it stays normal.
template <int kUp> TALLY_DEVICE float raised_exp(float d) {
  using Constants = math::detail::ExpConstants<float>;
  constexpr float kShift = math::detail::kShifter<float> + kUp;
  const float shifted = d * static_cast<float>(1.4426950408889634) + kShift, n = shifted - kShift;
  const float head = std::fma(-n, Constants::kLn2High, d), low = n * Constants::kLn2Low, r = head - low;
  const float y = 1 + (head + (r * r * math::detail::exp_tail(r) - low));
  return math::bit_cast<float>(math::to_bits(y) + (math::to_bits(shifted) << 23));
}
TALLY_DEVICE float exp_of_at_most_0(float d) {
  return raised_exp<64>(gpu::max_or_nan(d, math::detail::ExpConstants<float>::kLowest)) * 0x1p-64f;
}

/// LogSumExp. With a maximum of -inf or NaN the sum is any number; of the maxima an infinite one does not hold.
struct QuickLogSumExp {
  using Op = LogSumExp;
  using Value = LogSumExp::Shifted<float>;
  static constexpr bool any_order = false, checked = true, heavy = false;

  TALLY_DEVICE static Value nothing(const Op&) { return {-math::infinity<float>(), 0}; }
  template <int kRows>
  TALLY_DEVICE static Value lane(const Op& op, const float (&x)[kPerLane], int count, std::int64_t, float) {
    if (count <= 0) return nothing(op);
    if constexpr (kRows == 1) {
      return {x[0], 1};
    } else {
      float max = x[0];
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) max = gpu::max_or_nan(max, x[j]);
      const float from = max == -math::infinity<float>() ? 0.0f : max;
      float sum = exp_of_at_most_0(x[0] - from);
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) sum = sum + exp_of_at_most_0(x[j] - from);
      return {max, sum};
    }
  }
  TALLY_DEVICE static Value merge(const Op&, const Value& a, const Value& b) {
    const bool b_leads = a.max < b.max;
    const float leading = b_leads ? b.sum : a.sum, other = b_leads ? a.sum : b.sum;
    const float apart = a.max == b.max ? 0.0f : -math::abs(a.max - b.max);
    return {gpu::max_or_nan(a.max, b.max), leading + other * exp_of_at_most_0(apart)};
  }
  TALLY_DEVICE static bool holds(const Value& a) { return !math::isinf(a.max); }
  TALLY_DEVICE static Value unpack(const Value& a) { return a; }
  TALLY_DEVICE static Value pack(const Value& a) { return {a.max, math::isnan(a.max) ? a.max : a.sum}; }
};

/// What threads reduce a row in.
template <class R, class E> struct RowUnitOf { using type = Unit<R, E>; };
template <> struct RowUnitOf<LogSumExp, float> { using type = QuickLogSumExp; };
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
