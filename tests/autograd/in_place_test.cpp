// Changes in place: what backward notices, what is refused at once, and what goes through (B45).
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>

#include <tally/tests/support/devices.h>

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InPlace : public test::OnDevice {
 protected:
  Tensor leaf(std::initializer_list<double> values) const {
    return tensor(values, {.device = device(), .requires_grad = true});
  }
};
TALLY_TEST_ON_DEVICES(InPlace);

TEST_P(InPlace, ASavedOperandWithoutGradientIsWatched) {
  const Tensor x = leaf({2, 3}), s = full({}, 4, on());
  const Tensor y = sum(x * s);
  s.add_(ones({}, on()));
  try {
    y.backward();
    FAIL() << "gradient " << x.grad().to_vector<float>()[0];
  } catch (const AutogradError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("mul"), HasSubstr("in place"), HasSubstr("version"), HasSubstr("in_place_test.cpp")));
  }
  EXPECT_FALSE(x.grad().defined());
}

TEST_P(InPlace, ASavedResultIsWatchedThroughADetachedAlias) {
  const Tensor x = leaf({2, 3});
  const Tensor y = sigmoid(x);
  y.detach().zero_();
  EXPECT_THROW(sum(y).backward(), AutogradError);
}

TEST_P(InPlace, ASourceThatRequiresGradIsRefused) {
  const Tensor w = leaf({2, 3}), total = zeros({2}, on());
  for (const Tensor& source : {w, w * w}) {
    EXPECT_THROW(total.add_(source), AutogradError);
    EXPECT_THROW(total.copy_(source), AutogradError);
    total.add_(source.detach());
    no_grad([&] { total.add_(source); });
  }
  EXPECT_THAT(total.to_vector<float>(), ElementsAre(12, 24));  // twice w, twice its square
}

TEST_P(InPlace, AViewCountsItsTensorsVersion) {
  const Tensor x = leaf({2, 3}), s = tensor({4.0, 5.0}, on());
  const Tensor y = sum(x * s);
  narrow(s, 0, 0, 1).fill_(9);
  EXPECT_THROW(y.backward(), AutogradError);
}

TEST_P(InPlace, NothingIsThrownWhereNothingSavedWasTouched) {
  const Tensor x = leaf({2, 3}), s = full({}, 4, on());
  const Tensor y = sum(x * s), z = sum(x + s);
  const Tensor other = s.clone();
  other.fill_(9);
  y.backward();
  s.fill_(9);  // add kept nothing
  z.backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(5, 5));
  const Tensor total = sum(x);
  total.detach().fill_(9);  // nor does sum keep its result
  total.backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(6, 6));
}

TEST_P(InPlace, AfterBackwardSavedTensorsAreFree) {
  const Tensor x = leaf({2}), s = full({1}, 4, on());
  (x * s).backward();
  s.fill_(0);
  (x * s).backward();
  EXPECT_EQ(x.grad().item<float>(), 4);
}

TEST_P(InPlace, OnATensorWithHistoryThrows) {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * 2;
  EXPECT_THROW(y.fill_(0), AutogradError);
  EXPECT_THROW(y.zero_(), AutogradError);
  EXPECT_THROW(y.add_(x), AutogradError);
  EXPECT_THROW(y.mul_(2), AutogradError);
  EXPECT_THROW(y.copy_(x), AutogradError);
  EXPECT_THROW(no_grad([&] { return y.fill_(0); }), AutogradError);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(4, 6));  // nothing half done
}

TEST_P(InPlace, OnALeafOnlyInsideNoGrad) {
  const Tensor x = leaf({2, 3});
  EXPECT_THROW(x.fill_(0), AutogradError);
  EXPECT_THROW(x.add_(ones({2}, on())), AutogradError);
  no_grad([&] { return x.add_(ones({2}, on()), -0.5); });
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1.5, 2.5));
  sum(x * x).backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(3, 5));
}

TEST_P(InPlace, ALeafChangedBetweenForwardAndBackwardThrows) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  no_grad([&] { return x.fill_(5); });
  EXPECT_THROW(y.backward(), AutogradError);
}

TEST_P(InPlace, ACopyReadsWhatWasThereBefore) {
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0}, on());
  narrow(x, 0, 1, 3).copy_(narrow(x, 0, 0, 3));
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 1, 2, 3));
  const Tensor square = tensor({{1, 2}, {3, 4}}, on());
  square.copy_(transpose(square, 0, 1));
  EXPECT_THAT(square.to_vector<float>(), ElementsAre(1, 3, 2, 4));
  square.copy_(square);
  EXPECT_THAT(square.to_vector<float>(), ElementsAre(1, 3, 2, 4));
}

TEST_P(InPlace, ElementsThatShareAPlaceAreNotWritten) {
  const Tensor one = tensor({1.0}, on()), three = tensor({1.0, 2.0, 3.0}, on());
  EXPECT_THROW(expand(one, {3}).copy_(three), ShapeError);
  EXPECT_THROW(expand(one, {3}).add_(three), ShapeError);
  EXPECT_EQ(one.item<float>(), 1);
}

TEST_P(InPlace, DetachedTensorsMayChange) {
  const Tensor x = leaf({2});
  const Tensor y = (x + 1).detach();
  y.fill_(7);
  EXPECT_EQ(y.item<float>(), 7);
}

}  // namespace
}  // namespace tally
