// The quick units (reduce_quick.cuh) of extremes, which are all the largest of something (reduce_alike.cuh).
#pragma once

#include <cmath>

#include <tally/ops/reductions.h>
#include <tally/ops/cuda/reduce_fold.cuh>

namespace tally::cuda_loops {

/// The largest of several, NaN if one is; in four chains that don't wait for each other.
template <int kCount> TALLY_DEVICE float largest_of(const float (&x)[kCount]) {
  float v[4] = {x[0], x[1], x[2], x[3]};
  TALLY_UNROLL
  for (int i = 4; i < kCount; ++i) v[i % 4] = gpu::max_or_nan(v[i % 4], x[i]);
  return gpu::max_or_nan(gpu::max_or_nan(v[0], v[1]), gpu::max_or_nan(v[2], v[3]));
}

/// A float as an integer of the same order, in which -0 is below 0; the largest one is NaN's.
TALLY_DEVICE int key_of(float x) {
  const int bits = math::bit_cast<int>(x);
  return x == x ? bits ^ (bits >> 31 & INT32_MAX) : INT32_MAX;
}
/// The largest of a warp's values; of two zeros the positive one.
TALLY_DEVICE float largest_of_warp(float x) {
  const int key = gpu::max_of_warp(key_of(x));
  return math::bit_cast<float>(key ^ (key >> 31 & INT32_MAX));
}

/// The largest and its place, if no element is NaN.
struct QuickMax {
  using Op = Max;
  using Partial = Placed<float>;
  struct Value {
    float value;
    int index;
  };
  static constexpr bool any_order = true, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT32_MAX;
  static constexpr int slab_blocks(int width) { return width == 8 ? 2 : 3; }
  static constexpr int row_blocks(int) { return 2; }

  TALLY_DEVICE static Value nothing(const Op&) { return {worst<true, float>(), INT32_MAX}; }
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
          if (x[j] > value) {
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
        if (k == 0 || x[k] > best.value) best = {x[k], first + k};
      }
    if (nan) best.value = NAN;
    return best;
  }
  template <int kCount> TALLY_DEVICE static float extreme(const float (&x)[kCount]) { return largest_of(x); }
  TALLY_DEVICE static float extreme(float a, float b) { return gpu::max_or_nan(a, b); }
  TALLY_DEVICE static bool loses(float a, float b) { return a < b; }
  template <int kWidth, int kStep, bool kMayBeLate, int kCount>
  TALLY_DEVICE static Value share(const Op&, const float (&x)[kCount], float value, std::int64_t first, int late) {
    const auto place = [late](int i) {
      return i / kWidth * kStep + i % kWidth + (kMayBeLate && i % kWidth < late ? kStep : 0);
    };
    const auto lower = [](int a, int b) { return a < b ? a : b; };
    int at[4] = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
    TALLY_UNROLL
    for (int i = kCount - 1; i >= 0; --i)
      if (x[i] == value) at[i % 4] = kMayBeLate ? lower(at[i % 4], place(i)) : place(i);
    const int lowest = lower(lower(at[0], at[1]), lower(at[2], at[3]));
    if (value == 0) {  // the first of them, with its sign
      TALLY_UNROLL
      for (int i = kCount - 1; i >= 0; --i)
        if (kMayBeLate ? place(i) == lowest : x[i] == 0) value = x[i];
    }
    return {value, static_cast<int>(first) + lowest};
  }
  TALLY_DEVICE static Value merge(const Op&, const Value& a, const Value& b) {
    return b.value > a.value || (b.value == a.value && b.index < a.index) || math::isnan(b.value) ? b : a;
  }
  TALLY_DEVICE static Value across(const Op& op, Value a, int offset, int end) {
    if (offset != 1 || end != kWarp) {
      for (; offset < end; offset *= 2) a = merge(op, a, gpu::shuffle_xor(a, offset));
      return a;
    }
    const float best = largest_of_warp(a.value);
    const int index = gpu::min_of_warp(a.value == best ? a.index : INT32_MAX);
    if (best == 0) {  // with the sign of the one that is there
      const unsigned there = __ballot_sync(gpu::kAllLanes, a.value == 0 && a.index == index);
      return {gpu::shuffle(a.value, __ffs(static_cast<int>(there)) - 1), index};
    }
    return {best, index};
  }
  TALLY_DEVICE static bool holds(const Value& a) { return a.value == a.value; }
  TALLY_DEVICE static Value unpack(const Partial& a) {
    return {a.value, a.index < INT32_MAX ? static_cast<int>(a.index) : INT32_MAX};
  }
  TALLY_DEVICE static Partial pack(const Value& a) {
    return {a.value, a.index == INT32_MAX ? INT64_MAX : std::int64_t{a.index}};
  }
};

/// The largest and how many tie with it, if no element is NaN.
struct QuickAMax {
  using Op = AMax;
  using Partial = Tied<float>;
  struct Value {
    float value;
    int count;
  };
  static constexpr bool any_order = true, checked = true, heavy = false;
  static constexpr std::int64_t longest = INT32_MAX;
  static constexpr int slab_blocks(int width) { return width == 8 ? 2 : 4; }
  static constexpr int row_blocks(int) { return 2; }

  TALLY_DEVICE static Value nothing(const Op&) { return {worst<true, float>(), 0}; }
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
      if (j < count) value = gpu::max_or_nan(value, x[j]);
    float ties = 0;  // added in two instructions, integers in three
    TALLY_UNROLL
    for (int j = 0; j < N; ++j)
      if (j < count) ties += x[j] == value ? 1.0f : 0.0f;
    if (value == 0) {
      TALLY_UNROLL
      for (int j = 0; j < N; ++j)
        if (j < count && x[j] == 0 && !math::signbit(x[j])) value = x[j];
    }
    return {value, static_cast<int>(ties)};
  }
  template <int W> TALLY_DEVICE static Value lanes(const Op& op, const float (&x)[W][kPerLane], float) {
    float all[W * kPerLane];
    TALLY_UNROLL
    for (int i = 0; i < W * kPerLane; ++i) all[i] = x[i / kPerLane][i % kPerLane];
    return share<1, 1, false>(op, all, extreme(all), 0, 0);
  }
  template <int kCount> TALLY_DEVICE static float extreme(const float (&x)[kCount]) { return largest_of(x); }
  TALLY_DEVICE static float extreme(float a, float b) { return gpu::max_or_nan(a, b); }
  TALLY_DEVICE static bool loses(float a, float b) { return a < b; }
  template <int kWidth, int kStep, bool kMayBeLate, int kCount>
  TALLY_DEVICE static Value share(const Op&, const float (&x)[kCount], float value, std::int64_t, int) {
    float ties[4] = {};
    TALLY_UNROLL
    for (int i = 0; i < kCount; ++i) ties[i % 4] += x[i] == value ? 1.0f : 0.0f;
    if (value == 0) {
      TALLY_UNROLL
      for (int i = 0; i < kCount; ++i)
        if (x[i] == 0 && !math::signbit(x[i])) value = x[i];
    }
    return {value, static_cast<int>((ties[0] + ties[1]) + (ties[2] + ties[3]))};
  }
  TALLY_DEVICE static Value merge(const Op&, const Value& a, const Value& b) {
    Value one = b.value > a.value || math::isnan(b.value) ? b : a;
    if (a.value == b.value) {
      if (math::signbit(a.value)) one.value = b.value;  // of two zeros the one that counts
      one.count = a.count + b.count;
    }
    return one;
  }
  TALLY_DEVICE static Value across(const Op& op, Value a, int offset, int end) {
    if (offset != 1 || end != kWarp) {
      for (; offset < end; offset *= 2) a = merge(op, a, gpu::shuffle_xor(a, offset));
      return a;
    }
    const float best = largest_of_warp(a.value);
    return {best, gpu::sum_of_warp(a.value == best ? a.count : 0)};
  }
  TALLY_DEVICE static bool holds(const Value& a) { return a.value == a.value; }
  TALLY_DEVICE static Value unpack(const Partial& a) {
    return {a.count <= INT32_MAX / 2048 ? a.value : NAN, static_cast<int>(a.count)};
  }
  TALLY_DEVICE static Partial pack(const Value& a) { return {a.value, a.count}; }
};

}  // namespace tally::cuda_loops
