// The quick unit of logsumexp: the bits of core/math and of LogSumExp in fewer instructions, for lists whose maximum is
// finite or NaN.
#pragma once

#include <cmath>

#include <tally/ops/reductions.h>
#include <tally/ops/cuda/reduce_fold.cuh>

namespace tally::cuda_loops {

/// math::exp(d) · 2^kUp before its last rounding, for d <= 0 that keep this normal; of NaN it is anything. The power of
/// two is added to the exponent, high enough that it stays normal.
template <int kUp> TALLY_DEVICE float raised_exp(float d) {
  constexpr float kShift = math::detail::kShifter<float> + kUp;
  const float shifted = math::detail::fused(d, math::detail::ExpConstants<float>::kLog2E, kShift);
  const float y = math::detail::fused_exp_of_reduced(math::detail::fused_reduced(d, shifted - kShift));
  return math::bit_cast<float>(math::to_bits(y) + (math::to_bits(shifted) << 23));
}
TALLY_DEVICE float exp_of_at_most_0(float d) {
  return raised_exp<64>(std::fmax(d, math::detail::ExpConstants<float>::kLowest)) * 0x1p-64f;
}

/// LogSumExp. With a maximum of -inf the sum is any finite number, with NaN any, which nobody reads; a maximum of inf
/// does not hold.
struct QuickLogSumExp {
  using Op = LogSumExp;
  using Value = LogSumExp::Shifted<float>;
  static constexpr bool any_order = false, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT64_MAX;
  static constexpr int column_blocks(int width) { return width == 8 ? 2 : 3; }
  static constexpr int row_blocks(int width) { return width == 4 ? 3 : 2; }

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
  template <int W>
  TALLY_DEVICE static void each_lane(const Op& op, const float (&x)[W][kPerLane], std::int64_t, float, Value (&v)[W]) {
    float deepest = 0;
    TALLY_UNROLL
    for (int k = 0; k < W; ++k) {
      float most = x[k][0], least = most;
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j) {
        most = gpu::max_or_nan(most, x[k][j]);
        least = gpu::min_or_nan(least, x[k][j]);
      }
      v[k].max = most;
      deepest = gpu::min_or_nan(deepest, least - most);
    }
    if (deepest >= -80) {  // all exponentials are normal
      TALLY_UNROLL
      for (int k = 0; k < W; ++k) {
        v[k].sum = raised_exp<0>(x[k][0] - v[k].max);
        TALLY_UNROLL
        for (int j = 1; j < kPerLane; ++j) v[k].sum = v[k].sum + raised_exp<0>(x[k][j] - v[k].max);
      }
    } else {
      TALLY_UNROLL
      for (int k = 0; k < W; ++k) v[k] = lane<kPerLane>(op, x[k], kPerLane, 0, 0);
    }
  }
  template <int W> TALLY_DEVICE static Value lanes(const Op& op, const float (&x)[W][kPerLane], float pivot) {
    Value v[W];
    each_lane(op, x, 0, pivot, v);
    merge_within<QuickLogSumExp, W>(op, v);
    return v[0];
  }
  TALLY_DEVICE static Value merge(const Op&, const Value& a, const Value& b) {
    const bool b_leads = a.max < b.max;
    const float leading = b_leads ? b.sum : a.sum, other = b_leads ? a.sum : b.sum;
    const float apart = -math::abs(a.max - b.max);  // of two -inf NaN, which fmax leaves out
    return {gpu::max_or_nan(a.max, b.max), leading + other * exp_of_at_most_0(apart)};
  }
  TALLY_DEVICE static bool holds(const Value& a) { return a.max != math::infinity<float>(); }
  TALLY_DEVICE static Value unpack(const Value& a) { return a; }
  TALLY_DEVICE static Value pack(const Value& a) { return {a.max, math::isnan(a.max) ? a.max : a.sum}; }
};

template <> struct UnitOf<LogSumExp, float> { using type = QuickLogSumExp; };

}  // namespace tally::cuda_loops
