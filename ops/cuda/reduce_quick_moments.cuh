// The quick units (reduce_quick.cuh) of sums of squares and of variance.
#pragma once

#include <cmath>

#include <tally/ops/reductions.h>
#include <tally/ops/cuda/reduce_fold.cuh>

namespace tally::cuda_loops {

/// Whether the first `count` are zeros: a few operations on bits, no branch.
TALLY_DEVICE bool all_zero(const float (&x)[kPerLane], int count) {
  std::uint32_t bits = 0;
  TALLY_UNROLL
  for (int j = 0; j < kPerLane; ++j)
    if (j < count) bits |= math::bit_cast<std::uint32_t>(x[j]);
  return bits << 1 == 0;
}

/// The sum of squares.
struct QuickNorm2 {
  using Op = Norm2;
  using Value = float;
  static constexpr bool any_order = false, commutes = true, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT64_MAX;
  static constexpr int slab_blocks(int width) { return width == 8 ? 2 : 3; }
  static constexpr int row_blocks(int width) { return width == 4 ? 3 : 2; }

  TALLY_DEVICE static Value nothing(const Op&) { return 0; }
  template <int kRows>
  TALLY_DEVICE static Value lane(const Op&, const float (&x)[kPerLane], int count, std::int64_t, float) {
    if (count <= 0) return 0;
    float sum = x[0] * x[0];
    if constexpr (kRows == 1) {
      return is_comfortable(math::abs(x[0])) ? sum : NAN;
    } else {
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) sum = sum + x[j] * x[j];
      // Between these bounds the largest element is comfortable without a look at it.
      return (sum >= 0x1p-57f && sum <= 0x1p116f) || all_zero(x, count) ? sum : NAN;
    }
  }
  template <int W>
  TALLY_DEVICE static void each_lane(const Op&, const float (&x)[W][kPerLane], std::int64_t, float, Value (&sums)[W]) {
    TALLY_UNROLL
    for (int k = 0; k < W; ++k) {
      sums[k] = x[k][0] * x[k][0];
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j) sums[k] = sums[k] + x[k][j] * x[k][j];
    }
    float least = sums[0], most = sums[0];
    TALLY_UNROLL
    for (int k = 1; k < W; ++k) {
      least = gpu::min_or_nan(least, sums[k]);
      most = gpu::max_or_nan(most, sums[k]);
    }
    if (!(least >= 0x1p-57f && most <= 0x1p116f)) {
      TALLY_UNROLL
      for (int k = 0; k < W; ++k)
        if (!(sums[k] >= 0x1p-57f && sums[k] <= 0x1p116f) && !all_zero(x[k], kPerLane)) sums[k] = NAN;
    }
  }
  template <int W> TALLY_DEVICE static Value lanes(const Op& op, const float (&x)[W][kPerLane], float pivot) {
    Value sums[W];
    each_lane(op, x, 0, pivot, sums);
    merge_within<QuickNorm2, W>(op, sums);
    return sums[0];
  }
  TALLY_DEVICE static Value merge(const Op&, Value a, Value b) { return a + b; }
  TALLY_DEVICE static bool holds(Value sum) { return sum <= 0x1p120f; }
  TALLY_DEVICE static Value unpack(const Wide<float>& a) { return a.e == 0 || a.m == 0 ? a.m : NAN; }
  TALLY_DEVICE static Wide<float> pack(Value sum) { return Wide<float>(sum); }
};

/// Counts, means and sums of squared deviations.
struct QuickVar {
  using Op = Var;
  struct Value {
    int n;
    float mean, m2;
  };
  static constexpr bool any_order = false, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT32_MAX;
  static constexpr int slab_blocks(int) { return 2; }
  static constexpr int row_blocks(int width) { return width == 1 ? 2 : 3; }
  static constexpr int short_row_blocks(int rows) { return rows == 8 ? 7 : 6; }

  TALLY_DEVICE static Value nothing(const Op&) { return {0, 0, 0}; }
  template <int kRows>
  TALLY_DEVICE static Value lane(const Op&, const float (&x)[kPerLane], int count, std::int64_t, float pivot) {
    if (count <= 0) return {0, 0, 0};
    float d[kPerLane], sum = x[0] - pivot;
    if constexpr (kRows == 1) {
      return {1, is_comfortable(math::abs(sum)) ? sum : NAN, 0};
    } else {
      d[0] = sum;
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j) {
        d[j] = x[j] - pivot;
        if (j < count) sum = sum + d[j];
      }
      const float mean = sum / static_cast<float>(count);
      float m2 = (d[0] - mean) * (d[0] - mean);
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) m2 = m2 + (d[j] - mean) * (d[j] - mean);
      const float size = math::abs(mean);
      const bool comfortable = size <= 0x1p56f && m2 <= 0x1p112f && (size >= kLeastMean || m2 >= kLeastSquares);
      return {count, comfortable || all_zero(d, count) ? mean : NAN, m2};
    }
  }
  template <int W>
  TALLY_DEVICE static void each_lane(const Op&, const float (&x)[W][kPerLane], std::int64_t, float pivot,
                                     Value (&v)[W]) {
    constexpr int kAtOnce = W == 8 ? 2 : 4;  // more would take too many registers
    TALLY_UNROLL
    for (int first = 0; first < W; first += kAtOnce) {
      float least = INFINITY;
      TALLY_UNROLL
      for (int k = first; k < first + kAtOnce; ++k) {
        float d[kPerLane];
        const float sum = deviations(x[k], pivot, d), mean = sum / static_cast<float>(kPerLane);
        float m2 = (d[0] - mean) * (d[0] - mean);
        TALLY_UNROLL
        for (int j = 1; j < kPerLane; ++j) m2 = m2 + (d[j] - mean) * (d[j] - mean);
        v[k] = {kPerLane, mean, m2};
        least = gpu::min_or_nan(least, m2);
      }
      if (least >= kLeastSquares) continue;  // of what is too large the end bears witness
      TALLY_UNROLL
      for (int k = first; k < first + kAtOnce; ++k) {
        float d[kPerLane];
        deviations(x[k], pivot, d);
        if (!(v[k].m2 >= kLeastSquares || math::abs(v[k].mean) >= kLeastMean || all_zero(d, kPerLane))) v[k].mean = NAN;
      }
    }
  }
  template <int W> TALLY_DEVICE static Value lanes(const Op& op, const float (&x)[W][kPerLane], float pivot) {
    Value v[W];
    each_lane(op, x, 0, pivot, v);
    merge_within<QuickVar, W, true>(op, v);
    return v[0];
  }
  template <int N> TALLY_DEVICE static Value neighbours(const Op&, const float (&x)[N], int count, int, float pivot) {
    if (count <= 0) return {0, 0, 0};
    Lanes<N> d;
    std::uint32_t least = ~0u;
    TALLY_UNROLL
    for (int k = 0; k < N; ++k) {
      d.x[k] = x[k] - pivot;
      least = smaller_but_0(least, d.x[k]);
    }
    if (count < N) return some_neighbours(d, count);
    float mean[N], m2[N / 2];
    TALLY_UNROLL
    for (int k = 0; k < N; ++k) mean[k] = d.x[k];
    TALLY_UNROLL
    for (int step = 1; step < N; step *= 2) {
      TALLY_UNROLL
      for (int k = 0; k < N; k += 2 * step) {
        const float apart = mean[k + step] - mean[k], added = (apart * apart) * (0.5f * static_cast<float>(step));
        least = smaller_but_0(least, apart);
        mean[k] = mean[k] + apart * 0.5f;
        m2[k / 2] = step == 1 ? added : (m2[k / 2] + m2[(k + step) / 2]) + added;
      }
    }
    return {N, is_large_enough(least) ? mean[0] : NAN, m2[0]};
  }
  TALLY_DEVICE static Value merge(const Op&, const Value& a, const Value& b) {
    const float weight = a.n == b.n ? 0.5f : share_of(b.n, a.n + b.n);
    const float d = b.mean - a.mean;
    Value both{a.n + b.n, is_large_enough(bits_but_0(d)) ? a.mean + d * weight : NAN,
               (a.m2 + b.m2) + (d * d) * (static_cast<float>(a.n) * weight)};
    if (b.n == 0) both = a;
    if (a.n == 0) both = b;
    return both;
  }
  TALLY_DEVICE static Value merge_even(const Op&, const Value& a, const Value& b) {
    const float d = b.mean - a.mean;
    return {2 * a.n, is_large_enough(bits_but_0(d)) ? a.mean + d * 0.5f : NAN,
            (a.m2 + b.m2) + (d * d) * (static_cast<float>(a.n) * 0.5f)};
  }
  TALLY_DEVICE static Value shuffle_even(const Value& a, int offset) {
    return {a.n, gpu::shuffle_xor(a.mean, offset), gpu::shuffle_xor(a.m2, offset)};
  }
  TALLY_DEVICE static int length(const Value& a) { return a.n; }
  /// Then no lane's mean is beyond 2^54, by 40 merges that each add half the square of what they move it to m2.
  TALLY_DEVICE static bool holds(const Value& a) { return math::abs(a.mean) <= 0x1p50f && a.m2 <= 0x1p100f; }
  TALLY_DEVICE static Value unpack(const Var::Moments<float>& a) {
    const bool plain =
        (a.mean.e == 0 || a.mean.m == 0) && (a.m2.e == 0 || a.m2.m == 0) && a.n <= (1 << 25);  // a warp's sum is an int
    return {static_cast<int>(a.n), plain ? a.mean.m : NAN, a.m2.m};
  }
  TALLY_DEVICE static Var::Moments<float> pack(const Value& a) { return {a.n, Wide<float>(a.mean), Wide<float>(a.m2)}; }

 private:
  // No deviation of a lane is larger than |mean| + sqrt(m2), and one is at least |mean| and sqrt(m2 / 32).
  static constexpr float kLeastMean = 0x1p-29f, kLeastSquares = 0x1p-55f;
  /// Of a whole lane; their sum.
  TALLY_DEVICE static float deviations(const float (&x)[kPerLane], float pivot, float (&d)[kPerLane]) {
    float sum = d[0] = x[0] - pivot;
    TALLY_UNROLL
    for (int j = 1; j < kPerLane; ++j) {
      d[j] = x[j] - pivot;
      sum = sum + d[j];
    }
    return sum;
  }
  // Of a magnitude: in its order, but 0 is the largest.
  TALLY_DEVICE static std::uint32_t bits_but_0(float x) { return 2 * math::bit_cast<std::uint32_t>(x) - 1; }
  TALLY_DEVICE static std::uint32_t smaller_but_0(std::uint32_t least, float x) {
    return bits_but_0(x) < least ? bits_but_0(x) : least;
  }
  // The square of such a deviation, times any count, is normal, or zero. Of what is too large the end bears witness: no
  // deviation is larger than |mean| + sqrt(m2).
  TALLY_DEVICE static bool is_large_enough(std::uint32_t bits) { return bits >= bits_but_0(0x1p-40f); }
  /// part / whole, both positive. So small, they need no more than the steps of a division in the middle of the range.
  TALLY_DEVICE static float share_of(int part, int whole) {
    const float n = static_cast<float>(part), d = static_cast<float>(whole);
#if defined(__CUDA_ARCH__)
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(d));
    y = std::fma(std::fma(-d, y, 1.0f), y, y);
    float q = n * y;
    q = std::fma(std::fma(-d, q, n), y, q);
    return std::fma(std::fma(-d, q, n), y, q);
#else
    return n / d;
#endif
  }
  template <int N> struct Lanes { float x[N]; };
  /// The tree over the first `count` of fewer than N lanes of one element. One copy of the code.
  template <int N> TALLY_COLD static Value some_neighbours(Lanes<N> d, int count) {
    Value v[N];
    TALLY_UNROLL
    for (int k = 0; k < N; ++k)
      v[k] = k < count ? Value{1, is_large_enough(bits_but_0(d.x[k])) ? d.x[k] : NAN, 0} : Value{0, 0, 0};
    merge_within<QuickVar, N>(Op(), v);
    return v[0];
  }
};

template <> struct UnitOf<Norm2, float> { using type = QuickNorm2; };
template <> struct UnitOf<Var, float> { using type = QuickVar; };

}  // namespace tally::cuda_loops
