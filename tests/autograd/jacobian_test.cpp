// Matrices of derivatives against those worked out by hand.
#include <tally/autograd/jacobian.h>

#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/matmul.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>

#include <tally/tests/support/devices.h>

namespace tally {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class Jacobian : public test::OnDevice {
 protected:
  Tensor vector(std::initializer_list<double> values) const { return tensor(values, on(float64)); }
};
TALLY_TEST_ON_DEVICES(Jacobian);

TEST_P(Jacobian, OfAnElementwiseFunctionIsDiagonal) {
  const Tensor j = jacobian([](const Tensor& x) { return x * x; }, vector({1, 2, 3}));
  EXPECT_EQ(j.shape(), Shape({3, 3}));
  EXPECT_EQ(j.device(), device());
  EXPECT_FALSE(j.requires_grad());
  EXPECT_THAT(j.to_vector<double>(), ElementsAre(2, 0, 0, 0, 4, 0, 0, 0, 6));
}

TEST_P(Jacobian, OfAProductIsTheOtherMatrix) {
  // y = a x: dy_i / dx_k = a_ik, and dy_i / da_jk = [i = j] x_k.
  const Tensor a = tensor({{1, 2}, {3, 4}, {5, 6}}, on(float64)), x = reshape(vector({10, 20}), {2, 1});
  const auto j = jacobian([](const Tensor& a, const Tensor& x) { return matmul(a, x); }, {a, x});
  ASSERT_EQ(j.size(), 1u);
  EXPECT_EQ(j[0][1].shape(), Shape({3, 1, 2, 1}));
  EXPECT_THAT(j[0][1].to_vector<double>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(j[0][0].shape(), Shape({3, 1, 3, 2}));
  EXPECT_THAT(j[0][0].to_vector<double>(), ElementsAre(10, 20, 0, 0, 0, 0, 0, 0, 10, 20, 0, 0, 0, 0, 0, 0, 10, 20));
}

TEST_P(Jacobian, OfSeveralOutputsAndOfNone) {
  const auto f = [](const std::vector<Tensor>& x) { return std::vector{sum(x[0]), x[1] * 2, x[0].detach()}; };
  const auto j = jacobian(f, {vector({1, 2}), vector({3})});
  ASSERT_EQ(j.size(), 3u);
  EXPECT_THAT(j[0][0].to_vector<double>(), ElementsAre(1, 1));
  EXPECT_THAT(j[0][1].to_vector<double>(), ElementsAre(0));
  EXPECT_THAT(j[1][1].to_vector<double>(), ElementsAre(2));
  EXPECT_THAT(j[2][0].to_vector<double>(), Each(0));
}

TEST_P(Jacobian, HessianOfACubeAndOfAMixedProduct) {
  const Tensor h = hessian([](const Tensor& x) { return sum(x * x * x); }, vector({1, 2}));
  EXPECT_THAT(h.to_vector<double>(), ElementsAre(6, 0, 0, 12));
  // f = sum(x)·y²: d²/dx dx = 0, d²/dx dy = 2y, d²/dy² = 2 sum(x).
  const auto mixed = hessian([](const Tensor& x, const Tensor& y) { return sum(x) * y * y; },
                             {vector({1, 2}), tensor(std::vector{5.0}, {}, device())});
  EXPECT_THAT(mixed[0][0].to_vector<double>(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(mixed[0][1].to_vector<double>(), ElementsAre(10, 10));
  EXPECT_THAT(mixed[1][0].to_vector<double>(), ElementsAre(10, 10));
  EXPECT_THAT(mixed[1][1].to_vector<double>(), ElementsAre(6));
  EXPECT_THAT(hessian([](const Tensor& x) { return sum(x); }, vector({1, 2})).to_vector<double>(), Each(0));
}

TEST_P(Jacobian, HvpIsTheHessianTimesAVector) {
  // f = (sum x²)²: Hessian 8 x xᵀ + 4 (sum x²) I.
  const Tensor product = hvp(
      [](const Tensor& x) {
        const Tensor squares = sum(x * x);
        return squares * squares;
      },
      vector({1, 2, 3}), vector({1, 0, -1}));
  EXPECT_THAT(product.to_vector<double>(), ElementsAre(8 * 1 * -2 + 56, 8 * 2 * -2, 8 * 3 * -2 - 56));
  EXPECT_THAT(hvp([](const Tensor& x) { return sum(x); }, vector({1}), vector({1})).to_vector<double>(), Each(0));
}

TEST_P(Jacobian, LeavesTheInputsAlone) {
  const Tensor x = vector({1, 2}).requires_grad_();
  jacobian([](const Tensor& x) { return exp(x); }, x);
  hessian([](const Tensor& x) { return sum(exp(x)); }, x);
  EXPECT_FALSE(x.grad().defined());
  // A transposed input is read as it lies.
  const Tensor t = transpose(tensor({{1, 2}, {3, 4}}, on(float64)), 0, 1);
  const Tensor j = jacobian([](const Tensor& x) { return sum(x * x, 1); }, t);
  EXPECT_THAT(j.to_vector<double>(), ElementsAre(2, 6, 0, 0, 0, 0, 4, 8));
}

TEST_P(Jacobian, Refuses) {
  const auto square = [](const Tensor& x) { return x * x; };
  EXPECT_THROW(jacobian(square, arange(3)), AutogradError);
  EXPECT_THROW(jacobian(square, Tensor()), AutogradError);
  EXPECT_THROW(jacobian([](const Tensor& x) { return argmax(x); }, vector({1, 2})), AutogradError);
  EXPECT_THROW(hessian(square, vector({1, 2})), ShapeError);
  EXPECT_THROW(hvp(square, vector({1}), vector({1, 2})), ShapeError);
  EXPECT_THROW(jacobian(square, ones({1, 1, 1, 1, 1}, on())), ShapeError);  // ten dims
}

}  // namespace
}  // namespace tally
