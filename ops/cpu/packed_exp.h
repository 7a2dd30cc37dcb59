// exp of numbers that are at most 0, of several vectors side by side: each step waits for the one before it, but not
// for the other vectors'.
#pragma once

#include <array>

#include <tally/core/math/exp.h>
#include <tally/ops/cpu/vector.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

/// The coefficients of math's fused_exp_of_reduced and exp_tail, the last one first, for vectors.
inline constexpr std::array kExpOfReduced = {0.00138145604f, 0.00836873613f, 0.041668389f, 0.166665211f,
                                             0.49999994f,    1.0f,           1.0f};
inline constexpr std::array kExpTail = {2.5000028332510362e-08, 2.7630286288760552e-07, 2.7557586673223431e-06,
                                        2.4801493001298102e-05, 0.00019841269506032941, 0.0013888888943714855,
                                        0.0083333333334948047,  0.041666666666529878,   0.16666666666666413,
                                        0.50000000000000111};
constexpr bool are_those_of_math() {
  for (double r = -0.34375; r < 0.35; r += 0.03125) {
    double q = kExpTail[0];
    for (std::size_t i = 1; i < kExpTail.size(); ++i) q = kExpTail[i] + r * q;
    float y = kExpOfReduced[0];
    for (std::size_t i = 1; i < kExpOfReduced.size(); ++i)
      y = math::detail::fused(static_cast<float>(r), y, kExpOfReduced[i]);
    if (q != math::detail::exp_tail(r) || y != math::detail::fused_exp_of_reduced(static_cast<float>(r))) return false;
  }
  return true;
}
static_assert(are_those_of_math());

/// x * 2^n, rounded once; with `power`, whose low bits are n + 64: so raised no product is subnormal, until the last.
template <class T>
TALLY_INLINE Vec<T> times_two_to(Vec<T> x, [[maybe_unused]] Vec<T> n, [[maybe_unused]] Vec<T> power) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    return _mm512_scalef_ps(x, n);
  else
    return _mm512_scalef_pd(x, n);
#else
  return x * from_bits<T>((bits<T>(power) + kExponentBias<T>) << kMantissaBits<T>) * T(0x1p-64);
#endif
}

/// The larger of x and `least`; NaN of NaN.
template <class T> TALLY_INLINE Vec<T> at_least(Vec<T> x, T least) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    return _mm512_max_ps(splat(least), x);
  else
    return _mm512_max_pd(splat(least), x);
#else
  return x < least ? splat(least) : x;
#endif
}

/// x - n * y, where that product is exact.
TALLY_INLINE Vec<double> less_exact_product(Vec<double> x, Vec<double> n, double y) {
#if defined(__AVX512F__)
  return _mm512_fnmadd_pd(n, splat(y), x);
#else
  return x - n * y;
#endif
}

/// x[k] = math::exp(x[k]), its bits, for numbers that are at most 0, and NaN.
template <class T, int N> TALLY_INLINE void exp_at_most_0(Vec<T> (&x)[N]) {
  using Constants = math::detail::ExpConstants<T>;
  constexpr T kShift = math::detail::kShifter<T> + 64;
  const auto each = [](auto step) TALLY_LAMBDA { steps(0, std::integral_constant<int, N>(), step); };
  Vec<T> power[N], n[N], y[N];
  each([&](int k) TALLY_LAMBDA { x[k] = at_least<T>(x[k], Constants::kLowest); });
  if constexpr (std::is_same_v<T, float>) {
    each([&](int k) TALLY_LAMBDA { power[k] = fused(x[k], splat(Constants::kLog2E), splat(kShift)); });
    each([&](int k) TALLY_LAMBDA { n[k] = power[k] - kShift; });
    each([&](int k) TALLY_LAMBDA { x[k] = fused(-n[k], splat(Constants::kLn2), x[k]); });
    each([&](int k) TALLY_LAMBDA { x[k] = fused(-n[k], splat(Constants::kLn2Rest), x[k]); });
    each([&](int k) TALLY_LAMBDA { y[k] = splat(kExpOfReduced[0]); });
    steps(1, std::integral_constant<int, int(kExpOfReduced.size())>(), [&](int i) TALLY_LAMBDA {
      each([&](int k) TALLY_LAMBDA { y[k] = fused(x[k], y[k], splat(kExpOfReduced[static_cast<unsigned>(i)])); });
    });
  } else {
    Vec<T> head[N], low[N], r[N];
    each([&](int k) TALLY_LAMBDA { power[k] = x[k] * T(1.4426950408889634); });
    each([&](int k) TALLY_LAMBDA { power[k] += kShift; });
    each([&](int k) TALLY_LAMBDA { n[k] = power[k] - kShift; });
    each([&](int k) TALLY_LAMBDA { head[k] = less_exact_product(x[k], n[k], Constants::kLn2High); });
    each([&](int k) TALLY_LAMBDA { low[k] = n[k] * Constants::kLn2Low; });
    each([&](int k) TALLY_LAMBDA { r[k] = head[k] - low[k]; });
    each([&](int k) TALLY_LAMBDA { y[k] = splat(kExpTail[0]); });
    steps(1, std::integral_constant<int, int(kExpTail.size())>(), [&](int i) TALLY_LAMBDA {
      each([&](int k) TALLY_LAMBDA { y[k] *= r[k]; });
      each([&](int k) TALLY_LAMBDA { y[k] += kExpTail[static_cast<unsigned>(i)]; });
    });
    each([&](int k) TALLY_LAMBDA { r[k] *= r[k]; });
    each([&](int k) TALLY_LAMBDA { y[k] *= r[k]; });
    each([&](int k) TALLY_LAMBDA { y[k] -= low[k]; });
    each([&](int k) TALLY_LAMBDA { y[k] += head[k]; });
    each([&](int k) TALLY_LAMBDA { y[k] += 1; });
  }
  each([&](int k) TALLY_LAMBDA { x[k] = times_two_to<T>(y[k], n[k], power[k]); });
}

/// step(i, N vectors as a constant) for all of `count` elements, four vectors at a time and then one, the last of which
/// may be cut; always one where the code is to be small.
template <class T> TALLY_INLINE void four_vectors_at_a_time(std::int64_t count, auto step) {
  constexpr int W = kWidth<T>;
  std::int64_t i = 0;
  if constexpr (sizeof(T) == 4 && kVectorBytes >= 32)
    for (; i + 4 * W <= count; i += 4 * W) step(i, std::integral_constant<int, 4>());
  for (; i < count; i += W) step(i, std::integral_constant<int, 1>());
}

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
