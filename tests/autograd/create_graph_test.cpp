// Derivatives of derivatives.
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>

#include <tally/tests/support/devices.h>

namespace tally {
namespace {

using ::testing::ElementsAre;

class CreateGraph : public test::OnDevice {
 protected:
  Tensor leaf(std::initializer_list<double> values) const {
    return tensor(values, {.dtype = float64, .device = device(), .requires_grad = true});
  }
};
TALLY_TEST_ON_DEVICES(CreateGraph);

TEST_P(CreateGraph, ThirdDerivativeOfAPower) {
  const Tensor x = leaf({2});
  Tensor y = x * x * x * x;
  for (const double expected : {32.0, 48.0, 48.0, 24.0}) {
    y = grad({y}, {x}, {}, {.create_graph = true})[0];
    EXPECT_DOUBLE_EQ(y.item<double>(), expected);
  }
}

TEST_P(CreateGraph, HessianVectorProduct) {
  // f = (sum x²)²: Hessian 8 x xᵀ + 4 (sum x²) I.
  const Tensor x = leaf({1, 2, 3}), v = tensor({1.0, 0.0, -1.0}, on(float64));
  const Tensor squares = sum(x * x);
  const Tensor first = grad({squares * squares}, {x}, {}, {.create_graph = true})[0];
  const Tensor product = grad({first}, {x}, {v})[0];
  EXPECT_THAT(product.to_vector<double>(), ElementsAre(8 * 1 * -2 + 56, 8 * 2 * -2, 8 * 3 * -2 - 56));
}

TEST_P(CreateGraph, ThroughASavedResult) {
  // exp keeps its result; the second derivative goes through it.
  const Tensor x = leaf({0.5});
  const auto my_exp = [](const Tensor& x) {
    return record("my_exp", {x}, no_grad([&] { return exp(x); }), saving(output),
                  [](const Tensor& g, const Tensor& y) { return std::vector{g * y}; });
  };
  Tensor y = my_exp(x);
  for (int order = 0; order < 3; ++order) {
    y = grad({y}, {x}, {}, {.create_graph = true})[0];
    EXPECT_NEAR(y.item<double>(), std::exp(0.5), 1e-15);
  }
}

TEST_P(CreateGraph, ThroughTheCotangent) {
  const Tensor x = leaf({3}), c = leaf({1});
  const Tensor first = grad({x * x}, {x}, {c}, {.create_graph = true})[0];
  first.backward();
  EXPECT_DOUBLE_EQ(c.grad().item<double>(), 6);
  EXPECT_DOUBLE_EQ(x.grad().item<double>(), 2);
}

TEST_P(CreateGraph, WithoutItTheGradientHasNoHistory) {
  const Tensor x = leaf({3});
  EXPECT_FALSE(grad({x * x}, {x})[0].requires_grad());
  (x * x).backward();
  EXPECT_FALSE(x.grad().requires_grad());
}

TEST_P(CreateGraph, InLeaves) {
  const Tensor x = leaf({2});
  (x * x * x).backward({.create_graph = true});
  const Tensor first = x.grad();
  x.zero_grad();
  first.backward();
  EXPECT_DOUBLE_EQ(x.grad().item<double>(), 12);
  x.zero_grad();
}

TEST_P(CreateGraph, GradientPenalty) {
  // loss = |df/dx|² for f = w x²: d loss / d w = 8 w x².
  const Tensor x = leaf({1.5}), w = leaf({2});
  const Tensor slope = grad({w * x * x}, {x}, {}, {.create_graph = true})[0];
  (slope * slope).backward();
  EXPECT_DOUBLE_EQ(w.grad().item<double>(), 8 * 2 * 1.5 * 1.5);
}

}  // namespace
}  // namespace tally
