// Ops on rows: a reduction of each row, then a map of its elements and of what the reduction found. CUDA's kernels run
// them all, the CPU those of one input; its composed ops are equal to the bit (row_test). C is the arithmetic's type
// (ops/reduction.h), T that of elements.
//
//   name, inputs           for messages, and how many arrays it reads, each of the rows' shape
//   Reduction              of ops/reductions.h, over what `element` gives; its order is the documented one
//   Element<C>             what is reduced: C, or Two<C>
//   Row<C>                 what the map needs to know of a row
//   given                  optional: the accumulator of an earlier reduction comes with each row, and begin() reads it
//   element<T>(x, row, weight)     what the reduction sees of the inputs' elements
//   finish<T>(row, acc, n, pivot)  the row, from the finished accumulator
//   map<T>(x, row, weight, bias)   the result
#pragma once

#include <tally/core/convert.h>
#include <tally/core/math.h>
#include <tally/ops/reductions/logsumexp.h>
#include <tally/ops/reductions/sum.h>
#include <tally/ops/reductions/var.h>

namespace tally::rows {

/// A number as an element of type T would hold it: where steps of a formula are tensors, each rounds.
template <class T, class C> TALLY_HD C rounded(C x) { return convert<C>(convert<T>(x)); }

/// Two numbers that are summed side by side.
template <class C> struct Two {
  C a, b;
  Two() = default;
  TALLY_HD explicit Two(double both) : a(static_cast<C>(both)), b(static_cast<C>(both)) {}
  TALLY_HD Two(C a, C b) : a(a), b(b) {}
  TALLY_HD friend Two operator+(Two x, Two y) { return {x.a + y.a, x.b + y.b}; }
};

/// exp(x - m) / S.
struct Softmax {
  static constexpr auto name = "softmax";
  static constexpr int inputs = 1;
  using Reduction = LogSumExp;
  template <class C> using Element = C;
  template <class C> using Row = LogSumExp::Shifted<C>;
  template <class T, class C> TALLY_HD C element(const C (&x)[1], const Row<C>&, C) const { return x[0]; }
  template <class T, class C> TALLY_HD void finish(Row<C>& row, const Row<C>& acc, std::int64_t, C) const { row = acc; }
  template <class T, class C> TALLY_HD C map(const C (&x)[1], const Row<C>& row, C, C) const {
    return math::exp(x[0] - row.max) / row.sum;
  }
};

/// (x - m) - log S.
struct LogSoftmax : Softmax {
  static constexpr auto name = "log_softmax";
  template <class T, class C> TALLY_HD void finish(Row<C>& row, const Row<C>& acc, std::int64_t, C) const {
    row = {acc.max, math::log(acc.sum)};
  }
  template <class T, class C> TALLY_HD C map(const C (&x)[1], const Row<C>& row, C, C) const {
    return (x[0] - row.max) - row.sum;
  }
};

/// y · (g - sum of y · g), of y and g.
struct SoftmaxBackward {
  static constexpr auto name = "softmax_backward";
  static constexpr int inputs = 2;
  using Reduction = Sum;
  template <class C> using Element = C;
  template <class C> struct Row { C sum; };
  template <class T, class C> TALLY_HD C element(const C (&x)[2], const Row<C>&, C) const {
    return rounded<T>(x[0] * x[1]);
  }
  template <class T, class C> TALLY_HD void finish(Row<C>& row, C acc, std::int64_t, C) const {
    row.sum = rounded<T>(acc);
  }
  template <class T, class C> TALLY_HD C map(const C (&x)[2], const Row<C>& row, C, C) const {
    return x[0] * rounded<T>(x[1] - row.sum);
  }
};

/// g - exp(y) · sum of g, of y and g.
struct LogSoftmaxBackward : SoftmaxBackward {
  static constexpr auto name = "log_softmax_backward";
  template <class T, class C> TALLY_HD C element(const C (&x)[2], const Row<C>&, C) const { return x[1]; }
  template <class T, class C> TALLY_HD C map(const C (&x)[2], const Row<C>& row, C, C) const {
    return x[1] - rounded<T>(rounded<T>(math::exp(x[0])) * row.sum);
  }
};

/// ((x - mean) · rstd) · weight + bias, rstd = 1 / sqrt(var + eps).
struct LayerNorm {
  static constexpr auto name = "layer_norm";
  static constexpr int inputs = 1;
  using Reduction = Var;
  template <class C> using Element = C;
  template <class C> struct Row { C mean, rstd; };
  double eps = 0;
  bool weighs = false, shifts = false;
  template <class T, class C> TALLY_HD C element(const C (&x)[1], const Row<C>&, C) const { return x[0]; }
  template <class T, class C>
  TALLY_HD void finish(Row<C>& row, const Var::Moments<C>& acc, std::int64_t n, C pivot) const {
    const Pair<C, C> both = Var{}.project(acc, n, pivot);
    row = {both.second, math::rsqrt(both.first + static_cast<C>(eps))};
  }
  template <class T, class C> TALLY_HD C map(const C (&x)[1], const Row<C>& row, C weight, C bias) const {
    C y = (x[0] - row.mean) * row.rstd;
    if (weighs) y = y * weight;
    return shifts ? y + bias : y;
  }
};

/// The gradient of layer_norm's x, of x and g: backward through the mean, the variance and the root, as each op has it.
struct LayerNormBackward {
  static constexpr auto name = "layer_norm_backward";
  static constexpr int inputs = 2;
  static constexpr bool given = true;
  using Reduction = Sum;
  template <class C> using Element = Two<C>;
  template <class C> struct Row {
    Var::Moments<C> moments;
    C pivot, mean, rstd, count, to_var, to_mean;
    std::int64_t n;
  };
  double eps = 0;
  bool weighs = false;

  template <class C> TALLY_HD void begin(Row<C>& row, const Var::Moments<C>& moments, std::int64_t n, C pivot) const {
    const Pair<C, C> both = Var{}.project(moments, n, pivot);
    row.moments = moments;
    row.pivot = pivot;
    row.mean = both.second;
    row.rstd = math::rsqrt(both.first + static_cast<C>(eps));
    row.count = static_cast<C>(static_cast<double>(n));
    row.n = n;
  }
  template <class T, class C> TALLY_HD Two<C> element(const C (&x)[2], const Row<C>& row, C weight) const {
    const C g = weighs ? x[1] * weight : x[1];
    return {g * (x[0] - row.mean), -(g * row.rstd)};  // to rstd and to the mean
  }
  template <class T, class C> TALLY_HD void finish(Row<C>& row, const Two<C>& acc, std::int64_t, C) const {
    row.to_var = acc.a * (row.rstd * row.rstd * row.rstd / -2);
    row.to_mean = acc.b / row.count;
  }
  template <class T, class C> TALLY_HD C map(const C (&x)[2], const Row<C>& row, C weight, C) const {
    const C g = weighs ? x[1] * weight : x[1];
    return g * row.rstd + (row.to_var * slope(x[0], row) + row.to_mean);
  }

 private:
  /// d var / d x: plain arithmetic where nothing under- or overflows.
  template <class C> TALLY_HD static C slope(C x, const Row<C>& row) {
    const C d = (x - row.pivot) - row.moments.mean.m, twice = d + d;
    if (row.moments.mean.e == 0 && is_comfortable(math::abs(twice))) return twice / row.count;
    return unbounded(x, row.moments, row.n, row.pivot);
  }
  template <class C> TALLY_HD_COLD static C unbounded(C x, Var::Moments<C> moments, std::int64_t n, C pivot) {
    return Var{}.derivative(x, moments, n, pivot);
  }
};

}  // namespace tally::rows
