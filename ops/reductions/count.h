// Counts of what is not zero: count_nonzero, any, all. What the members mean stands in ops/reduction.h.
#pragma once

#include <tally/ops/reduction.h>

namespace tally {

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

}  // namespace tally
