// Logarithm of a sum of exponentials. What the members mean stands in ops/reduction.h.
#pragma once

#include <tally/core/math.h>
#include <tally/ops/reduction.h>

namespace tally {

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

}  // namespace tally
