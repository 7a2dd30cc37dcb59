// Product. What the members mean stands in ops/reduction.h.
#pragma once

#include <tally/core/wide.h>
#include <tally/ops/reduction.h>

namespace tally {

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

}  // namespace tally
