#include <tally/autograd/gtest.h>
#include <tally/tally.h>

using namespace tally;

struct Swish {
  static constexpr auto name = "swish";
  template <class C> TALLY_HD C f(C x) const { return x * math::sigmoid(x); }
  template <class C> TALLY_HD C df(C x) const {
    const C s = math::sigmoid(x);
    return s + x * s * (1 - s);
  }
};
constexpr auto swish = [](const Tensor& x) { return map(Swish{}, x); };

TEST(SwishOnCpu, HasTheRightGradient) { EXPECT_THAT(swish, PassesGradCheck(randn({3, 4}))); }

TEST(SwishOnCuda, HasTheRightGradientAndTheBitsOfTheCpu) {
  if (!is_available(cuda)) GTEST_SKIP() << "no CUDA device";
  EXPECT_THAT(swish, PassesGradCheck(randn({3, 4}, {.device = cuda})));
  EXPECT_THAT(swish, SameOnBothDevices(randn({1000})));
}
