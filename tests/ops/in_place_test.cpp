// add_ and mul_: values, views, versions, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>

#include "../support/devices.h"
#include "../support/layouts.h"

namespace tally {
namespace {

using ::testing::ElementsAre;

class InPlaceOn : public test::OnDevice {
 protected:
  Tensor of(const std::vector<double>& values, DType dtype = float64) { return tensor(values).to(dtype).to(device()); }
};
TALLY_TEST_ON_DEVICES(InPlaceOn);

TEST_P(InPlaceOn, InPlace) {
  const Tensor x = of({1, 2, 3, 4, 5, 6});
  const Tensor grid(x.storage(), 0, {2, 3}, {3, 1}, float64), turned(x.storage(), 0, {3, 2}, {1, 3}, float64);
  grid.add_(of({10, 20, 30}), 2);
  EXPECT_THAT(x.to_vector<double>(), ElementsAre(21, 42, 63, 24, 45, 66));
  turned.mul_(-1);
  EXPECT_THAT(x.to_vector<double>(), ElementsAre(-21, -42, -63, -24, -45, -66));
  x.add_(x);
  EXPECT_EQ(x.to_vector<double>()[0], -42);
  const Tensor corner(x.storage(), 0, {2, 2}, {3, 1}, float64), mirror(x.storage(), 0, {2, 2}, {1, 3}, float64);
  corner.add_(mirror);  // reads what it writes: as if from a copy
  EXPECT_THAT(x.to_vector<double>(), ElementsAre(-84, -132, -126, -132, -180, -132));
  const auto before = x.storage()->version();
  x.mul_(2);
  EXPECT_EQ(x.storage()->version(), before + 1);
}

TEST_P(InPlaceOn, InPlaceRefuses) {
  const Tensor x = ones({2}, on());
  EXPECT_THROW(x.add_(ones({3}, on())), ShapeError);
  EXPECT_THROW(x.add_(ones({2, 2}, on())), ShapeError);
  EXPECT_THROW(test::repeated(x, 3).add_(x), ShapeError);
  EXPECT_THROW(ones({2}, on(int32)).add_(x), DTypeError);
  EXPECT_THROW(ones({2}, on(int32)).mul_(0.5), DTypeError);
  if (device() == Device::cuda) {
    EXPECT_THROW(x.add_(ones({2})), DeviceError);
  }
  EXPECT_EQ(x.to_vector<float>()[0], 1) << "nothing is half done";
  const Tensor leaf = ones({2}, {.device = device(), .requires_grad = true});
  EXPECT_THROW(leaf.add_(x), AutogradError);
  EXPECT_THROW((leaf * 2).mul_(2), AutogradError);
  NoGrad guard;
  EXPECT_NO_THROW(leaf.add_(x, 0.5));
  EXPECT_EQ(leaf.to_vector<float>()[1], 1.5f);
}

}  // namespace
}  // namespace tally
