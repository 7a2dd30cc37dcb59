#include <tally/autograd/gtest.h>
#include <tally/tally.h>

using namespace tally;

struct HuberSum {  // of x² / 2 up to 1, of |x| - 1/2 beyond
  static constexpr auto name = "huber_sum";
  template <class T> static constexpr bool accepts = is_float_type<T>;
  template <class C> using Acc = C;
  template <class C> TALLY_HD C identity() const { return C(0); }
  template <class C> TALLY_HD C lift(C x) const { return math::abs(x) > 1 ? math::abs(x) - C(0.5) : x * x / 2; }
  template <class C> TALLY_HD C combine(C a, C b) const { return a + b; }
  template <class C> TALLY_HD C project(C sum, std::int64_t, C) const { return sum; }
  template <class C> TALLY_HD C derivative(C x, C, std::int64_t, C) const { return x > 1 ? 1 : x < -1 ? -1 : x; }
};

TEST(HuberSum, OfRows) {
  const Tensor x = tensor({{3, -0.5, 0}, {-2, 1, 0.25}}), sums = tensor({2.625, 2.03125});  // all exact in float32
  EXPECT_THAT(reduce_with(HuberSum{}, x, 1), BitEqual(sums));
}

TEST(HuberSum, HasTheRightGradient) {
  EXPECT_THAT([](const Tensor& x) { return reduce_with(HuberSum{}, x, 0); }, PassesGradCheck(randn({5, 3})));
}
