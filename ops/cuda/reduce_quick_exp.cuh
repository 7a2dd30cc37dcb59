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

/// math::exp(d) for d <= 0, if all_normal(all) afterwards, of whatever else went into it. Rounded to an integer, as the
/// last bits of -2^24, d has ones before them if it is above -87; NaN made of infinities has another sign.
TALLY_DEVICE float watched_exp(float d, std::uint32_t& all) {
  constexpr float kShift = 0x1p24f - 3;
  const float shifted = math::detail::fused(d, -math::detail::ExpConstants<float>::kLog2E, -kShift);
  all &= math::to_bits(shifted);
  const float y = math::detail::fused_exp_of_reduced(math::detail::fused_reduced(d, -(shifted + kShift)), 0x1p3f);
  return math::bit_cast<float>(math::to_bits(y) + (math::to_bits(shifted) << 23));
}
TALLY_DEVICE bool all_normal(std::uint32_t all) { return all >= 0xcb7fff80u; }

/// LogSumExp. With a maximum of -inf the sum is any finite number, with NaN any, which nobody reads; a maximum of inf
/// does not hold.
struct QuickLogSumExp {
  using Op = LogSumExp;
  using Value = LogSumExp::Shifted<float>;
  static constexpr bool any_order = false, commutes = true, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT64_MAX;
  static constexpr int slab_blocks(int width) { return width == 8 ? 2 : 3; }
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
    std::uint32_t all = ~0u;
    TALLY_UNROLL
    for (int k = 0; k < W; ++k) {
      v[k].max = x[k][0];
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j) v[k].max = gpu::max_or_nan(v[k].max, x[k][j]);
      v[k].sum = watched_exp(x[k][0] - v[k].max, all);
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j) v[k].sum = v[k].sum + watched_exp(x[k][j] - v[k].max, all);
    }
    if (!all_normal(all)) {
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
    return {gpu::max_or_nan(a.max, b.max), leading + other * exp_of_gap(a.max - b.max)};
  }
  /// Unrolled: for other bits it would take a register a level, and more.
  static constexpr bool across_known = true;
  /// The maxima go ahead. From them follow the exponentials of all merges of the tree, fewer than there are threads:
  /// each thread works out one, of the first merge in which it is on the upper side.
  TALLY_DEVICE static Value across(const Op&, Value a, int offset, int end) {
    constexpr int kLevels = 5;
    const int t = static_cast<int>(threadIdx.x % kWarp);
    float gaps[kLevels];
    TALLY_UNROLL
    for (int k = 0; k < kLevels; ++k)
      if (1 << k >= offset && 1 << k < end) {
        const float other = gpu::shuffle_xor(a.max, 1 << k);
        gaps[k] = a.max - other;
        a.max = gpu::max_or_nan(a.max, other);
      }
    float gap = 0;
    TALLY_UNROLL
    for (int k = kLevels - 1; k >= 0; --k)
      if (1 << k >= offset && 1 << k < end && (t & 1 << k) != 0) gap = gaps[k];
    const float mine = exp_of_gap(gap);
    TALLY_UNROLL
    for (int k = 0; k < kLevels; ++k)
      if (1 << k >= offset && 1 << k < end) {
        const float factor = gpu::shuffle(mine, (t & ~((1 << k) - offset)) | 1 << k);
        if (gaps[k] < 0) a.sum = a.sum * factor;
        a.sum = a.sum + gpu::shuffle_xor(a.sum, 1 << k);
      }
    return a;
  }
  TALLY_DEVICE static bool holds(const Value& a) { return a.max != math::infinity<float>(); }
  TALLY_DEVICE static Value unpack(const Value& a) { return a; }
  TALLY_DEVICE static Value pack(const Value& a) { return {a.max, math::isnan(a.max) ? a.max : a.sum}; }

 private:
  /// exp(-|apart|) of two maxima. Below -80 it is anything so small: beside the leading sum, 1 or more, it is nothing.
  TALLY_DEVICE static float exp_of_gap(float apart) {
    return raised_exp<0>(std::fmax(-math::abs(apart), -80.0f));  // of two -inf the gap is NaN, which fmax leaves out
  }
};

template <> struct UnitOf<LogSumExp, float> { using type = QuickLogSumExp; };

}  // namespace tally::cuda_loops
