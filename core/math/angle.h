// An angle taken to [-pi/4, pi/4] with the quadrant it came from, right for every double.
#pragma once

#include <cstdint>

#include <tally/core/math/bits.h>
#include <tally/core/math/double_double.h>

namespace tally::math::inline TALLY_MATH_ISA::detail {

/// angle = quadrant * pi/2 + (r.high + r.low), the quadrant modulo 4.
struct ReducedAngle {
  unsigned quadrant;
  DoubleDouble r;
};

/// |x| < 2^20: pi/2 in four parts (Cody and Waite); the quadrant number times any of the first three is exact.
TALLY_HD inline ReducedAngle reduce_small_angle(double x) {
  constexpr double kShift = 0x1.8p52;
  const double n = (x * 0.63661977236758134 + kShift) - kShift;
  const auto [a, lost_a] = add(x - n * 0x1.921fb544p+0, -(n * 0x1.0b4611a6p-34));
  const auto [b, lost_b] = add(a, -(n * 0x1.3198a2ep-69));
  const double low = lost_a + (lost_b - n * 0x1.b839a252049c1p-104);
  return {static_cast<unsigned>(static_cast<int>(n)) & 3, add_ordered(b, low)};
}

/// Bits 64 k to 64 k + 63 of 2/pi after the binary point, below one word of zeros; enough for the largest double.
TALLY_HD inline std::uint64_t two_over_pi(int k) {
  static constexpr std::uint64_t kWords[] = {
      0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
      0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
      0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
      0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
  return kWords[k];
}

/// The 64 bits of 0.2/pi's expansion from position s of the words above.
TALLY_HD inline std::uint64_t two_over_pi_from(int s) {
  const int k = s / 64, shift = s % 64;
  return shift == 0 ? two_over_pi(k) : two_over_pi(k) << shift | two_over_pi(k + 1) >> (64 - shift);
}

/// Any finite |x| >= 2^20 (Payne and Hanek 1983): of x * 2/pi only the bits of weight below 4 matter, so the integer
/// mantissa is multiplied by the 192 bits of 2/pi that reach them; what is cut off is below 2^-137.
TALLY_HD inline ReducedAngle reduce_large_angle(double x) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t bits = to_bits(abs(x));
  const std::uint64_t mantissa = (bits & Masks<double>::kMantissa) | (Masks<double>::kMantissa + 1);
  const int s = static_cast<int>(bits >> 52) - (1023 + 52) + 62;
  const Wide low = static_cast<Wide>(two_over_pi_from(s + 128)) * mantissa;
  const Wide middle = static_cast<Wide>(two_over_pi_from(s + 64)) * mantissa + static_cast<std::uint64_t>(low >> 64);
  const std::uint64_t top = two_over_pi_from(s) * mantissa + static_cast<std::uint64_t>(middle >> 64);
  const auto next = static_cast<std::uint64_t>(middle);

  // top holds two bits of quadrant, then the fraction, which is taken to [-1/2, 1/2) by rounding the quadrant.
  unsigned quadrant = static_cast<unsigned>((top + (std::uint64_t{1} << 61)) >> 62) & 3;
  std::uint64_t high = top << 2 | next >> 62, rest = next << 2 | static_cast<std::uint64_t>(low) >> 62;
  bool negative = high >> 63 != 0;
  if (negative) {
    rest = std::uint64_t{0} - rest;
    high = ~high + (rest == 0);
  }
  // Pieces of 32 bits are exact as doubles; of the sum, leading zeros included, about 2^-66 relative is kept.
  const auto piece = [](std::uint64_t word, double weight) { return static_cast<double>(word) * weight; };
  const auto upper = add_ordered(piece(high >> 32, 0x1p-32), piece(high & 0xffffffff, 0x1p-64));
  const double lower = piece(rest >> 32, 0x1p-96) + piece(rest & 0xffffffff, 0x1p-128);
  const auto fraction = add_ordered(upper.high, upper.low + lower);
  auto r = multiply(fraction, DoubleDouble{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54});
  if (negative) r = {-r.high, -r.low};
  if (signbit(x)) return {(4 - quadrant) & 3, {-r.high, -r.low}};
  return {quadrant, r};
}

TALLY_HD inline ReducedAngle reduce_angle(double x) {
  return abs(x) < 0x1p20 ? reduce_small_angle(x) : reduce_large_angle(x);
}

}  // namespace tally::math::inline TALLY_MATH_ISA::detail
