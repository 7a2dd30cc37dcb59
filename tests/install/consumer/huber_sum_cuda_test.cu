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
constexpr auto rows = [](const Tensor& x) { return reduce_with(HuberSum{}, x, 1); };

TEST(HuberSumOnCpu, HasTheRightGradient) { EXPECT_THAT(rows, PassesGradCheck(randn({3, 5}))); }

TEST(HuberSumOnCuda, HasTheRightGradientAndTheBitsOfTheCpu) {
  if (!is_available(cuda)) GTEST_SKIP() << "no CUDA device";
  EXPECT_THAT(rows, PassesGradCheck(randn({3, 5}, {.device = cuda})));
  EXPECT_THAT(rows, SameOnBothDevices(randn({3, 3000})));
}
