// The order of the CPU's loops, seen through an op whose merge neither commutes nor associates: its result is a print
// of who was merged with whom. The same for the kernels: tests/ops/cuda/reduce_order_test.cu.
#include <gtest/gtest.h>

#include <tally/core/parallel.h>
#include <tally/core/raw.h>
#include <tally/ops/cpu/reduce.h>
#include <tally/tests/support/layouts.h>
#include <tally/tests/support/order.h>

namespace tally {
namespace {

using Print = std::int64_t;

Print merged(Print a, Print b) {
  const auto mix = static_cast<std::uint64_t>(a) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(b) + 0x632BE5ABu;
  return static_cast<Print>((mix ^ (mix >> 31)) * 0xD6E8FEB86659FD93u);
}
Print leaf(double x, std::int64_t index) { return merged(static_cast<Print>(x), index); }

struct Trace {
  [[maybe_unused]] static constexpr auto name = "trace";
  template <class T> using Result = Print;
  template <class C> using Acc = Print;
  template <class C> Print lift(C x, std::int64_t i) const { return leaf(static_cast<double>(x), i); }
  Print combine(Print a, Print b) const { return merged(a, b); }
  template <class C> Print project(Print acc, std::int64_t, C) const { return acc; }
};

// The same with a lane of its own, which ends in the list's first element.
struct LaneTrace : Trace {
  template <class C> Print lane(const C (&x)[kPerLane], int count, std::int64_t first, C pivot) const {
    Print print = lift(x[0], first);
    for (int j = 1; j < count; ++j) print = merged(print, lift(x[j], first + 128 * j));
    return merged(print, static_cast<Print>(pivot));
  }
};

Print expected(const std::vector<double>& list, bool with_pivot) {
  std::vector<std::size_t> places(list.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  const auto lane = [&](const std::vector<std::size_t>& places) {
    const auto at = [&](std::size_t i) { return leaf(list[i], static_cast<std::int64_t>(i)); };
    Print print = at(places[0]);
    for (std::size_t j = 1; j < places.size(); ++j) print = merged(print, at(places[j]));
    return with_pivot ? merged(print, static_cast<Print>(list[0])) : print;
  };
  return test::order::reduce(places, lane, merged);
}

template <class Op, class T> void check(const Tensor& x, std::int64_t dim, const std::vector<Print>& wanted) {
  const Tensor y = empty({static_cast<std::int64_t>(wanted.size())}, {.dtype = int64});
  const ReducePlan plan = plan_reduction("trace", x, dim, {}, Where::here());
  using C = Compute<T>;
  raw::fill(y, 77);
  cpu_loops::reduce<Op, C>({}, plan.lists, cpu_loops::Source<C>(x), {y.data<Print>(), nullptr, nullptr});
  EXPECT_EQ(y.to_vector<Print>(), wanted) << describe(x) << " over dim " << dim;
}

template <class T> void check_lists(std::int64_t lists, std::int64_t n) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < lists * n; ++i) values.push_back(static_cast<double>(i % 1021));
  Tensor rows = empty({lists, n}, {.dtype = dtype_of<T>()});
  raw::copy(rows, tensor(values, {lists, n}));
  std::vector<Print> plain, with_pivot;
  for (std::int64_t o = 0; o < lists; ++o) {
    const std::vector<double> list(values.begin() + o * n, values.begin() + (o + 1) * n);
    plain.push_back(expected(list, false));
    with_pivot.push_back(expected(list, true));
  }
  for (const test::Layout& layout : test::layouts(rows)) {
    SCOPED_TRACE(layout.name);
    check<Trace, T>(layout.tensor, 1, plain);
    check<LaneTrace, T>(layout.tensor, 1, with_pivot);
  }
}

TEST(ReduceTrace, IsTheDocumentedOrder) {
  for (const std::int64_t n : {1, 2, 3, 7, 100, 127, 128, 129, 300, 1023, 1024, 1025, 1200, 2048, 3000, 7 * 1024 + 5})
    for (const std::int64_t lists : {1, 3, 5, 70}) {
      if (lists * n > 100'000) continue;
      check_lists<float>(lists, n);
      check_lists<std::int32_t>(lists, n);
    }
}

TEST(ReduceTrace, LongListsGoToManyThreads) {
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    check_lists<float>(2, 100 * 1024 + 77);
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace tally
