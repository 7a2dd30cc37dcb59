// Norms of every order. What the members mean stands in ops/reduction.h.
#pragma once

#include <cmath>

#include <tally/core/wide.h>
#include <tally/ops/reductions/count.h>
#include <tally/ops/reductions/extremes.h>

namespace tally {

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
    constexpr int kUnrolled = std::is_same_v<N, C> ? kPerLane : 1;
    TALLY_HD_UNROLL(kUnrolled)
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
struct Norm0 : CountNonzero {
  static constexpr auto name = "norm";
  template <class T> static constexpr bool accepts = floats_only<T>;
  template <class T> using Result = T;
  template <class C> TALLY_HD C project(std::int64_t acc, std::int64_t, C) const { return static_cast<C>(acc); }
  template <class C> TALLY_HD C derivative(std::int64_t, std::int64_t, C) const { return C(0); }
};

/// norm of order +inf and -inf: the largest and smallest magnitude; ties share the gradient.
template <bool Largest> struct NormInf {
  static constexpr auto name = "norm";
  template <class T> static constexpr bool accepts = floats_only<T>;
  template <class C> static constexpr bool any_order = true;
  using Magnitude = SharedExtreme<Largest>;
  template <class C> using Acc = Tied<C>;
  template <class C>
  requires Largest TALLY_HD Acc<C> identity()
  const { return {C(0), 0}; }
  template <class C> TALLY_HD Acc<C> nothing() const { return Magnitude().template nothing<C>(); }
  template <class C> TALLY_HD Tied<C> lift(C x) const { return {math::abs(x), 1}; }
  template <class C> TALLY_HD Acc<C> lane(const C (&x)[kPerLane], int count, std::int64_t first, C pivot) const {
    C size[kPerLane];
    for (int j = 0; j < kPerLane; ++j) size[j] = math::abs(x[j]);
    return Magnitude().lane(size, count, first, pivot);
  }
  template <class A> TALLY_HD A combine(A a, A b) const { return Magnitude().combine(a, b); }
  template <class C> TALLY_HD C project(Tied<C> acc, std::int64_t, C) const { return acc.value; }
  template <class C> TALLY_HD C derivative(C x, Tied<C> acc, std::int64_t, C) const {
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
    return size == scale ? C(1) : power_of_ratio(size, scale, C(p));
  }
  template <class C> TALLY_HD_LONG static C power_of_ratio(C size, C scale, C p) { return math::pow(size / scale, p); }
};

}  // namespace tally
