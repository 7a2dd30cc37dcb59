// Variance and standard deviation. What the members mean stands in ops/reduction.h.
#pragma once

#include <cmath>

#include <tally/ops/reductions/norm.h>

namespace tally {

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
    constexpr int kUnrolled = std::is_same_v<N, C> ? kPerLane : 1;
    TALLY_HD_UNROLL(kUnrolled)
    for (int j = 1; j < kPerLane; ++j)
      if (j < count) sum = sum + (N(x[j]) - first);
    const N mean = sum / static_cast<C>(count);
    N m2 = ((N(x[0]) - first) - mean) * ((N(x[0]) - first) - mean);
    TALLY_HD_UNROLL(kUnrolled)
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

}  // namespace tally
