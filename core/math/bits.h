// Floating-point numbers as bit patterns: what the elementary functions are built on.
//
// Everything in tally::math uses only IEEE + - * /, square root, integer operations and comparisons, each rounded on
// its own, and in exp of floats a fused multiply-add where it says so (fused.h), so a function has the same bits from
// every compiler and on every device, provided contraction is off (-ffp-contract=off, nvcc -fmad=false). NaN is one
// value: its sign and payload are unspecified.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tally/core/hd.h>
#include <tally/core/math/isa.h>

namespace tally::math::inline TALLY_MATH_ISA {

/// The layout of a binary floating-point type.
template <class T> struct Ieee;
/// binary32.
template <> struct Ieee<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr int kBias = 127;
};
/// binary64.
template <> struct Ieee<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr int kBias = 1023;
};
/// float and double.
template <class T>
concept Real = requires {
  Ieee<T>::kBias;
};
/// The unsigned integer of its size.
template <Real T> using Bits = typename Ieee<T>::Bits;
/// The same bits as another type.
template <class To, class From> TALLY_HD constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}
/// The bits of a number.
template <Real T> TALLY_HD constexpr Bits<T> to_bits(T x) { return bit_cast<Bits<T>>(x); }
/// Where its parts lie in the bits.
template <Real T> struct Masks {
  static constexpr Bits<T> kSign = Bits<T>{1} << (sizeof(T) * 8 - 1);
  static constexpr Bits<T> kMantissa = (Bits<T>{1} << Ieee<T>::kMantissa) - 1;
  static constexpr Bits<T> kInfinity = static_cast<Bits<T>>(2 * Ieee<T>::kBias + 1) << Ieee<T>::kMantissa;
};
/// +inf.
template <Real T> TALLY_HD constexpr T infinity() { return bit_cast<T>(Masks<T>::kInfinity); }
/// A quiet NaN.
template <Real T> TALLY_HD constexpr T nan() { return bit_cast<T>(Masks<T>::kInfinity | (Masks<T>::kInfinity >> 1)); }
/// Whether the sign is minus, of zeros and NaN too.
template <Real T> TALLY_HD constexpr bool signbit(T x) { return (to_bits(x) & Masks<T>::kSign) != 0; }
/// x without its sign.
template <Real T> TALLY_HD constexpr T abs(T x) { return bit_cast<T>(to_bits(x) & ~Masks<T>::kSign); }
/// The magnitude of one with the sign of the other.
template <Real T> TALLY_HD constexpr T copysign(T magnitude, T sign) {
  return bit_cast<T>((to_bits(magnitude) & ~Masks<T>::kSign) | (to_bits(sign) & Masks<T>::kSign));
}

/// yes ? a : b, both computed. On the host by masks, since g++ neither vectorises a branch on a floating-point
/// comparison nor keeps from making one; not where the vector unit has no comparison of that width.
template <class T> TALLY_HD constexpr T select(bool yes, T a, T b) {
#if !defined(__CUDA_ARCH__)
#if defined(__x86_64__) && !defined(__SSE4_2__)
  constexpr bool kMask = sizeof(T) == 4;
#else
  constexpr bool kMask = true;
#endif
  if constexpr (kMask) {
    using B = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const B mask = B{0} - static_cast<B>(yes);
    return bit_cast<T>((bit_cast<B>(a) & mask) | (bit_cast<B>(b) & ~mask));
  }
#endif
  return yes ? a : b;
}

/// Whether x is NaN. These three go by bits, so that they hold under -ffinite-math-only in a user's file too.
template <Real T> TALLY_HD constexpr bool isnan(T x) { return (to_bits(x) & ~Masks<T>::kSign) > Masks<T>::kInfinity; }
/// Whether it is an infinity, of either sign.
template <Real T> TALLY_HD constexpr bool isinf(T x) { return (to_bits(x) & ~Masks<T>::kSign) == Masks<T>::kInfinity; }
/// Whether it is neither.
template <Real T> TALLY_HD constexpr bool isfinite(T x) {
  return (to_bits(x) & ~Masks<T>::kSign) < Masks<T>::kInfinity;
}

}  // namespace tally::math::inline TALLY_MATH_ISA
