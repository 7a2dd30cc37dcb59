// where and masked_fill: a choice for each element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/where.h>

#include "../support/devices.h"
#include "../support/layouts.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
constexpr double kInf = std::numeric_limits<double>::infinity();

class WhereOn : public test::OnDevice {
 protected:
  Tensor of(const std::vector<double>& values, DType dtype = float64) { return tensor(values).to(dtype).to(device()); }
};
TALLY_TEST_ON_DEVICES(WhereOn);

TEST_P(WhereOn, WhereChooses) {
  const Tensor condition = tensor(std::vector<std::int64_t>{1, 0, 5}).to(device());
  EXPECT_THAT(where(condition, of({1, 2, 3}), of({4, 5, 6})).to_vector<double>(), ElementsAre(1, 5, 3));
  EXPECT_THAT(where(condition, 7, of({4, 5, 6})).to_vector<double>(), ElementsAre(7, 5, 7));
  EXPECT_THAT(where(condition, of({1, 2, 3}, int32), 9).to_vector<double>(), ElementsAre(1, 9, 3));
  EXPECT_THAT(where(condition, of({1}), full({2, 1}, 8, on(float64))), HasShape({2, 3}));
  EXPECT_THAT(masked_fill(of({1, 2, 3}), condition, -kInf).to_vector<double>(), ElementsAre(-kInf, 2, -kInf));
  for (DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean})
    EXPECT_THAT(where(condition, ones({3}, on(dtype)), zeros({3}, on(dtype))).to_vector<double>(),
                ElementsAre(1, 0, 1));
}

TEST_P(WhereOn, WhereGradient) {
  const Tensor condition = of({1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1}).to(boolean);
  const Tensor mask(condition.storage(), 0, {3, 4}, {4, 1}, boolean);
  const Tensor row = of({0.3, 1.2, -0.7, 2.2}), square = test::repeated(row, 3).clone();
  EXPECT_THAT([&](const Tensor& a, const Tensor& b) { return where(mask, a, b); }, PassesGradCheck(square, row));
  EXPECT_THAT([&](const Tensor& a, const Tensor& b) { return where(mask, a * a, b * b); },
              PassesGradGradCheck(square, row));
  const Tensor x = of({1, 0});
  x.requires_grad_();
  // The side not chosen gets exactly 0, even from an infinite upstream gradient.
  const Tensor first = of({1, 0}).to(boolean);
  const Tensor g = grad({where(first, x, 0)}, {x}, {of({2, kInf})})[0];
  EXPECT_THAT(g.to_vector<double>(), ElementsAre(2, 0));
}

TEST_P(WhereOn, Refuses) {
  const Tensor x = ones({4}, on());
  EXPECT_THROW(where(x, 1, 2), ShapeError);
  EXPECT_THROW(masked_fill(x, ones({2, 4}, on()), 0), ShapeError);
  if (device() == Device::cuda) {
    EXPECT_THROW(where(ones({3}), x, x), DeviceError);
  }
}

}  // namespace
}  // namespace tally
