// The quick unit (reduce_quick.cuh) of products.
#pragma once

#include <cmath>

#include <tally/ops/reductions.h>
#include <tally/ops/cuda/reduce_fold.cuh>

namespace tally::cuda_loops {

/// A chain of products, as they are but 2^64 times as large, and whether none got too small on the way: of a size from
/// 2^-63 on bit 30 is set then, which three of them have in one instruction. What got too large stays infinite or NaN,
/// so of that the end bears witness.
struct ScaledProduct {
  static constexpr float kUp = 0x1p64f, kDown = 0x1p-64f;
  float value;

  TALLY_DEVICE explicit ScaledProduct(float first) : value(first * kUp) {}
  TALLY_DEVICE void times(float x, std::uint32_t& all) {
    value = value * x;
    all &= math::bit_cast<std::uint32_t>(value);
  }
  TALLY_DEVICE void times(const ScaledProduct& b, std::uint32_t& all) {
    value = value * kDown;
    times(b.value, all);
  }
  TALLY_DEVICE bool is_right(std::uint32_t all) const { return (all & 1u << 30) != 0 && math::abs(value) <= 0x1p126f; }
  TALLY_DEVICE float product() const { return value * kDown; }
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
  static constexpr int slab_blocks(int width) { return width == 8 ? 2 : 3; }
  static constexpr int row_blocks(int width) { return width == 1 ? 3 : 2; }
  static constexpr int short_row_blocks(int) { return 6; }
  static constexpr bool scarce = true;

  TALLY_DEVICE static Value nothing(const Op&) { return {1, 0, 0}; }
  template <int kRows>
  TALLY_DEVICE static Value lane(const Op& op, const float (&x)[kPerLane], int count, std::int64_t, float) {
    if (count <= 0) return {1, 0, 0};
    if constexpr (kRows == 1) {
      return factor(x[0]);
    } else {
      ScaledProduct product(x[0]);
      std::uint32_t all = math::bit_cast<std::uint32_t>(product.value);
      TALLY_UNROLL
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) product.times(x[j], all);
      if (product.is_right(all)) return in_range({product.product(), 0, 0});
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
      ScaledProduct product[4] = {ScaledProduct(x[4 * f][0]), ScaledProduct(x[4 * f + 1][0]),
                                  ScaledProduct(x[4 * f + 2][0]), ScaledProduct(x[4 * f + 3][0])};
      std::uint32_t all = ~0u;
      TALLY_UNROLL
      for (int k = 0; k < 4; ++k) {
        TALLY_UNROLL
        for (int j = 1; j < kPerLane; ++j) product[k].times(x[4 * f + k][j], all);
      }
      product[0].times(product[1], all);
      product[2].times(product[3], all);
      product[0].times(product[2], all);
      if (product[0].is_right(all)) {
        fours[f] = in_range({product[0].product(), 0, 0});
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
    static_assert(N == 4 || N == 8);
    std::uint32_t all = ~0u;
    float product[N];
    TALLY_UNROLL
    for (int k = 0; k < N; ++k) product[k] = k < count ? x[k] : 1;
    TALLY_UNROLL
    for (int step = 1; step < N; step *= 2) {
      TALLY_UNROLL
      for (int k = 0; k < N; k += 2 * step) {
        product[k] = product[k] * (step == 1 ? ScaledProduct::kUp : ScaledProduct::kDown) * product[k + step];
        all &= math::bit_cast<std::uint32_t>(product[k]);
      }
    }
    if ((all & 1u << 30) != 0 && math::abs(product[0]) <= 0x1p126f)
      return in_range({product[0] * ScaledProduct::kDown, 0, 0});
    Value each[N];
    TALLY_UNROLL
    for (int k = 0; k < N; ++k) each[k] = k < count ? factor(x[k]) : nothing(op);
    merge_within<QuickProd, N>(op, each);
    return each[0];
  }
  /// With m in [1, 2), no product of a warp's leaves the range; its exponent is kept apart.
  TALLY_DEVICE static Value across(const Op&, Value a, int offset, int end) {
    const std::uint32_t bits = math::bit_cast<std::uint32_t>(a.m);
    float m = math::bit_cast<float>((bits & 0x807fffffu) | 0x3f800000u);
    int exponent = static_cast<int>(bits >> 23 & 255u) - 127;
    if (!(a.m == a.m)) m = NAN;
    const bool all = offset == 1 && end == kWarp;
    for (; offset < end; offset *= 2) {
      m = m * gpu::shuffle_xor(m, offset);
      if (all) continue;
      exponent += gpu::shuffle_xor(exponent, offset);
      a.e += gpu::shuffle_xor(a.e, offset);
      a.zeros += gpu::shuffle_xor(a.zeros, offset);
    }
    if (all) {
      exponent = gpu::sum_of_warp(exponent);
      a.e = gpu::sum_of_warp(a.e);
      a.zeros = gpu::sum_of_warp(a.zeros);
    }
    // m is below 2^32: what is left beside it of the exponent is in [-46, 14).
    constexpr int kFar = 64;  // steps of 60, so that the division is one of positive numbers
    const int steps = static_cast<int>(static_cast<unsigned>(exponent + 46 + 60 * kFar) / 60u) - kFar;
    const float scale = math::bit_cast<float>(static_cast<std::uint32_t>(exponent - 60 * steps + 127) << 23);
    return {m * scale, a.e + steps, a.zeros};
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
  // Wide's own range: one step is enough for a product of two that are in it.
  TALLY_DEVICE static Value in_range(Value a) {
    const float size = math::abs(a.m);
    const bool small = size < 0x1p-60f;
    const bool large = size > 0x1p60f;
    return {a.m * (small ? 0x1p60f : large ? 0x1p-60f : 1.0f), a.e + (large ? 1 : 0) - (small ? 1 : 0), a.zeros};
  }
};

template <> struct UnitOf<Prod, float> { using type = QuickProd; };

}  // namespace tally::cuda_loops
