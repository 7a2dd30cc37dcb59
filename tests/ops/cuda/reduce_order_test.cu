// The order itself, seen through ops whose merge is neither associative nor commutative: their results are a print of
// the tree. What the kernels give is compared with a plain walk down the definition.
#include <gtest/gtest.h>

#include <tally/core/cuda/device.h>
#include <tally/core/raw.h>
#include <tally/ops/reduce_with.h>
#include <tally/ops/cuda/reduce.cuh>

namespace tally {
namespace {

// A fingerprint of who was merged with whom, in which order. Nothing is a leaf of no trace.
struct Trace {
  static constexpr auto name = "trace";
  template <class C> using Acc = std::int64_t;
  template <class C> TALLY_HD std::int64_t identity() const { return 0; }
  template <class C> TALLY_HD std::int64_t lift(C x) const { return static_cast<std::int64_t>(x) * 2 + 1; }
  TALLY_HD std::int64_t combine(std::int64_t a, std::int64_t b) const {
    if (a == 0) return b;
    if (b == 0) return a;
    const auto mix =
        static_cast<std::uint64_t>(a) * 0x9E3779B97F4A7C15u + (static_cast<std::uint64_t>(b) ^ 0x5851F42D4C957F2Du);
    return static_cast<std::int64_t>((mix ^ (mix >> 29)) * 0xBF58476D1CE4E5B9u | 1);
  }
  template <class C> TALLY_HD std::int64_t project(std::int64_t acc, std::int64_t, C) const { return acc; }
  template <class T> using Result = std::int64_t;
};

// The same without an identity, with a lane of its own, and too large for the fast paths.
struct WideTrace {
  static constexpr auto name = "wide_trace";
  struct Print {
    std::int64_t value, unused[2];
  };
  template <class C> using Acc = Print;
  template <class C> TALLY_HD Print lift(C x) const { return {Trace().lift(x), {}}; }
  template <class C> TALLY_HD Print lane(const C (&x)[kPerLane], int count, std::int64_t, C) const {
    Print print = lift(x[0]);
    for (int j = 1; j < kPerLane; ++j)
      if (j < count) print = combine(print, lift(x[j]));
    return print;
  }
  TALLY_HD Print combine(Print a, Print b) const { return {Trace().combine(a.value, b.value), {}}; }
  template <class C> TALLY_HD std::int64_t project(Print acc, std::int64_t, C) const { return acc.value; }
  template <class T> using Result = std::int64_t;
};

std::int64_t textbook_tree(std::vector<std::int64_t> values) {
  while (values.size() > 1) {
    std::vector<std::int64_t> next;
    for (std::size_t k = 0; k < values.size(); k += 2)
      next.push_back(k + 1 < values.size() ? Trace().combine(values[k], values[k + 1]) : values[k]);
    values = next;
  }
  return values[0];
}

std::int64_t expected(const std::vector<float>& list) {
  std::vector<std::int64_t> tiles;
  for (std::size_t begin = 0; begin < list.size(); begin += 1024) {
    const std::size_t end = std::min(list.size(), begin + 1024);
    std::vector<std::int64_t> lanes;
    for (std::size_t first = begin; first < std::min(end, begin + 128); ++first) {
      std::int64_t lane = Trace().lift(list[first]);
      for (std::size_t i = first + 128; i < end; i += 128) lane = Trace().combine(lane, Trace().lift(list[i]));
      lanes.push_back(lane);
    }
    tiles.push_back(textbook_tree(lanes));
  }
  return textbook_tree(tiles);
}

class ReduceOrder : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::available()) GTEST_SKIP() << gpu::describe();
  }
  ~ReduceOrder() override { cuda_loops::limits() = {}; }

  // `lists` lists of n, neighbours of a list `step` apart.
  void check(std::int64_t lists, std::int64_t n, bool columns, std::int64_t offset = 0) {
    if (columns)
      check_slices(1, n, lists, offset);
    else
      check_slices(lists, n, 1, offset);
  }
  // The middle dim of a tensor outer x n x inner, of whose rows of `inner` others may follow.
  void check_slices(std::int64_t outer, std::int64_t n, std::int64_t inner, std::int64_t offset = 0,
                    std::int64_t gap = 0) {
    const std::int64_t step = inner + gap, between = n * step, lists = outer * inner;
    std::vector<float> values(static_cast<std::size_t>(outer * between + offset));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 100003);
    const Tensor x = tensor(values, Shape{outer * between + offset}, Device::cuda);
    const Tensor y = empty({lists}, {.dtype = int64, .device = Device::cuda});
    const Shape kept{outer, inner}, kept_stride{between, 1}, size{n}, stride{step};
    const Lists plan{Strided<1>(kept, {&kept_stride}), Strided<1>(size, {&stride})};
    std::vector<std::int64_t> wanted;
    for (std::int64_t o = 0; o < lists; ++o) {
      std::vector<float> list;
      for (std::int64_t i = 0; i < n; ++i)
        list.push_back(values[static_cast<std::size_t>(offset + o / inner * between + o % inner + i * step)]);
      wanted.push_back(expected(list));
    }
    const float* from = x.data<float>() + offset;
    const auto what = testing::Message() << outer << "x" << n << "x" << inner << ", offset " << offset << ", gap "
                                         << gap;
    const std::vector<std::int64_t> poison(static_cast<std::size_t>(lists), -1);
    raw::copy(y, tensor(poison, Shape{lists}, Device::cuda));
    cuda_loops::reduce<Trace, float>({}, plan, from, {y.data<std::int64_t>(), nullptr, nullptr});
    EXPECT_EQ(y.to_vector<std::int64_t>(), wanted) << what;
    raw::copy(y, tensor(poison, Shape{lists}, Device::cuda));
    cuda_loops::reduce<WideTrace, float>({}, plan, from, {y.data<std::int64_t>(), nullptr, nullptr});
    EXPECT_EQ(y.to_vector<std::int64_t>(), wanted) << "wide, " << what;
  }
  void check_all() {
    for (const std::int64_t n :
         {1, 2, 3, 6, 17, 33, 100, 127, 128, 129, 500, 1023, 1024, 1025, 2048, 3000, 5 * 1024, 11 * 1024 + 3})
      for (const std::int64_t lists : {1, 3, n < 200 ? 130 : 9}) {
        check(lists, n, false);
        check(lists, n, true);
      }
    check(2, 40 * 1024 + 17, false);
    check(4, 40 * 1024 + 17, true);
    check(40, 3000, true);
    check(2, 3000, false, 1);
    check(2, 3000, true, 1);
    check_middle();
  }
  // Few lists side by side, in slices of any alignment.
  void check_middle() {
    for (const std::int64_t n : {2, 4, 23, 33, 128, 130, 353, 600, 1024, 1030, 3000})
      for (const std::int64_t inner : {2, 3, 7, 31})
        for (const std::int64_t outer : {1, 5, n < 40 ? 300 : 9}) check_slices(outer, n, inner, n % 4);
    for (const std::int64_t n : {4, 100, 300, 1025}) {
      check_slices(2, n, 130, 1);
      check_slices(1, n, 1009);
      check_slices(3, n, 37, 2, 5);
      check_slices(3, n, 300, 0, 1);
    }
  }
};

TEST_F(ReduceOrder, IsTheDocumentedOne) { check_all(); }

TEST_F(ReduceOrder, OfMoreBlocksThanTheLastOneHasThreads) {
  check(1, 300 * 1024 + 17, false);  // than its first warp
  cuda_loops::limits() = {.few = 1 << 20};
  check(1, 2100 * 1024 + 17, false);
}

TEST_F(ReduceOrder, HoweverTheWorkIsCut) {
  for (const std::int64_t few : {1, 4, 9}) {
    cuda_loops::limits() = {.warps = few, .blocks = few};
    check_all();
    cuda_loops::limits() = {.splits = few};
    check(2, 40 * 1024 + 17, false);
    check(4, 40 * 1024 + 17, true);
  }
  cuda_loops::limits() = {.blocks = 0};  // one warp a strip: its counter is cut at any number of steps
  for (const std::int64_t n : {3000, 5 * 1024, 11 * 1024 + 3}) check(9, n, true);
  for (const std::int64_t n : {3000, 11 * 1024 + 3}) check_slices(2, n, 7, 1);
  cuda_loops::limits() = {.vectors = false, .columns = false, .short_rows = false};
  check_all();
  cuda_loops::limits() = {.slabs = false};
  check_middle();
  cuda_loops::limits() = {.vectors = false};
  check_middle();
  cuda_loops::limits() = {.short_rows = false};
  check_middle();
  cuda_loops::limits() = {.straight = 1};
  check_middle();
  for (const std::int64_t n : {1025, 3000, 7 * 1024 + 3}) check_slices(1, n, 45, 1);  // several blocks a list
  check_slices(1, 1500, 45, 0, 3);
}

// One that cannot bear an element that nobody put there.
struct Shares {
  static constexpr auto name = "shares";
  template <class T> static constexpr bool accepts = std::is_same_v<T, std::int64_t>;  // which is less to compile
  template <class C> using Acc = C;
  template <class C> TALLY_HD C identity() const { return 0; }
  template <class C> TALLY_HD C lift(C x) const { return 840 / x; }
  template <class C> TALLY_HD C combine(C a, C b) const { return a + b; }
  template <class C> TALLY_HD C project(C acc, std::int64_t, C) const { return acc; }
};

TEST(ReduceOp, IsShownNoElementButItsLists) {
  if (!gpu::available()) GTEST_SKIP() << gpu::describe();
  for (const std::int64_t lists : {1, 3, 40})
    for (const std::int64_t n : {1, 5, 100, 128, 300, 1000, 1024, 1500})
      for (const int dim : {0, 1}) {
        const Shape shape = dim == 1 ? Shape{lists, n} : Shape{n, lists};
        const Tensor x = full(shape, 7, {.dtype = int64, .device = Device::cuda});
        const std::vector<std::int64_t> wanted(static_cast<std::size_t>(lists), 120 * n);
        EXPECT_EQ(reduce_with(Shares{}, x, dim).to_vector<std::int64_t>(), wanted) << n;
      }
}

}  // namespace
}  // namespace tally
