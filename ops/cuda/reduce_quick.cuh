// The quick units: plain float arithmetic that gives the bits of the op's own, as long as every value is where `Wide`
// keeps its exponent at zero (or differs from it by exact powers of two) and no NaN asks to be found. What does not
// hold becomes NaN, which every merge hands on, so nothing is counted on the way and `holds` is asked once, at the end.
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
  static constexpr bool any_order = false, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT64_MAX;
  static constexpr int column_blocks(int) { return 3; }
  static constexpr int row_blocks(int width) { return width == 8 ? 2 : 3; }

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
  template <int W> TALLY_DEVICE static Value lanes(const Op& op, const float (&x)[W][kPerLane], float) {
    float sums[W];
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
  static constexpr int column_blocks(int) { return 3; }
  static constexpr int row_blocks(int) { return 3; }

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
      // No deviation is larger than |mean| + sqrt(m2), and one is at least |mean| and sqrt(m2 / 32).
      const float size = math::abs(mean);
      const bool comfortable = size <= 0x1p56f && m2 <= 0x1p112f && (size >= 0x1p-29f || m2 >= 0x1p-55f);
      return {count, comfortable || all_zero(d, count) ? mean : NAN, m2};
    }
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
    return {a.n + b.n, is_large_enough(bits_but_0(d)) ? a.mean + d * 0.5f : NAN,
            (a.m2 + b.m2) + (d * d) * (static_cast<float>(a.n) * 0.5f)};
  }
  TALLY_DEVICE static bool holds(const Value& a) { return math::abs(a.mean) <= 0x1p60f && a.m2 <= 0x1p120f; }
  TALLY_DEVICE static Value unpack(const Var::Moments<float>& a) {
    const bool plain =
        (a.mean.e == 0 || a.mean.m == 0) && (a.m2.e == 0 || a.m2.m == 0) && a.n <= (1 << 25);  // a warp's sum is an int
    return {static_cast<int>(a.n), plain ? a.mean.m : NAN, a.m2.m};
  }
  TALLY_DEVICE static Var::Moments<float> pack(const Value& a) { return {a.n, Wide<float>(a.mean), Wide<float>(a.m2)}; }

 private:
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

/// The product of what is not zero, and how many zeros there were.
struct QuickProd {
  using Op = Prod;
  struct Value {
    float m;
    int e, zeros;
  };
  static constexpr bool any_order = false, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT32_MAX;
  static constexpr int column_blocks(int width) { return width == 8 ? 3 : 4; }
  static constexpr int row_blocks(int width) { return width == 1 ? 3 : 2; }

  TALLY_DEVICE static Value nothing(const Op&) { return {1, 0, 0}; }
  template <int kRows>
  TALLY_DEVICE static Value lane(const Op& op, const float (&x)[kPerLane], int count, std::int64_t, float) {
    if (count <= 0) return {1, 0, 0};
    if constexpr (kRows == 1) {
      return factor(x[0]);
    } else {
      float product = x[0], least = math::abs(x[0]);
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) {
          product = product * x[j];
          least = std::fmin(least, math::abs(x[j]));
        }
      // Eight factors of this size do not get too small, and once infinite they stay so. A NaN passes by least, but not
      // by the product.
      if (least >= 0x1p-15f && math::abs(product) <= 0x1p120f) return in_range({product, 0, 0});
      Value each = factor(x[0]);
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) each = merge(op, each, factor(x[j]));
      return each;
    }
  }
  template <int W> TALLY_DEVICE static Value lanes(const Op& op, const float (&x)[W][kPerLane], float) {
    static_assert(W % 4 == 0);
    Value fours[W / 4];
    TALLY_UNROLL
    for (int f = 0; f < W / 4; ++f) {
      float product[4], least = INFINITY;  // the least on the way
      TALLY_UNROLL
      for (int k = 0; k < 4; ++k) {
        product[k] = x[4 * f + k][0];
        TALLY_UNROLL
        for (int j = 1; j < kPerLane; ++j) {
          if (j > 1) least = std::fmin(least, math::abs(product[k]));
          product[k] = product[k] * x[4 * f + k][j];
        }
      }
      // Nothing got too small on the way, and what got too large would still be infinite or NaN.
      if (least >= 0x1p-120f && sizes_between(product, 0x1p-30f, 0x1p30f)) {
        fours[f] = in_range({(product[0] * product[1]) * (product[2] * product[3]), 0, 0});
      } else {
        Value each[4];
        TALLY_UNROLL
        for (int k = 0; k < 4; ++k) each[k] = lane<kPerLane>(op, x[4 * f + k], kPerLane, 0, 0);
        merge_within<QuickProd, 4>(op, each);
        fours[f] = each[0];
      }
    }
    merge_within<QuickProd, W / 4>(op, fours);
    return fours[0];
  }
  TALLY_DEVICE static Value merge(const Op&, const Value& a, const Value& b) {
    return in_range({a.m * b.m, a.e + b.e, a.zeros + b.zeros});
  }
  template <int N> TALLY_DEVICE static Value neighbours(const Op& op, const float (&x)[N], int count, int, float) {
    constexpr float kMost = N <= 4 ? 0x1p29f : 0x1p15f;  // no product of some of them leaves the range
    static_assert(N <= 8);
    float v[N], least = 1, most = 1;
    TALLY_UNROLL
    for (int k = 0; k < N; ++k) {
      v[k] = k < count ? x[k] : 1;
      least = std::fmin(least, math::abs(v[k]));
      most = std::fmax(most, math::abs(v[k]));
    }
    if (least >= 1 / kMost && most <= kMost) {
      TALLY_UNROLL
      for (int step = 1; step < N; step *= 2) {
        TALLY_UNROLL
        for (int k = 0; k < N; k += 2 * step) v[k] = v[k] * v[k + step];
      }
      return in_range({v[0], 0, 0});  // NaN passed by least and most
    }
    Value each[N];
    TALLY_UNROLL
    for (int k = 0; k < N; ++k) each[k] = k < count ? factor(x[k]) : nothing(op);
    merge_within<QuickProd, N>(op, each);
    return each[0];
  }
  TALLY_DEVICE static bool holds(const Value& a) { return a.m == a.m; }
  TALLY_DEVICE static Value unpack(const Prod::Factors<float>& a) {
    const bool plain = math::isfinite(a.product.m) && a.zeros <= INT32_MAX / 2048;
    return {plain ? a.product.m : NAN, a.product.e, static_cast<int>(a.zeros)};
  }
  TALLY_DEVICE static Prod::Factors<float> pack(const Value& a) { return {Wide<float>(a.m, a.e), a.zeros}; }

 private:
  // Not infinite, nor so far out that one step is not enough.
  TALLY_DEVICE static Value factor(float x) {
    const float size = math::abs(x);
    if (size == 0) return {math::copysign(1.0f, x), 0, 1};
    return size >= 0x1p-120f && size <= 0x1p120f ? in_range({x, 0, 0}) : Value{NAN, 0, 0};
  }
  TALLY_DEVICE static bool sizes_between(const float (&x)[4], float low, float high) {
    float least = math::abs(x[0]), most = least;
    TALLY_UNROLL
    for (int k = 1; k < 4; ++k) {
      least = gpu::min_or_nan(least, math::abs(x[k]));
      most = gpu::max_or_nan(most, math::abs(x[k]));
    }
    return least >= low && most <= high;
  }
  // Wide's own range: one step is enough for a product of two that are in it.
  TALLY_DEVICE static Value in_range(Value a) {
    const float size = math::abs(a.m);
    const bool small = size < 0x1p-60f;
    const bool large = size > 0x1p60f;
    return {a.m * (small ? 0x1p60f : large ? 0x1p-60f : 1.0f), a.e + (large ? 1 : 0) - (small ? 1 : 0), a.zeros};
  }
};

/// The larger or smaller one; NaN if one is.
template <bool Largest> TALLY_DEVICE float extreme_of(float a, float b) {
  return Largest ? gpu::max_or_nan(a, b) : gpu::min_or_nan(a, b);
}
/// Whether b, and not NaN, is the extreme of both alone.
template <bool Largest> TALLY_DEVICE bool is_behind(float a, float b) { return Largest ? a < b : a > b; }
/// Of several, in four chains that don't wait for each other.
template <bool Largest, int kCount> TALLY_DEVICE float extreme_of(const float (&x)[kCount]) {
  float v[4] = {x[0], x[1], x[2], x[3]};
  TALLY_UNROLL
  for (int i = 4; i < kCount; ++i) v[i % 4] = extreme_of<Largest>(v[i % 4], x[i]);
  return extreme_of<Largest>(extreme_of<Largest>(v[0], v[1]), extreme_of<Largest>(v[2], v[3]));
}

/// The extreme and its place, if no element is NaN.
template <bool Largest> struct QuickExtreme {
  using Op = Extreme<Largest>;
  using Partial = typename Op::template Place<float>;
  struct Value {
    float value;
    int index;
  };
  static constexpr bool any_order = true, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT32_MAX;
  static constexpr int column_blocks(int) { return 3; }
  static constexpr int row_blocks(int) { return 2; }

  TALLY_DEVICE static Value nothing(const Op&) { return {worst<Largest, float>(), INT32_MAX}; }
  template <int kRows>
  TALLY_DEVICE static Value lane(const Op& op, const float (&x)[kPerLane], int count, std::int64_t first, float) {
    if (count <= 0) return nothing(op);
    if constexpr (kRows == 1) {
      return {x[0], static_cast<int>(first)};
    } else {
      float value = x[0];
      int at = 0;
      bool nan = math::isnan(x[0]);
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) {
          nan |= math::isnan(x[j]);
          if (Largest ? x[j] > value : x[j] < value) {
            value = x[j];
            at = kLanes * j;
          }
        }
      return {nan ? NAN : value, static_cast<int>(first) + at};
    }
  }
  template <int N>
  TALLY_DEVICE static Value neighbours(const Op& op, const float (&x)[N], int count, int first, float) {
    Value best = nothing(op);
    bool nan = false;
    TALLY_UNROLL
    for (int k = 0; k < N; ++k)
      if (k < count) {
        nan |= math::isnan(x[k]);
        if (k == 0 || (Largest ? x[k] > best.value : x[k] < best.value)) best = {x[k], first + k};
      }
    if (nan) best.value = NAN;
    return best;
  }
  template <int kCount> TALLY_DEVICE static float extreme(const float (&x)[kCount]) { return extreme_of<Largest>(x); }
  TALLY_DEVICE static float extreme(float a, float b) { return extreme_of<Largest>(a, b); }
  TALLY_DEVICE static bool loses(float a, float b) { return is_behind<Largest>(a, b); }
  template <int kWidth, int kStep, int kCount>
  TALLY_DEVICE static Value share(const Op&, const float (&x)[kCount], float value, std::int64_t first) {
    int at[4] = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
    TALLY_UNROLL
    for (int i = kCount - 1; i >= 0; --i)
      if (x[i] == value) at[i % 4] = i / kWidth * kStep + i % kWidth;
    if (value == 0) {  // the first of them, with its sign
      TALLY_UNROLL
      for (int i = kCount - 1; i >= 0; --i)
        if (x[i] == 0) value = x[i];
    }
    const auto lower = [](int a, int b) { return a < b ? a : b; };
    return {value, static_cast<int>(first) + lower(lower(at[0], at[1]), lower(at[2], at[3]))};
  }
  TALLY_DEVICE static Value merge(const Op&, const Value& a, const Value& b) {
    const bool beats = Largest ? b.value > a.value : b.value < a.value;
    return beats || (b.value == a.value && b.index < a.index) || math::isnan(b.value) ? b : a;
  }
  TALLY_DEVICE static bool holds(const Value& a) { return a.value == a.value; }
  TALLY_DEVICE static Value unpack(const Partial& a) {
    return {a.value, a.index < INT32_MAX ? static_cast<int>(a.index) : INT32_MAX};
  }
  TALLY_DEVICE static Partial pack(const Value& a) {
    return {a.value, a.index == INT32_MAX ? INT64_MAX : std::int64_t{a.index}};
  }
};

/// The extreme and how many tie with it, if no element is NaN.
template <bool Largest> struct QuickShared {
  using Op = SharedExtreme<Largest>;
  using Partial = typename Op::template Ties<float>;
  struct Value {
    float value;
    int count;
  };
  static constexpr bool any_order = true, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT32_MAX;
  static constexpr int column_blocks(int width) { return width == 8 ? 3 : 4; }
  static constexpr int row_blocks(int) { return 2; }

  TALLY_DEVICE static Value nothing(const Op&) { return {worst<Largest, float>(), 0}; }
  template <int kRows>
  TALLY_DEVICE static Value lane(const Op& op, const float (&x)[kPerLane], int count, std::int64_t, float) {
    if (count <= 0) return nothing(op);
    if constexpr (kRows == 1) return {x[0], 1};
    return neighbours(op, x, count, 0, 0);
  }
  template <int N> TALLY_DEVICE static Value neighbours(const Op& op, const float (&x)[N], int count, int, float) {
    if (count <= 0) return nothing(op);
    float value = x[0];
    TALLY_UNROLL
    for (int j = 1; j < N; ++j)
      if (j < count) value = extreme_of<Largest>(value, x[j]);
    float ties = 0;  // added in two instructions, integers in three
    TALLY_UNROLL
    for (int j = 0; j < N; ++j)
      if (j < count) ties += x[j] == value ? 1.0f : 0.0f;
    if (value == 0) {
      TALLY_UNROLL
      for (int j = 0; j < N; ++j)
        if (j < count && x[j] == 0 && math::signbit(x[j]) != Largest) value = x[j];
    }
    return {value, static_cast<int>(ties)};
  }
  template <int kCount> TALLY_DEVICE static float extreme(const float (&x)[kCount]) { return extreme_of<Largest>(x); }
  TALLY_DEVICE static float extreme(float a, float b) { return extreme_of<Largest>(a, b); }
  TALLY_DEVICE static bool loses(float a, float b) { return is_behind<Largest>(a, b); }
  template <int kWidth, int kStep, int kCount>
  TALLY_DEVICE static Value share(const Op&, const float (&x)[kCount], float value, std::int64_t) {
    float ties[4] = {};
    TALLY_UNROLL
    for (int i = 0; i < kCount; ++i) ties[i % 4] += x[i] == value ? 1.0f : 0.0f;
    if (value == 0) {
      TALLY_UNROLL
      for (int i = 0; i < kCount; ++i)
        if (x[i] == 0 && math::signbit(x[i]) != Largest) value = x[i];
    }
    return {value, static_cast<int>((ties[0] + ties[1]) + (ties[2] + ties[3]))};
  }
  TALLY_DEVICE static Value merge(const Op&, const Value& a, const Value& b) {
    const bool beats = (Largest ? b.value > a.value : b.value < a.value) || math::isnan(b.value);
    Value one = beats ? b : a;
    if (a.value == b.value) {
      if (math::signbit(a.value) == Largest) one.value = b.value;  // of two zeros the one that counts
      one.count = a.count + b.count;
    }
    return one;
  }
  TALLY_DEVICE static bool holds(const Value& a) { return a.value == a.value; }
  TALLY_DEVICE static Value unpack(const Partial& a) {
    return {a.count <= INT32_MAX / 2048 ? a.value : NAN, static_cast<int>(a.count)};
  }
  TALLY_DEVICE static Partial pack(const Value& a) { return {a.value, a.count}; }
};

template <> struct UnitOf<Norm2, float> { using type = QuickNorm2; };
template <> struct UnitOf<Var, float> { using type = QuickVar; };
template <> struct UnitOf<Std, float> { using type = QuickVar; };
template <> struct UnitOf<Prod, float> { using type = QuickProd; };
template <bool Largest> struct UnitOf<Extreme<Largest>, float> { using type = QuickExtreme<Largest>; };
template <bool Largest> struct UnitOf<SharedExtreme<Largest>, float> { using type = QuickShared<Largest>; };

}  // namespace tally::cuda_loops
