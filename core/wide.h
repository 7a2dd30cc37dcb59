// A float whose exponent has no practical bounds: value = m · 2^(step·e). Each operation rounds once, to C's precision,
// and neither overflows nor underflows; a number has several representations, but the value never depends on which.
// norm, var, std and prod are computed in it, so that squares and products may leave C's range on the way.
#pragma once

#include <cstdint>

#include <tally/core/hd.h>
#include <tally/core/math.h>

namespace tally {

template <class C> struct WideRange;
template <> struct WideRange<float> {
  static constexpr int step = 60;
  static constexpr float high = 0x1p60f, low = 0x1p-60f;
};
template <> struct WideRange<double> {
  static constexpr int step = 500;
  static constexpr double high = 0x1p500, low = 0x1p-500;
};

/// A finite, non-zero `m` has magnitude in [low, high], so a product of two is in C's range. Infinities and NaN carry
/// the largest e, zero any.
template <class C> struct Wide {
  C m;
  std::int32_t e;

  TALLY_HD Wide() : m(0), e(0) {}
  TALLY_HD Wide(C value, std::int32_t exponent = 0) : m(value), e(exponent) {
    normalize();
  }  // NOLINT: a float is a Wide

  /// The value as C: rounds once where it is subnormal there, overflows to infinity.
  TALLY_HD C narrow() const { return e == 0 || m == 0 ? m : math::scale(m, clamp_exponent(e) * Range::step); }

  TALLY_HD friend Wide operator*(Wide a, Wide b) { return Wide(a.m * b.m, add_exponents(a.e, b.e)); }
  TALLY_HD friend Wide operator/(Wide a, C b) { return Wide(a.m / b, a.e); }  // b > 0 and not extreme
  TALLY_HD friend Wide operator-(Wide a) {
    a.m = -a.m;
    return a;
  }
  TALLY_HD friend Wide operator+(Wide a, Wide b) {
    if (a.e == b.e) return Wide(a.m + b.m, a.e);
    if (a.m == 0) return b;
    if (b.m == 0) return a;
    if (a.e < b.e) {
      const Wide t = a;
      a = b;
      b = t;
    }
    // Three steps apart, b is below half an ulp of a whatever the two significands are.
    const std::int32_t apart = a.e - b.e;
    if (apart > 2) return a;
    return Wide(a.m + b.m * (apart == 1 ? Range::low : Range::low * Range::low), a.e);
  }
  TALLY_HD friend Wide operator-(Wide a, Wide b) { return a + -b; }

 private:
  using Range = WideRange<C>;
  static constexpr std::int32_t kLargest = 1 << 28;

  TALLY_HD static std::int32_t clamp_exponent(std::int32_t e) { return e > 64 ? 64 : e < -64 ? -64 : e; }
  TALLY_HD static std::int32_t add_exponents(std::int32_t a, std::int32_t b) {
    const std::int32_t e = a + b;
    return e > kLargest ? kLargest : e < -kLargest ? -kLargest : e;
  }
  TALLY_HD void normalize() {
    const C size = math::abs(m);
    if ((size >= Range::low && size <= Range::high) || size == 0) return;
    *this = brought_into_range(*this);
  }
  TALLY_HD_COLD static Wide brought_into_range(Wide a) {
    if (!math::isfinite(a.m)) {
      a.e = kLargest;
      return a;
    }
    for (; math::abs(a.m) > Range::high; ++a.e) a.m *= Range::low;
    for (; math::abs(a.m) < Range::low; --a.e) a.m *= Range::high;
    return a;
  }
};

/// Whether values of this largest magnitude can be squared, summed and multiplied in C itself with the same result: far
/// from both ends, so that whatever under- or overflows next to it could not have counted.
template <class C> TALLY_HD bool is_comfortable(C largest) {
  // A deviation that survives cancellation is at least an ulp: its square must stay normal too.
  constexpr C low = sizeof(C) == 4 ? C(0x1p-30) : C(0x1p-400);
  constexpr C high = sizeof(C) == 4 ? C(0x1p58) : C(0x1p400);
  return largest == 0 || (largest >= low && largest <= high);
}

}  // namespace tally
