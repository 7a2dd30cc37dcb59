// Sum and mean. What the members mean stands in ops/reduction.h.
#pragma once

#include <cmath>

#include <tally/ops/reduction.h>

namespace tally {

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

}  // namespace tally
