// Float16 (IEEE binary16) and BFloat16 (the upper half of a float): two bytes for storage; arithmetic happens in float.
//
// All conversions are explicit. Into a half type they round once, to nearest even, from the source type itself;
// subnormals are kept, overflow gives infinity, and NaN stays NaN. Out of a half type they are exact.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <tally/core/math/bits.h>

namespace tally {

namespace detail::inline TALLY_MATH_ISA {

/// Rounds x to a format of 16 bits with `kMantissa` bits of mantissa; returns its pattern.
template <int kMantissa, math::Real T> TALLY_HD constexpr std::uint16_t round_to_half(T x) {
  using Bits = math::Bits<T>;
  constexpr int kBias = (1 << (14 - kMantissa)) - 1;
  constexpr int kDrop = math::Ieee<T>::kMantissa - kMantissa;
  constexpr Bits kRebias = static_cast<Bits>(math::Ieee<T>::kBias - kBias) << math::Ieee<T>::kMantissa;
  constexpr Bits kHalfInfinity = static_cast<Bits>(2 * kBias + 1) << kMantissa;
  constexpr Bits kHalfNan = kHalfInfinity | (Bits{1} << (kMantissa - 1));
  const Bits magnitude = math::to_bits(math::abs(x));

  // A carry out of the mantissa moves to the next exponent, as it should, and at most to infinity or beyond.
  Bits half = (magnitude - kRebias + ((Bits{1} << (kDrop - 1)) - 1) + ((magnitude >> kDrop) & 1)) >> kDrop;
  if constexpr (kRebias != 0) {
    // Below the normal range: added to 2^s whose last place is the smallest subnormal, x is rounded to it.
    constexpr int kSmallest = 1 - kBias - kMantissa;
    constexpr Bits kShift = static_cast<Bits>(math::Ieee<T>::kMantissa + kSmallest + math::Ieee<T>::kBias)
                            << math::Ieee<T>::kMantissa;
    const Bits subnormal = math::to_bits(math::abs(x) + math::bit_cast<T>(kShift)) - kShift;
    constexpr Bits kSmallestNormal = kRebias + (Bits{1} << math::Ieee<T>::kMantissa);
    half =
        math::select(magnitude < kSmallestNormal, subnormal, math::select(half < kHalfInfinity, half, kHalfInfinity));
  }
  half = math::select(magnitude < math::Masks<T>::kInfinity, half, kHalfInfinity);
  half = math::select(magnitude > math::Masks<T>::kInfinity, kHalfNan, half);
  return static_cast<std::uint16_t>(half | (math::to_bits(x) >> (sizeof(T) * 8 - 16) & 0x8000u));
}

/// A double from which rounding to fewer than 52 bits gives what rounding the integer itself would.
template <std::integral I> TALLY_HD constexpr double sticky_double(I i) {
  const bool negative = i < I{0};
  std::uint64_t magnitude = negative ? std::uint64_t{0} - static_cast<std::uint64_t>(i) : static_cast<std::uint64_t>(i);
  if (magnitude >> 53 != 0) magnitude = (magnitude & ~std::uint64_t{0x7ff}) | ((magnitude & 0x7ff) != 0 ? 0x800 : 0);
  const double x = static_cast<double>(magnitude);
  return negative ? -x : x;
}

// The device's own conversions from and to float give the same values and are one instruction.
TALLY_HD constexpr float float16_to_float(std::uint16_t bits) {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) {
    float y = 0;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(bits));
    return y;
  }
#endif
  const std::uint32_t magnitude = bits & 0x7fffu;
  constexpr std::uint32_t kRebias = (127u - 15u) << 23;
  const float normal = math::bit_cast<float>((magnitude << 13) + (magnitude < 0x7c00u ? kRebias : 2 * kRebias));
  const float subnormal = static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f;
  const float x = math::select(magnitude < 0x400u, subnormal, normal);
  return math::bit_cast<float>(math::to_bits(x) | (bits & 0x8000u) << 16);
}

TALLY_HD constexpr std::uint16_t float_to_float16(float x) {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) {
    std::uint16_t y = 0;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
  }
#endif
  return round_to_half<10>(x);
}

TALLY_HD constexpr std::uint16_t float_to_bfloat16(float x) {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) {
    std::uint16_t y = 0;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
  }
#endif
  return round_to_half<7>(x);
}

}  // namespace detail::inline TALLY_MATH_ISA

namespace detail {
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;
}

// The members are inlined always: see math/isa.h for why no body may be left to the linker.

/// IEEE's 2-byte float: 11 significant bits, largest 65504. From others it rounds once to nearest even, subnormals
/// kept.
struct Float16 {
  std::uint16_t bits;

  /// Uninitialised, or rounded from a number.
  Float16() = default;
  [[gnu::always_inline]] TALLY_HD constexpr explicit Float16(float x) : bits(detail::float_to_float16(x)) {}
  [[gnu::always_inline]] TALLY_HD constexpr explicit Float16(double x) : bits(detail::round_to_half<10>(x)) {}
  [[gnu::always_inline]] TALLY_HD constexpr explicit Float16(std::integral auto i)
      : Float16(detail::sticky_double(i)) {}

  /// The value as T; exact for float and double.
  template <detail::Arithmetic T> [[gnu::always_inline]] TALLY_HD constexpr explicit operator T() const {
    return static_cast<T>(detail::float16_to_float(bits));
  }
  /// By value, as floats compare: NaN equals nothing, -0 equals +0.
  [[gnu::always_inline]] TALLY_HD friend constexpr bool operator==(Float16 a, Float16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  /// The number that has these bits.
  [[gnu::always_inline]] TALLY_HD static constexpr Float16 from_bits(std::uint16_t bits) {
    return math::bit_cast<Float16>(bits);
  }
};

/// The upper half of a float32: 8 significant bits and its range. From others it rounds once to nearest even,
/// subnormals kept.
struct BFloat16 {
  std::uint16_t bits;

  /// Uninitialised, or rounded from a number.
  BFloat16() = default;
  [[gnu::always_inline]] TALLY_HD constexpr explicit BFloat16(float x) : bits(detail::float_to_bfloat16(x)) {}
  [[gnu::always_inline]] TALLY_HD constexpr explicit BFloat16(double x) : bits(detail::round_to_half<7>(x)) {}
  [[gnu::always_inline]] TALLY_HD constexpr explicit BFloat16(std::integral auto i)
      : BFloat16(detail::sticky_double(i)) {}

  /// The value as T; exact for float and double.
  template <detail::Arithmetic T> [[gnu::always_inline]] TALLY_HD constexpr explicit operator T() const {
    return static_cast<T>(math::bit_cast<float>(std::uint32_t{bits} << 16));
  }
  /// By value, as floats compare: NaN equals nothing, -0 equals +0.
  [[gnu::always_inline]] TALLY_HD friend constexpr bool operator==(BFloat16 a, BFloat16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  /// The number that has these bits.
  [[gnu::always_inline]] TALLY_HD static constexpr BFloat16 from_bits(std::uint16_t bits) {
    return math::bit_cast<BFloat16>(bits);
  }
};

static_assert(sizeof(Float16) == 2 && std::is_trivially_copyable_v<Float16>);
static_assert(sizeof(BFloat16) == 2 && std::is_trivially_copyable_v<BFloat16>);

}  // namespace tally
