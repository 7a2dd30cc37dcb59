// Where a reduction's results go: one array, or two for an op that projects to a Pair. Either may be absent.
#pragma once

#include <tally/ops/reduction.h>

namespace tally {

template <class Op, class T> struct Results {
  using C = Compute<T>;
  using Acc = typename Op::template Acc<C>;
  using Projected = decltype(std::declval<const Op&>().project(std::declval<Acc>(), std::int64_t{}, C{}));
  template <class P> struct SecondOf {
    using type = std::int64_t;  // unused
  };
  template <class A, class B> struct SecondOf<Pair<A, B>> {
    using type = std::conditional_t<std::is_integral_v<B>, std::int64_t, T>;
  };
  using First = ResultType<Op, T>;
  using Second = typename SecondOf<Projected>::type;

  First* first = nullptr;
  Second* second = nullptr;
  Acc* accumulators = nullptr;  // kept for backward

  /// Projects and stores the finished accumulator of list o.
  TALLY_HD void store(const Op& op, std::int64_t o, const Acc& acc, std::int64_t n, C pivot) const {
    if (accumulators) accumulators[o] = acc;
    const Projected projected = op.project(acc, n, pivot);
    if constexpr (requires { projected.second; }) {
      if (first) first[o] = convert<First>(projected.first);
      if (second) second[o] = convert<Second>(projected.second);
    } else {
      first[o] = convert<First>(projected);
    }
  }
};

}  // namespace tally
