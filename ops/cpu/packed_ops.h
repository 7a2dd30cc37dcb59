// The arithmetic of the reductions that need the order, on vectors of lanes: the same formulas as ops/reductions/ in
// the same order, without the cases that leave the comfortable range. Those set `bad`, and the general loops take over.
// A number that stays normal (or an exact zero) at every step rounds as if its exponent had no bounds.
#pragma once

#include <tally/ops/cpu/packed_exp.h>
#include <tally/ops/cpu/reduce_kernels.h>
#include <tally/ops/cpu/vector.h>
#include <tally/ops/reduction_order.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

// kCounts: merging needs to know how many elements there are. kLong: it is too much code to be written out.

template <class C, int N> struct Packed { Vec<C> f[N]; };

/// What merging needs to know of the two counts: b.n / (a.n + b.n), a.n times that, and where b is nothing.
template <class C> struct Weight {
  Vec<C> share, scaled;
  Mask<C> nothing;
};
/// How long the lanes are, and which have the last of the rows.
template <class C> struct LaneEnds {
  Vec<C> length;
  Mask<C> last;
};

/// Where something has left the comfortable range.
template <class C> struct BadPlaces {
  Mask<C> bad{};
  TALLY_INLINE void unless(Mask<C> good) { bad |= ~good; }
  TALLY_INLINE void add(const BadPlaces& other) { bad |= other.bad; }
  TALLY_INLINE Mask<C> places(Vec<C>) const { return bad; }
  TALLY_INLINE bool any(Vec<C>) const { return cpu_vector::any<Whole<C>>(bad); }
};
/// Nothing is looked at on the way.
template <class C> struct Unwatched {
  TALLY_INLINE void add(const Unwatched&) {}
  TALLY_INLINE bool any(Vec<C>) const { return false; }
};
/// The same from the least magnitude on the way, which Op::kLow bounds, and from what has come of it all: no infinity
/// ends in a number.
template <class C, class Op> struct LeastMagnitude {
  Vec<C> least = splat(C(__builtin_inf()));
  TALLY_INLINE void see(Vec<C> x) { least = smaller_magnitude<C>(x, least); }
  TALLY_INLINE void add(const LeastMagnitude& other) { see(other.least); }
  TALLY_INLINE Mask<C> places(Vec<C> end) const { return ~((least >= Op::kLow) & (abs<C>(end) < C(__builtin_inf()))); }
  TALLY_INLINE bool any(Vec<C> end) const { return cpu_vector::any<Whole<C>>(places(end)); }
};

/// sum, and with Magnitude the norm of order 1.
template <class T, bool Magnitude> struct PackedSum {
  using C = T;
  using Acc = Packed<C, 1>;
  using Bad = BadPlaces<C>;
  static constexpr bool kCounts = false, kLong = false;
  static C pad(C) { return C(-0.0); }
  TALLY_INLINE static Acc nothing() { return {splat(Magnitude ? C(0) : C(-0.0))}; }
  TALLY_INLINE static Vec<C> part(Vec<C> x) { return Magnitude ? abs<C>(x) : x; }
  TALLY_INLINE static Acc lane(auto get, auto rows, const LaneEnds<C>&, Vec<C>, Bad&) {
    Vec<C> sum = part(get(0));
    steps(1, rows, [&](int j) TALLY_LAMBDA { sum += part(get(j)); });
    return {sum};
  }
  TALLY_INLINE static Acc combine(const Acc& a, const Acc& b, const Weight<C>&, Bad&) { return {a.f[0] + b.f[0]}; }
  TALLY_INLINE static Vec<C> result(const Acc& acc) { return acc.f[0]; }
  TALLY_INLINE static bool finish(const C* f, int, detail::TileResult<C>& out) {
    out.first = f[0];
    return true;
  }
};

template <class T> struct PackedSquares {
  using C = T;
  using Acc = Packed<C, 1>;
  using Bad = LeastMagnitude<C, PackedSquares>;
  static constexpr bool kCounts = false, kLong = false;
  // Eight squares that add up to this have one of at least 2^-60, beside which the order lets others underflow.
  static constexpr C kLow = sizeof(C) == 4 ? C(0x1p-57) : C(0x1p-500);
  static C pad(C) { return C(0); }
  TALLY_INLINE static Acc nothing() { return {splat(C(0))}; }
  TALLY_INLINE static Acc lane(auto get, auto rows, const LaneEnds<C>&, Vec<C>, Bad& bad) {
    Vec<C> x = get(0), sum = x * x;
    Mask<C> together = bits<C>(x);
    steps(1, rows, [&](int j) TALLY_LAMBDA {
      x = get(j);
      together |= bits<C>(x);
      sum += x * x;
    });
    bad.see((together & ~kSignBit<C>) == 0 ? splat(C(__builtin_inf())) : sum);
    return {sum};
  }
  TALLY_INLINE static Acc combine(const Acc& a, const Acc& b, const Weight<C>&, Bad&) { return {a.f[0] + b.f[0]}; }
  TALLY_INLINE static Vec<C> result(const Acc& acc) { return root<C>(acc.f[0]); }
  TALLY_INLINE static bool finish(const C* f, int, detail::TileResult<C>& out) {
    out.first = f[0];
    return true;
  }
};

/// Factors as they are. That a product on the way has left the normal numbers the processor notes (processor_note.h),
/// or it shows at the end.
template <class T> struct PlainProduct {
  using C = T;
  using Acc = Packed<C, 1>;
  using Bad = Unwatched<C>;
  static constexpr bool kCounts = false, kLong = false;
  static constexpr int kFactors = sizeof(C) == 4 ? 32 : 512;  // whose product seldom leaves the range
  static C pad(C) { return C(1); }
  TALLY_INLINE static Acc nothing() { return {splat(C(1))}; }
  TALLY_INLINE static Acc lane(auto get, auto rows, const LaneEnds<C>&, Vec<C>, Bad&) {
    Vec<C> product = get(0);
    steps(1, rows, [&](int j) TALLY_LAMBDA { product *= get(j); });
    return {product};
  }
  TALLY_INLINE static Acc combine(const Acc& a, const Acc& b, const Weight<C>&, Bad&) { return {a.f[0] * b.f[0]}; }
};

/// A number, and as an integer in the second field's bits the exponent of the power of two that it is short of. Lanes
/// have it in [1, 2), so that the product of a tile's 128 is below 2^128.
template <class T> struct PackedProduct {
  using C = T;
  using Quick = PlainProduct<C>;
  using Acc = Packed<C, 2>;
  using Bad = BadPlaces<C>;
  static constexpr bool kCounts = false, kLong = false;
  // Eight factors from here up cannot underflow on the way, and one that overflowed stays infinite.
  static constexpr C kLow = sizeof(C) == 4 ? C(0x1p-15) : C(0x1p-120),
                     kHigh = sizeof(C) == 4 ? C(0x1p120) : C(0x1p1000);
  static constexpr C kNormal = sizeof(C) == 4 ? C(0x1p-126) : C(0x1p-1022), kInfinity = __builtin_inf();
  static C pad(C) { return C(1); }
  TALLY_INLINE static Acc nothing() { return {splat(C(1)), splat(C(0))}; }
  TALLY_INLINE static Acc from(const typename Quick::Acc& product, Bad& bad) {
    bad.unless(is_normal(product.f[0]));
    return split(product.f[0]);
  }
  /// The number in [1, 2) again.
  TALLY_INLINE static Acc settled(const Acc& acc) {
    return {significand<C>(acc.f[0]), from_bits<C>(exponents(acc) + exponent<C>(acc.f[0]))};
  }
  TALLY_INLINE static Acc split(Vec<C> x) { return {significand<C>(x), from_bits<C>(exponent<C>(x))}; }
  TALLY_INLINE static Acc lane(auto get, auto rows, const LaneEnds<C>&, Vec<C>, Bad& bad) {
    Vec<C> product = get(0), least = abs<C>(product);
    if (rows == 1) {
      bad.unless(is_normal(product));
      return split(product);
    }
    steps(1, rows, [&](int j) TALLY_LAMBDA {
      const Vec<C> x = get(j);
      least = smaller_magnitude<C>(x, least);
      product *= x;
    });
    if (!any<Whole<C>>(~((least >= kLow) & (abs<C>(product) <= kHigh)))) return split(product);
    return one_by_one(get, rows, bad);
  }
  /// For factors of any size but zeros, subnormals, infinities and NaN.
  static Acc one_by_one(auto get, int rows, Bad& bad) {
    Acc acc = nothing();
    for (int j = 0; j < rows; ++j) {
      const Vec<C> x = get(j);
      bad.unless(is_normal(x));
      const Vec<C> product = acc.f[0] * significand<C>(x);
      acc = {significand<C>(product), from_bits<C>(exponents(acc) + exponent<C>(x) + exponent<C>(product))};
    }
    return acc;
  }
  TALLY_INLINE static Acc combine(const Acc& a, const Acc& b, const Weight<C>&, Bad&) {
    return {a.f[0] * b.f[0], from_bits<C>(exponents(a) + exponents(b))};
  }
  TALLY_INLINE static Vec<C> result(const Acc& acc) {
    const Acc one = settled(acc);
    return times_power<C>(one.f[0], exponents(one));
  }
  TALLY_INLINE static bool finish(const C* f, int, detail::TileResult<C>& out) {
    Whole<C> product, exponent;
    __builtin_memcpy(&product, &f[0], sizeof product);
    __builtin_memcpy(&exponent, &f[1], sizeof exponent);
    out.number = exponent + ((product & kExponentBits<C>) >> kMantissaBits<C>)-kExponentBias<C>;
    product = (product & ~kExponentBits<C>) | (kExponentBias<C> << kMantissaBits<C>);
    __builtin_memcpy(&out.first, &product, sizeof product);
    return true;
  }

 private:
  TALLY_INLINE static Mask<C> is_normal(Vec<C> x) { return (abs<C>(x) >= kNormal) & (abs<C>(x) < kInfinity); }
  TALLY_INLINE static Mask<C> exponents(const Acc& acc) { return bits<C>(acc.f[1]); }
};

/// (mean, m2) of the deviations from the pivot.
template <class T> struct PackedMoments {
  using C = T;
  using Acc = Packed<C, 2>;
  using Bad = BadPlaces<C>;
  static constexpr bool kCounts = true, kLong = true;
  static constexpr C kLow = sizeof(C) == 4 ? C(0x1p-30) : C(0x1p-400), kHigh = sizeof(C) == 4 ? C(0x1p56) : C(0x1p400);
  static constexpr C kLeast = sizeof(C) == 4 ? C(0x1p-40) : C(0x1p-400);  // of a difference of means
  static C pad(C pivot) { return pivot; }
  TALLY_INLINE static Acc nothing() { return {splat(C(0)), splat(C(0))}; }
  TALLY_INLINE static Acc lane(auto get, auto rows, const LaneEnds<C>& ends, Vec<C> pivot, Bad& bad) {
    Vec<C> sum = get(0) - pivot, largest = abs<C>(sum);
    steps(1, rows, [&](int j) TALLY_LAMBDA {
      const Vec<C> x = get(j) - pivot, size = abs<C>(x);
      largest = size > largest ? size : largest;
      sum += x;
    });
    const Vec<C> mean = sum / ends.length, first = (get(0) - pivot) - mean;
    Vec<C> m2 = first * first;
    steps(1, rows, [&](int j) TALLY_LAMBDA {
      const Vec<C> x = (get(j) - pivot) - mean, more = m2 + x * x;
      m2 = j == rows - 1 ? (ends.last ? more : m2) : more;
    });
    // NaN is in the sum, but perhaps not in `largest`.
    bad.unless(((largest == 0) | ((largest >= kLow) & (largest <= kHigh))) & (sum == sum));
    return {mean, m2};
  }
  TALLY_INLINE static Acc combine(const Acc& a, const Acc& b, const Weight<C>& w, Bad& bad) {
    const Vec<C> d = b.f[0] - a.f[0], mean = a.f[0] + d * w.share, m2 = (a.f[1] + b.f[1]) + (d * d) * w.scaled;
    bad.unless((d == 0) | (abs<C>(d) >= kLeast) | w.nothing);
    return {w.nothing ? a.f[0] : mean, w.nothing ? a.f[1] : m2};
  }
  TALLY_INLINE static bool finish(const C* f, int, detail::TileResult<C>& out) {
    out.first = f[0];
    out.second = f[1];
    return true;
  }
};

/// (max, sum of exp(x - max)).
template <class T> struct PackedExponentials {
  using C = T;
  using Acc = Packed<C, 2>;
  using Bad = BadPlaces<C>;
  static constexpr bool kCounts = false, kLong = true;
  static constexpr int W = kWidth<C>;
  static constexpr C kInfinity = __builtin_inf();
  static C pad(C) { return -kInfinity; }
  TALLY_INLINE static Acc nothing() { return {splat(-kInfinity), splat(C(0))}; }
  TALLY_INLINE static Vec<C> shifted(Vec<C> x, Vec<C> max) { return x == max ? Vec<C>{} : x - max; }
  /// Of whole vectors.
  [[gnu::noinline]] static void exponentials(C* values, int count) {
    four_vectors_at_a_time<C>(count, [=](std::int64_t i, auto number) TALLY_LAMBDA {
      Vec<C> x[number()];
      steps(0, number, [&](int k) TALLY_LAMBDA { x[k] = load(values + i + W * k); });
      exp_at_most_0<C>(x);
      steps(0, number, [&](int k) TALLY_LAMBDA { store(values + i + W * k, x[k]); });
    });
  }
  TALLY_INLINE static Vec<C> relative(Vec<C> x, Vec<C> max) {
    alignas(64) C values[W];
    store(values, shifted(x, max));
    exponentials(values, W);
    return load(values);
  }
  TALLY_INLINE static Acc lane(auto get, auto rows, const LaneEnds<C>&, Vec<C>, Bad&) {
    Vec<C> max = get(0);
    if (rows == 1) return {max, max == max ? splat(C(1)) : max};
    steps(1, rows, [&](int j) TALLY_LAMBDA {
      const Vec<C> x = get(j);
      max = x > max ? x : max;
    });
    alignas(64) C values[kPerLane * W];
    store(values, shifted(get(0), max));
    steps(1, rows, [&](int j) TALLY_LAMBDA { store(values + W * j, shifted(get(j), max)); });
    exponentials(values, rows * W);
    Vec<C> sum = load(values);
    steps(1, rows, [&](int j) TALLY_LAMBDA { sum += load(values + W * j); });
    return {max, sum};
  }
  TALLY_INLINE static Acc combine(const Acc& a, const Acc& b, const Weight<C>&, Bad&) {
    const Mask<C> b_leads = a.f[0] < b.f[0];
    const Vec<C> max = b_leads ? b.f[0] : a.f[0], other = b_leads ? a.f[0] : b.f[0];
    return {max, (b_leads ? b.f[1] : a.f[1]) + (b_leads ? a.f[1] : b.f[1]) * relative(other, max)};
  }
  /// What a maximum of infinity or a NaN among the values means is left to the general loops.
  TALLY_INLINE static bool finish(const C* f, int, detail::TileResult<C>& out) {
    out.first = f[0];
    out.second = f[1];
    return f[0] - f[0] == 0 && f[1] == f[1];
  }
};

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
