// The largest and the smallest element: max, min, amax, amin. What the members mean stands in ops/reduction.h.
#pragma once

#include <tally/core/math.h>
#include <tally/ops/reduction.h>

namespace tally {

/// What no element is worse than.
template <bool Largest, class C> TALLY_HD constexpr C worst() {
  if constexpr (std::is_integral_v<C>)
    return Largest ? INT64_MIN : INT64_MAX;
  else
    return Largest ? -math::infinity<C>() : math::infinity<C>();
}

/// An element and its index in the list.
template <class C> struct Placed {
  C value;
  std::int64_t index;
};

/// max and min with the place of the first extreme element; the first NaN counts as the extreme. -0 equals +0.
template <bool Largest> struct Extreme {
  static constexpr auto name = Largest ? "max" : "min";
  static constexpr bool indexed = true;  // the second result is the index
  template <class C> static constexpr bool any_order = true;
  template <class C> using Acc = Placed<C>;
  template <class C> TALLY_HD static bool beats(C a, C b) {
    if constexpr (std::is_integral_v<C>)
      return Largest ? a > b : a < b;
    else
      return (Largest ? a > b : a < b) || (math::isnan(a) && !math::isnan(b));
  }
  template <class C> TALLY_HD Placed<C> nothing() const { return {worst<Largest, C>(), INT64_MAX}; }
  template <class C> TALLY_HD Placed<C> lift(C x, std::int64_t i) const { return {x, i}; }
  // Lanes interleave in the list, so the earlier index decides a tie, not the earlier accumulator.
  template <class C> TALLY_HD Placed<C> combine(Placed<C> a, Placed<C> b) const {
    return beats(b.value, a.value) || (b.index < a.index && !beats(a.value, b.value)) ? b : a;
  }
  template <class C> TALLY_HD Placed<C> lane(const C (&x)[kPerLane], int count, std::int64_t first, C) const {
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
    return nan ? first_nan(Lane<C>(x), first) : Placed<C>{value, first + kLanes * at};
  }
  template <class C> TALLY_HD Pair<C, std::int64_t> project(Placed<C> acc, std::int64_t, C) const {
    return {acc.value, acc.index};
  }
  template <class C> TALLY_HD C derivative(C, std::int64_t i, Placed<C> acc, std::int64_t, C) const {
    return C(i == acc.index);
  }

 private:
  template <class C> TALLY_HD static bool is_nan(C x) {
    if constexpr (std::is_integral_v<C>)
      return false;
    else
      return math::isnan(x);
  }
  template <class C> TALLY_HD_COLD static Placed<C> first_nan(Lane<C> lane, std::int64_t first) {
    int at = 0;
    while (at + 1 < kPerLane && !is_nan(lane.x[at])) ++at;
    return {lane.x[at], first + kLanes * at};
  }
};
using Max = Extreme<true>;
using Min = Extreme<false>;

/// A value and how many elements tie with it.
template <class C> struct Tied {
  C value;
  std::int64_t count;
};

/// amax and amin: the extreme and its ties. -0 orders below +0; the gradient is shared.
template <bool Largest> struct SharedExtreme {
  static constexpr auto name = Largest ? "amax" : "amin";
  template <class C> static constexpr bool any_order = true;
  template <class C> using Acc = Tied<C>;
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
  template <class C> TALLY_HD Tied<C> nothing() const { return {worst<Largest, C>(), 0}; }
  template <class C> TALLY_HD Tied<C> lift(C x) const { return {x, 1}; }
  template <class C> TALLY_HD Tied<C> combine(Tied<C> a, Tied<C> b) const {
    if (same(a.value, b.value))
      return {(Largest ? below(a.value, b.value) : below(b.value, a.value)) ? b.value : a.value, a.count + b.count};
    if constexpr (!std::is_integral_v<C>) {
      if (math::isnan(a.value)) return a;
      if (math::isnan(b.value)) return b;
    }
    return (Largest ? a.value < b.value : b.value < a.value) ? b : a;
  }
  template <class C> TALLY_HD Tied<C> lane(const C (&x)[kPerLane], int count, std::int64_t, C) const {
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
  template <class C> TALLY_HD C project(Tied<C> acc, std::int64_t, C) const { return acc.value; }
  template <class C> TALLY_HD C derivative(C x, Tied<C> acc, std::int64_t, C) const {
    return same(x, acc.value) ? C(1) / static_cast<C>(acc.count) : C(0);
  }

 private:
  template <class C> TALLY_HD_COLD static Tied<C> one_by_one(Lane<C> lane, int count) {
    Tied<C> ties{lane.x[0], 1};
    for (int j = 1; j < count; ++j) ties = SharedExtreme().combine(ties, Tied<C>{lane.x[j], 1});
    return ties;
  }
};
using AMax = SharedExtreme<true>;
using AMin = SharedExtreme<false>;

}  // namespace tally
