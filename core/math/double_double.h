// A sum of two doubles as one number of about 106 bits (Dekker 1971, Knuth), for where a double's 53 do not reach.
#pragma once

#include <tally/core/hd.h>
#include <tally/core/math/isa.h>

namespace tally::math::inline TALLY_MATH_ISA::detail {

/// high + low, |low| at most half a unit in the last place of high.
struct DoubleDouble {
  double high, low;
};

/// a + b exactly, for |a| >= |b| or a = 0.
TALLY_HD constexpr DoubleDouble add_ordered(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b exactly.
TALLY_HD constexpr DoubleDouble add(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// The upper and the lower 26 bits, whose products are exact.
TALLY_HD constexpr DoubleDouble split(double a) {
  const double shifted = a * 0x1.0000002p27, high = shifted - (shifted - a);
  return {high, a - high};
}

/// a * b exactly, barring over- and underflow.
TALLY_HD constexpr DoubleDouble multiply(double a, double b) {
  const double product = a * b;
  const auto [ah, al] = split(a);
  const auto [bh, bl] = split(b);
  return {product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

/// a * b to about 2^-102.
TALLY_HD constexpr DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const auto [high, low] = multiply(a.high, b.high);
  return add_ordered(high, low + (a.high * b.low + a.low * b.high));
}

}  // namespace tally::math::inline TALLY_MATH_ISA::detail
