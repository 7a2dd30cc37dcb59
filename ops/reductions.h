// The list of reductions. Each is its arithmetic and its derivative; what the members mean stands in ops/reduction.h.
#pragma once

#include <cmath>
#include <variant>

#include <tally/core/wide.h>
#include <tally/ops/reduction.h>

namespace tally {

template <class T> inline constexpr bool floats_only = is_float_type<T>;
/// Integers and bool add up in int64.
template <class T> using Widened = std::conditional_t<is_float_type<T>, T, std::int64_t>;

struct Sum {
  static constexpr auto name = "sum";
  template <class T> using Result = Widened<T>;
  template <class C> static constexpr bool any_order = std::is_integral_v<C>;
  template <class C> using Acc = C;
  // -0: the one number that changes nothing when added, not even -0 itself.
  template <class C> TALLY_HD C identity() const { return std::is_integral_v<C> ? C(0) : C(-0.0); }
  template <class C> TALLY_HD C lift(C x) const { return x; }
  template <class C> TALLY_HD C combine(C a, C b) const {
    if constexpr (std::is_integral_v<C>)
      return static_cast<C>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
      return a + b;
  }
  template <class C> TALLY_HD C project(C acc, std::int64_t n, C) const { return n == 0 ? C(0) : acc; }
  template <class C> TALLY_HD C derivative(C, std::int64_t, C) const { return C(1); }
};

struct Mean : Sum {
  static constexpr auto name = "mean";
  template <class T> static constexpr bool accepts = floats_only<T>;
  template <class C> TALLY_HD C project(C acc, std::int64_t n, C) const {
    return n == 0 ? C(NAN) : acc / static_cast<C>(n);
  }
  template <class C> TALLY_HD C derivative(C, std::int64_t n, C) const { return C(1) / static_cast<C>(n); }
};

struct Prod {
  static constexpr auto name = "prod";
  template <class T> using Result = Widened<T>;
  template <class C> static constexpr bool any_order = std::is_integral_v<C>;
  /// The product of what is not zero, and how many zeros there were. Signs of zeros are in the product.
  template <class C> struct Factors {
    Wide<C> product;
    std::int64_t zeros;
  };
  template <class C>
  using Acc = std::conditional_t<std::is_integral_v<C>, std::int64_t,
                                 Factors<std::conditional_t<std::is_integral_v<C>, float, C>>>;

  template <class C> TALLY_HD Acc<C> identity() const {
    if constexpr (std::is_integral_v<C>)
      return 1;
    else
      return {Wide<C>(C(1)), 0};
  }
  TALLY_HD std::int64_t lift(std::int64_t x) const { return x; }
  template <class C> TALLY_HD Factors<C> lift(C x) const {
    return x == 0 ? Factors<C>{Wide<C>(math::copysign(C(1), x)), 1} : Factors<C>{Wide<C>(x), 0};
  }
  TALLY_HD std::int64_t combine(std::int64_t a, std::int64_t b) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
  template <class C> TALLY_HD Factors<C> combine(Factors<C> a, Factors<C> b) const {
    return {a.product * b.product, a.zeros + b.zeros};
  }
  template <class C> TALLY_HD Acc<C> lane(const C (&x)[kPerLane], int count, std::int64_t, C) const {
    if constexpr (std::is_integral_v<C>) {
      Acc<C> product = x[0];
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) product = combine(product, x[j]);
      return product;
    } else {
      // Eight factors of moderate size stay in C's range.
      constexpr C low = sizeof(C) == 4 ? C(0x1p-15) : C(0x1p-120), high = 1 / low;
      C product = x[0];
      bool moderate = math::abs(x[0]) >= low && math::abs(x[0]) <= high;
      for (int j = 1; j < kPerLane; ++j)
        if (j < count) {
          moderate &= math::abs(x[j]) >= low && math::abs(x[j]) <= high;
          product = product * x[j];
        }
      return moderate ? Acc<C>{Wide<C>(product), 0} : unbounded(Lane<C>(x), count);
    }
  }
  TALLY_HD std::int64_t project(std::int64_t acc, std::int64_t, std::int64_t) const { return acc; }
  template <class C> TALLY_HD C project(Factors<C> acc, std::int64_t, C) const {
    if (acc.zeros == 0) return acc.product.narrow();
    // Only an infinite factor makes this NaN, not others whose product leaves C's range.
    return math::isfinite(acc.product.m) ? math::copysign(C(0), acc.product.m) : C(NAN);
  }
  // Its gradient, the product of the others, needs the whole list: ops/prod_gradient.h.

 private:
  template <class C> TALLY_HD_COLD static Factors<C> unbounded(Lane<C> lane, int count) {
    const Prod op;
    Factors<C> product = op.lift(lane.x[0]);
    for (int j = 1; j < count; ++j) product = op.combine(product, op.lift(lane.x[j]));
    return product;
  }
};

/// What no element is worse than.
template <bool Largest, class C> TALLY_HD constexpr C worst() {
  if constexpr (std::is_integral_v<C>)
    return Largest ? INT64_MIN : INT64_MAX;
  else
    return Largest ? -math::infinity<C>() : math::infinity<C>();
}

/// max and min with the place of the first extreme element; the first NaN counts as the extreme. -0 equals +0.
template <bool Largest> struct Extreme {
  static constexpr auto name = Largest ? "max" : "min";
  static constexpr bool indexed = true;  // the second result is the index
  template <class C> static constexpr bool any_order = true;
  template <class C> struct Place {
    C value;
    std::int64_t index;
  };
  template <class C> using Acc = Place<C>;
  template <class C> TALLY_HD static bool beats(C a, C b) {
    if constexpr (std::is_integral_v<C>)
      return Largest ? a > b : a < b;
    else
      return (Largest ? a > b : a < b) || (math::isnan(a) && !math::isnan(b));
  }
  template <class C> TALLY_HD Place<C> nothing() const { return {worst<Largest, C>(), INT64_MAX}; }
  template <class C> TALLY_HD Place<C> lift(C x, std::int64_t i) const { return {x, i}; }
  // Lanes interleave in the list, so the earlier index decides a tie, not the earlier accumulator.
  template <class C> TALLY_HD Place<C> combine(Place<C> a, Place<C> b) const {
    return beats(b.value, a.value) || (b.index < a.index && !beats(a.value, b.value)) ? b : a;
  }
  template <class C> TALLY_HD Place<C> lane(const C (&x)[kPerLane], int count, std::int64_t first, C) const {
    C value = x[0];
    int at = 0;
    bool nan = is_nan(x[0]);
    for (int j = 1; j < kPerLane; ++j)
      if (j < count) {
        nan |= is_nan(x[j]);
        if (Largest ? x[j] > value : x[j] < value) {
          value = x[j];
          at = j;
        }
      }
    return nan ? first_nan(Lane<C>(x), first) : Place<C>{value, first + kLanes * at};
  }
  template <class C> TALLY_HD Pair<C, std::int64_t> project(Place<C> acc, std::int64_t, C) const {
    return {acc.value, acc.index};
  }
  template <class C> TALLY_HD C derivative(C, std::int64_t i, Place<C> acc, std::int64_t, C) const {
    return C(i == acc.index);
  }

 private:
  template <class C> TALLY_HD static bool is_nan(C x) {
    if constexpr (std::is_integral_v<C>)
      return false;
    else
      return math::isnan(x);
  }
  template <class C> TALLY_HD_COLD static Place<C> first_nan(Lane<C> lane, std::int64_t first) {
    int at = 0;
    while (at + 1 < kPerLane && !is_nan(lane.x[at])) ++at;
    return {lane.x[at], first + kLanes * at};
  }
};
using Max = Extreme<true>;
using Min = Extreme<false>;

/// amax and amin: the value and how many tie with it. -0 orders below +0; the gradient is shared.
template <bool Largest> struct SharedExtreme {
  static constexpr auto name = Largest ? "amax" : "amin";
  template <class C> static constexpr bool any_order = true;
  template <class C> struct Ties {
    C value;
    std::int64_t count;
  };
  template <class C> using Acc = Ties<C>;
  template <class C> TALLY_HD static bool below(C a, C b) {
    if constexpr (std::is_integral_v<C>)
      return a < b;
    else
      return a < b || (a == b && math::signbit(a) && !math::signbit(b));
  }
  template <class C> TALLY_HD static bool same(C a, C b) {
    if constexpr (std::is_integral_v<C>)
      return a == b;
    else
      return a == b || (math::isnan(a) && math::isnan(b));
  }
  template <class C> TALLY_HD Ties<C> nothing() const { return {worst<Largest, C>(), 0}; }
  template <class C> TALLY_HD Ties<C> lift(C x) const { return {x, 1}; }
  template <class C> TALLY_HD Ties<C> combine(Ties<C> a, Ties<C> b) const {
    if (same(a.value, b.value))
      return {(Largest ? below(a.value, b.value) : below(b.value, a.value)) ? b.value : a.value, a.count + b.count};
    if constexpr (!std::is_integral_v<C>) {
      if (math::isnan(a.value)) return a;
      if (math::isnan(b.value)) return b;
    }
    return (Largest ? a.value < b.value : b.value < a.value) ? b : a;
  }
  template <class C> TALLY_HD Ties<C> lane(const C (&x)[kPerLane], int count, std::int64_t, C) const {
    // The extreme, then how many equal it; the sign of a zero and NaN are rare.
    C value = x[0];
    for (int j = 1; j < kPerLane; ++j)
      if (j < count && (Largest ? x[j] > value : x[j] < value)) value = x[j];
    int ties = 0, compared = 0;
    for (int j = 0; j < kPerLane; ++j)
      if (j < count) {
        ties += x[j] == value;
        if constexpr (!std::is_integral_v<C>) compared += !math::isnan(x[j]);
      }
    if constexpr (!std::is_integral_v<C>) {
      if (compared != count) return one_by_one(Lane<C>(x), count);
      if (value == 0)
        for (int j = 0; j < kPerLane; ++j)
          if (j < count && x[j] == 0 && math::signbit(x[j]) != Largest) value = x[j];
    }
    return {value, ties};
  }
  template <class C> TALLY_HD C project(Ties<C> acc, std::int64_t, C) const { return acc.value; }
  template <class C> TALLY_HD C derivative(C x, Ties<C> acc, std::int64_t, C) const {
    return same(x, acc.value) ? C(1) / static_cast<C>(acc.count) : C(0);
  }

 private:
  template <class C> TALLY_HD_COLD static Ties<C> one_by_one(Lane<C> lane, int count) {
    Ties<C> ties{lane.x[0], 1};
    for (int j = 1; j < count; ++j) ties = SharedExtreme().combine(ties, Ties<C>{lane.x[j], 1});
    return ties;
  }
};
using AMax = SharedExtreme<true>;
using AMin = SharedExtreme<false>;

/// How many elements are not zero; NaN is not zero. any and all compare the count with 0 and n.
struct CountNonzero {
  static constexpr auto name = "count_nonzero";
  template <class T> using Result = std::int64_t;
  template <class C> static constexpr bool any_order = true;
  template <class C> using Acc = std::int64_t;
  template <class C> TALLY_HD std::int64_t identity() const { return 0; }
  template <class C> TALLY_HD std::int64_t lift(C x) const { return x != 0; }
  TALLY_HD std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
  template <class C> TALLY_HD std::int64_t project(std::int64_t acc, std::int64_t, C) const { return acc; }
};
struct Any : CountNonzero {
  static constexpr auto name = "any";
  template <class T> using Result = bool;
  template <class C> TALLY_HD std::int64_t project(std::int64_t acc, std::int64_t, C) const { return acc != 0; }
};
struct All : CountNonzero {
  static constexpr auto name = "all";
  template <class T> using Result = bool;
  template <class C> TALLY_HD std::int64_t project(std::int64_t acc, std::int64_t n, C) const { return acc == n; }
};

/// norm of order 2: the sum of squares with unbounded exponent.
struct Norm2 {
  static constexpr auto name = "norm";
  template <class T> static constexpr bool accepts = floats_only<T>;
  template <class C> using Acc = Wide<C>;
  template <class C> TALLY_HD Wide<C> identity() const { return Wide<C>(); }
  template <class C> TALLY_HD Wide<C> lift(C x) const { return Wide<C>(x) * Wide<C>(x); }
  template <class C> TALLY_HD Wide<C> combine(Wide<C> a, Wide<C> b) const { return a + b; }
  template <class C> TALLY_HD Wide<C> lane(const C (&x)[kPerLane], int count, std::int64_t, C) const {
    C largest = math::abs(x[0]);
    for (int j = 1; j < kPerLane; ++j)
      if (j < count && !(math::abs(x[j]) <= largest)) largest = math::abs(x[j]);
    return is_comfortable(largest) ? squares<C>(x, count) : unbounded(Lane<C>(x), count);
  }
  template <class C> TALLY_HD C project(Wide<C> acc, std::int64_t, C) const { return root(acc).narrow(); }
  template <class C> TALLY_HD C derivative(C x, Wide<C> acc, std::int64_t, C) const {
    if (acc.m == 0) return C(0);
    // x / norm, both brought to the norm's range: exact powers of two.
    const Wide<C> norm = root(acc), wide(x);
    return Wide<C>(wide.m / norm.m, wide.e - norm.e).narrow();
  }

  /// The root with its exponent still apart: an odd step is split, so that the scaling stays exact.
  template <class C> TALLY_HD static Wide<C> root(Wide<C> square) {
    constexpr int half = WideRange<C>::step / 2;
    const std::int32_t e = square.e >> 1;  // rounds down
    const C m = static_cast<C>(std::sqrt(square.m));
    return square.e & 1 ? Wide<C>(math::scale(m, half), e) : Wide<C>(m, e);
  }

 private:
  template <class C> TALLY_HD_COLD static Wide<C> unbounded(Lane<C> lane, int count) {
    return squares<Wide<C>>(lane.x, count);
  }
  template <class N, class C> TALLY_HD static Wide<C> squares(const C (&x)[kPerLane], int count) {
    N sum = N(x[0]) * N(x[0]);
    for (int j = 1; j < kPerLane; ++j)
      if (j < count) sum = sum + N(x[j]) * N(x[j]);
    return Wide<C>(sum);
  }
};

/// norm of order 1.
struct Norm1 {
  static constexpr auto name = "norm";
  template <class T> static constexpr bool accepts = floats_only<T>;
  template <class C> using Acc = C;
  template <class C> TALLY_HD C identity() const { return C(0); }
  template <class C> TALLY_HD C lift(C x) const { return math::abs(x); }
  template <class C> TALLY_HD C combine(C a, C b) const { return a + b; }
  template <class C> TALLY_HD C project(C acc, std::int64_t, C) const { return acc; }
  template <class C> TALLY_HD C derivative(C x, C, std::int64_t, C) const {
    return math::isnan(x) ? x : C((x > 0) - (x < 0));
  }
};

/// norm of order 0: how many are not zero, as a float. Its gradient is 0.
struct Norm0 {
  static constexpr auto name = "norm";
  template <class T> static constexpr bool accepts = floats_only<T>;
  template <class C> static constexpr bool any_order = true;
  template <class C> using Acc = std::int64_t;
  template <class C> TALLY_HD std::int64_t identity() const { return 0; }
  template <class C> TALLY_HD std::int64_t lift(C x) const { return x != 0; }
  TALLY_HD std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
  template <class C> TALLY_HD C project(std::int64_t acc, std::int64_t, C) const { return static_cast<C>(acc); }
  template <class C> TALLY_HD C derivative(std::int64_t, std::int64_t, C) const { return C(0); }
};

/// norm of order +inf and -inf: the largest and smallest magnitude; ties share the gradient.
template <bool Largest> struct NormInf {
  static constexpr auto name = "norm";
  template <class T> static constexpr bool accepts = floats_only<T>;
  template <class C> static constexpr bool any_order = true;
  using Magnitude = SharedExtreme<Largest>;
  template <class C> using Acc = typename Magnitude::template Ties<C>;
  template <class C>
  requires Largest TALLY_HD Acc<C> identity()
  const { return {C(0), 0}; }
  template <class C> TALLY_HD Acc<C> nothing() const { return Magnitude().template nothing<C>(); }
  template <class C> TALLY_HD typename Magnitude::template Ties<C> lift(C x) const { return {math::abs(x), 1}; }
  template <class C> TALLY_HD Acc<C> lane(const C (&x)[kPerLane], int count, std::int64_t first, C pivot) const {
    C size[kPerLane];
    for (int j = 0; j < kPerLane; ++j) size[j] = math::abs(x[j]);
    return Magnitude().lane(size, count, first, pivot);
  }
  template <class A> TALLY_HD A combine(A a, A b) const { return Magnitude().combine(a, b); }
  template <class C> TALLY_HD C project(typename Magnitude::template Ties<C> acc, std::int64_t, C) const {
    return acc.value;
  }
  template <class C> TALLY_HD C derivative(C x, typename Magnitude::template Ties<C> acc, std::int64_t, C) const {
    if (x == 0) return C(0);
    return Magnitude::same(math::abs(x), acc.value) ? math::copysign(C(1), x) / static_cast<C>(acc.count) : C(0);
  }
};

/// norm of any other order: sum (|x| / s)^p with s the largest magnitude, or for p < 0 the smallest.
struct NormP {
  static constexpr auto name = "norm";
  template <class T> static constexpr bool accepts = floats_only<T>;
  double p = 3;
  template <class C> struct Scaled { C scale, sum; };
  template <class C> using Acc = Scaled<C>;
  template <class C> TALLY_HD Scaled<C> identity() const { return {p > 0 ? C(0) : math::infinity<C>(), C(0)}; }
  template <class C> TALLY_HD Scaled<C> lift(C x) const { return {math::abs(x), C(1)}; }
  template <class C> TALLY_HD Scaled<C> combine(Scaled<C> a, Scaled<C> b) const {
    const C scale = leading(a.scale, b.scale);
    return {scale, a.sum * power(a.scale, scale) + b.sum * power(b.scale, scale)};
  }
  template <class C> TALLY_HD Scaled<C> lane(const C (&x)[kPerLane], int count, std::int64_t, C) const {
    C scale = math::abs(x[0]);
    for (int j = 1; j < kPerLane; ++j)
      if (j < count) scale = leading(scale, math::abs(x[j]));
    C sum = power(math::abs(x[0]), scale);
    for (int j = 1; j < kPerLane; ++j)
      if (j < count) sum = sum + power(math::abs(x[j]), scale);
    return {scale, sum};
  }
  template <class C> TALLY_HD C project(Scaled<C> acc, std::int64_t n, C) const {
    if (n == 0) return C(0);
    if (acc.scale == 0 || !math::isfinite(acc.scale)) return acc.scale;
    return acc.scale * math::pow(acc.sum, C(1 / p));
  }
  template <class C> TALLY_HD C derivative(C x, Scaled<C> acc, std::int64_t, C) const {
    const C size = math::abs(x);
    if (acc.scale == 0 || size == 0) return size == 0 || p < 0 ? C(0) : x;
    // (|x| / norm)^(p - 1), with norm / scale = sum^(1/p).
    const C ratio = size / acc.scale;
    return math::copysign(math::pow(ratio, C(p - 1)) * math::pow(acc.sum, C((1 - p) / p)), x);
  }

 private:
  template <class C> TALLY_HD C leading(C a, C b) const { return math::isnan(b) || (p > 0 ? b > a : b < a) ? b : a; }
  // (size / scale)^p; 1 where the two are equal, also both 0 or both infinite.
  template <class C> TALLY_HD C power(C size, C scale) const {
    return size == scale ? C(1) : math::pow(size / scale, C(p));
  }
};

/// var and std: (n, mean, M2) of the deviations from the list's first element, merged as Chan, Golub and LeVeque (1983)
/// do, with unbounded exponent. The results are the variance (or its root) and the mean.
struct Var {
  static constexpr auto name = "var";
  static constexpr bool with_mean = true;  // the second result
  template <class T> static constexpr bool accepts = floats_only<T>;
  double correction = 0;
  template <class C> struct Moments {
    std::int64_t n;
    Wide<C> mean, m2;  // of x - pivot
  };
  template <class C> using Acc = Moments<C>;

  template <class C> TALLY_HD Moments<C> identity() const { return {0, Wide<C>(), Wide<C>()}; }
  template <class C> TALLY_HD Moments<C> combine(Moments<C> a, Moments<C> b) const {
    if (b.n == 0) return a;
    if (a.n == 0) return b;
    const C weight = a.n == b.n ? C(0.5) : static_cast<C>(b.n) / static_cast<C>(a.n + b.n);
    const C d = b.mean.m - a.mean.m, size = math::abs(d);
    if ((a.mean.e | b.mean.e | a.m2.e | b.m2.e) == 0 && size <= kModerate<C> && (size >= 1 / kModerate<C> || size == 0))
      return {a.n + b.n, Wide<C>(a.mean.m + d * weight),
              Wide<C>((a.m2.m + b.m2.m) + (d * d) * (static_cast<C>(a.n) * weight))};
    return merged_unbounded(a, b, weight);
  }
  template <class C> TALLY_HD Moments<C> lane(const C (&x)[kPerLane], int count, std::int64_t, C pivot) const {
    C largest = math::abs(x[0] - pivot);
    for (int j = 1; j < kPerLane; ++j)
      if (j < count && !(math::abs(x[j] - pivot) <= largest)) largest = math::abs(x[j] - pivot);
    return is_comfortable(largest) ? moments<C>(x, count, pivot) : unbounded(Lane<C>(x), count, pivot);
  }
  template <class C> TALLY_HD Pair<C, C> project(Moments<C> acc, std::int64_t n, C pivot) const {
    return {divided(acc, n).narrow(), mean_of(acc, n, pivot)};
  }
  template <class C> TALLY_HD C derivative(C x, Moments<C> acc, std::int64_t n, C pivot) const {
    const Wide<C> deviation = (Wide<C>(x) - Wide<C>(pivot)) - acc.mean;
    return over(deviation + deviation, n).narrow();
  }

 protected:
  template <class C> TALLY_HD Wide<C> divided(const Moments<C>& acc, std::int64_t n) const { return over(acc.m2, n); }
  /// a / (n - correction), the divisor rounded once; NaN where it is not positive.
  template <class C> TALLY_HD Wide<C> over(Wide<C> a, std::int64_t n) const {
    const C divisor = static_cast<C>(static_cast<double>(n) - correction);
    return divisor > 0 ? a / divisor : Wide<C>(C(NAN));
  }
  template <class C> TALLY_HD static C mean_of(const Moments<C>& acc, std::int64_t n, C pivot) {
    return n == 0 ? C(NAN) : (Wide<C>(pivot) + acc.mean).narrow();
  }

 private:
  // Differences of means whose square, times any count, is in C's range.
  template <class C> static constexpr C kModerate = sizeof(C) == 4 ? C(0x1p40) : C(0x1p400);
  template <class C> TALLY_HD_COLD static Moments<C> merged_unbounded(Moments<C> a, Moments<C> b, C weight) {
    const Wide<C> d = b.mean - a.mean;
    return {a.n + b.n, a.mean + d * Wide<C>(weight), (a.m2 + b.m2) + (d * d) * Wide<C>(static_cast<C>(a.n) * weight)};
  }
  template <class C> TALLY_HD_COLD static Moments<C> unbounded(Lane<C> lane, int count, C pivot) {
    return moments<Wide<C>>(lane.x, count, pivot);
  }
  template <class N, class C> TALLY_HD static Moments<C> moments(const C (&x)[kPerLane], int count, C pivot) {
    const N first(pivot);
    N sum = N(x[0]) - first;
    for (int j = 1; j < kPerLane; ++j)
      if (j < count) sum = sum + (N(x[j]) - first);
    const N mean = sum / static_cast<C>(count);
    N m2 = ((N(x[0]) - first) - mean) * ((N(x[0]) - first) - mean);
    for (int j = 1; j < kPerLane; ++j)
      if (j < count) m2 = m2 + ((N(x[j]) - first) - mean) * ((N(x[j]) - first) - mean);
    return {count, Wide<C>(mean), Wide<C>(m2)};
  }
};

struct Std : Var {
  static constexpr auto name = "std";
  template <class C> TALLY_HD Pair<C, C> project(Moments<C> acc, std::int64_t n, C pivot) const {
    return {Norm2::root(divided(acc, n)).narrow(), mean_of(acc, n, pivot)};
  }
  template <class C> TALLY_HD C derivative(C x, Moments<C> acc, std::int64_t n, C pivot) const {
    const Wide<C> root = Norm2::root(divided(acc, n));
    if (root.m == 0) return C(0);
    const Wide<C> deviation = over((Wide<C>(x) - Wide<C>(pivot)) - acc.mean, n);
    return Wide<C>(deviation.m / root.m, deviation.e - root.e).narrow();
  }
};

/// (max, sum of exp(x - max)). An infinite maximum counts its equals, so nothing subtracts infinity from infinity.
struct LogSumExp {
  static constexpr auto name = "logsumexp";
  template <class T> static constexpr bool accepts = floats_only<T>;
  template <class C> struct Shifted { C max, sum; };
  template <class C> using Acc = Shifted<C>;
  template <class C> TALLY_HD Shifted<C> identity() const { return {-math::infinity<C>(), C(0)}; }
  template <class C> TALLY_HD Shifted<C> combine(Shifted<C> a, Shifted<C> b) const {
    // The leading one keeps its sum, times exp(0).
    const bool b_leads = a.max < b.max || math::isnan(b.max);
    const Shifted<C> leading = b_leads ? b : a, other = b_leads ? a : b;
    return {leading.max, leading.sum + other.sum * relative(other.max, leading.max)};
  }
  template <class C> TALLY_HD Shifted<C> lane(const C (&x)[kPerLane], int count, std::int64_t, C) const {
    C max = x[0];
    for (int j = 1; j < kPerLane; ++j)
      if (j < count && x[j] > max) max = x[j];
    C sum = relative(x[0], max);
    for (int j = 1; j < kPerLane; ++j)
      if (j < count) sum = sum + relative(x[j], max);
    return {math::isnan(sum) ? sum : max, sum};
  }
  template <class C> TALLY_HD C project(Shifted<C> acc, std::int64_t, C) const { return acc.max + math::log(acc.sum); }
  template <class C> TALLY_HD C derivative(C x, Shifted<C> acc, std::int64_t, C) const {
    return acc.max == -math::infinity<C>() ? C(0) : relative(x, acc.max) / acc.sum;
  }

  /// exp(x - max), 1 where both are the same infinity.
  template <class C> TALLY_HD static C relative(C x, C max) { return math::exp(x == max ? C(0) : x - max); }
};

/// The only list of them: kernels visit it, tests walk it.
using Reduction = std::variant<Sum, Mean, Prod, Max, Min, AMax, AMin, CountNonzero, Any, All, Norm2, Norm1, Norm0,
                               NormInf<true>, NormInf<false>, NormP, Var, Std, LogSumExp>;

}  // namespace tally
