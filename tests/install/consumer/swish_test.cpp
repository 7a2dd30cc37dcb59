#include <tally/autograd/gtest.h>
#include <tally/tally.h>

using namespace tally;

Tensor swish(const Tensor& x) {
  Tensor y = no_grad([&] { return x * sigmoid(x); });
  return record("swish", {x}, y, saving(x, output), [](const Tensor& grad, const Tensor& x, const Tensor& y) {
    return std::vector{grad * (y + sigmoid(x) * (1 - y))};
  });
}

TEST(Swish, IsXTimesItsSigmoid) {
  const Tensor x = tensor({-2, 0, 1}, {.dtype = float64});  // sigmoid: 0.1192029…, 1/2, 0.7310585…
  EXPECT_THAT(swish(x), AllClose(tensor({-0.2384058440442351, 0, 0.7310585786300049}, {.dtype = float64}), 1e-14));
}

TEST(Swish, HasTheRightGradient) {
  EXPECT_THAT(swish, PassesGradCheck(randn({3, 4})));
  EXPECT_THAT(swish, PassesGradGradCheck(randn({3, 4})));
}
