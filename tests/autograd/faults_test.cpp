// Faults of other libraries' graphs, each with the input that showed it there.
#include <thread>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/core/storage.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>

#include <tally/tests/support/devices.h>
#include <tally/tests/support/small_stack.h>

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GraphFaults : public test::OnDevice {
 protected:
  Tensor leaf(std::initializer_list<double> values, DType dtype = float32) const {
    return tensor(values, {.dtype = dtype, .device = device(), .requires_grad = true});
  }
};
TALLY_TEST_ON_DEVICES(GraphFaults);

// An in-place change of something saved goes unnoticed where that needs no gradient, or through an alias.
TEST_P(GraphFaults, B45_AChangedOperandWithoutGradientIsNoticed) {
  const Tensor x = leaf({2, 3}), s = full({}, 4, on());
  const Tensor y = x * s;
  s.add_(ones({}, on()));
  EXPECT_THROW(y.backward(ones({2}, on())), AutogradError);
  EXPECT_FALSE(x.grad().defined());  // not 5
}
TEST_P(GraphFaults, B45_AChangedResultIsNoticedThroughAnAlias) {
  const Tensor x = leaf({2, 3});
  const Tensor y = sigmoid(x);
  y.detach().zero_();
  EXPECT_THROW(y.backward(ones({2}, on())), AutogradError);
  EXPECT_FALSE(x.grad().defined());  // not 0
}
TEST_P(GraphFaults, B45_TheMessageNamesOpInputAndVersions) {
  const Tensor x = leaf({2, 3}), s = full({2}, 4, on());
  const int line = __LINE__ + 1;
  const Tensor y = x * s;
  s.fill_(1).fill_(2);
  try {
    y.backward(ones({2}, on()));
    FAIL();
  } catch (const AutogradError& error) {
    EXPECT_EQ(error.op(), "mul");
    EXPECT_EQ(error.where().line, line);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("saved tensor 1"), HasSubstr("float32 [2] on"),
                                    HasSubstr("version 0 expected, 2 found")));
  }
}
TEST_P(GraphFaults, B45_NothingIsThrownWhereNothingSavedWasTouched) {
  const Tensor x = leaf({2, 3}), s = full({2}, 4, on());
  const Tensor y = x + s;  // keeps neither
  s.fill_(9);
  y.detach().fill_(9);
  y.backward(ones({2}, on()));
  EXPECT_THAT(x.grad().to_vector<float>(), Each(1));
}

// Two inputs share one gradient buffer, and accumulating in place changes both.
TEST_P(GraphFaults, B47_GradientsOwnTheirMemory) {
  const Tensor x = leaf({3}, float64), y = leaf({1}, float64), upstream = ones({1}, on(float64));
  const Tensor p = x / (x + y);
  p.backward(upstream);
  EXPECT_DOUBLE_EQ(x.grad().item<double>(), 0.0625);
  EXPECT_DOUBLE_EQ(y.grad().item<double>(), -0.1875);
  EXPECT_NE(x.grad().storage(), y.grad().storage());
  EXPECT_NE(x.grad().storage(), upstream.storage());
  EXPECT_NE(y.grad().storage(), upstream.storage());
}

// A second backward crashes on freed buffers, or works for some op kinds only.
TEST_P(GraphFaults, B49_ASecondBackwardIsACleanErrorForEveryOp) {
  const Tensor x = leaf({0.5});
  const Tensor results[] = {x * x,           x + 1,  x - 2,      2 / x,        exp(x), sqrt(x),   sum(x),
                            mean(x),         max(x), prod(x),    norm(x),      var(x), x.clone(), reshape(x, {1, 1}),
                            unsqueeze(x, 0), -x,     sigmoid(x), logsumexp(x), abs(x)};
  for (const Tensor& y : results) {
    x.zero_grad();
    y.backward();
    const Tensor first = x.grad().clone();
    try {
      y.backward();
      ADD_FAILURE();
    } catch (const AutogradError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("retain_graph"), HasSubstr("faults_test.cpp")));
    }
    EXPECT_THAT(x.grad(), BitEqual(first));
  }
}
TEST_P(GraphFaults, B49_ARetainedGraphGivesBothGradients) {
  const Tensor t = leaf({1});
  const Tensor k = 5 * t, l1 = k * 1, l2 = 4 * k;
  l1.backward({.retain_graph = true});
  l2.backward();
  EXPECT_EQ(t.grad().item<float>(), 25);
}

// A custom op that keeps its own output alive forms a cycle: memory grows forever.
TEST_P(GraphFaults, B50_TenThousandGraphsLeaveNothingBehind) {
  const std::int64_t nodes = live_nodes(), bytes = live_cpu_bytes();
  const int graphs = device() == Device::cpu ? 10'000 : 200;  // the emulated device is slow
  for (int i = 0; i < graphs; ++i) {
    const Tensor x = ones({4}, {.device = device(), .requires_grad = true});
    const Tensor y = record("keeps_itself", {x}, no_grad([&] { return x * 2; }), saving(x, output),
                            [](const Tensor& g, const Tensor&, const Tensor&) { return std::vector{2 * g}; });
    const Tensor z = sum(exp(y) * y);
    if (i % 3 == 1) z.backward();
    if (i % 3 == 2) z.backward({.retain_graph = true});
  }
  EXPECT_EQ(live_nodes(), nodes);
  EXPECT_EQ(live_cpu_bytes(), bytes);
}
// backward with create_graph onto a leaf is the one cycle there is, and documented: zero_grad ends it.
TEST_P(GraphFaults, B50_ZeroGradEndsTheCycleOfCreateGraph) {
  const std::int64_t nodes = live_nodes();
  for (int i = 0; i < 100; ++i) {
    const Tensor x = leaf({1, 2});
    sum(x * x * x).backward({.create_graph = true});
    EXPECT_TRUE(x.grad().requires_grad());
    x.zero_grad();
  }
  EXPECT_EQ(live_nodes(), nodes);
}

// Dropping a long chain recurses in destructors and overflows the stack, also through saved tensors.
TEST(GraphFaultsOfTheHost, B46_LongChainsOnASmallStack) {
  const std::int64_t nodes = live_nodes();
  test::on_small_stack([] {
    const Tensor x = ones({1}, {.requires_grad = true});
    for (const bool walk : {false, true}) {
      Tensor sums = x, squares = x;
      for (int i = 0; i < 200'000; ++i) sums = sums + 0;
      for (int i = 0; i < 200'000; ++i) squares = squares * squares;
      if (!walk) continue;
      sums.backward();
      EXPECT_EQ(x.grad().item<float>(), 1);
      squares.backward();
    }
  });
  EXPECT_EQ(live_nodes(), nodes);
}
TEST(GraphFaultsOfTheHost, B46_AMillionOpsOnASmallStack) {
  const std::int64_t nodes = live_nodes();
  test::on_small_stack([nodes] {
    const Tensor x = ones({}, {.requires_grad = true});
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y + 0;
    EXPECT_EQ(live_nodes(), nodes + 1'000'000);
    EXPECT_EQ(grad({y}, {x}, {}, {.retain_graph = true})[0].item<float>(), 1);
    y.backward();
    EXPECT_EQ(x.grad().item<float>(), 1);
  });
  EXPECT_EQ(live_nodes(), nodes);
}

// No-gradient mode is per thread; worker threads record graphs and memory grows.
TEST(GraphFaultsOfTheHost, B53_NoGradIsOfEachThread) {
  const Tensor x = ones({1}, {.requires_grad = true});
  NoGrad guard;
  std::thread([&] {
    EXPECT_TRUE((x * 2).requires_grad());  // documented: a new thread records
    NoGrad own;
    const std::int64_t nodes = live_nodes(), bytes = live_cpu_bytes();
    Tensor y = x;
    for (int i = 0; i < 10'000; ++i) y = y * x;
    EXPECT_EQ(live_nodes(), nodes);
    EXPECT_LE(live_cpu_bytes(), bytes + 64);
  }).join();
  EXPECT_FALSE(grad_enabled());
}
TEST(GraphFaultsOfTheHost, B53_TheFlagComesBackAfterAThrow) {
  EXPECT_THROW(no_grad([]() -> int { throw std::runtime_error("out"); }), std::runtime_error);
  EXPECT_TRUE(grad_enabled());
}

// gradcheck moves one cell that several indices share, fails in float32 for a right op, says only false.
TEST(GraphFaultsOfTheHost, B54_SharedElementsAreCheckedOneByOne) {
  const GradCheck check =
      gradcheck([](const Tensor& x) { return sum(x * x); }, {expand(tensor({3.0}), {4})}, {.report = 4});
  EXPECT_TRUE(check.ok()) << check.explain();
  EXPECT_EQ(check.right, 4);
  // The gradient of an entry is 6 per unit of cotangent, not the shared cell's 24: a wrong one shows both numbers.
  const auto twice = [](const Tensor& x) {
    return record("twice", {x}, no_grad([&] { return sum(x * x); }), saving(x),
                  [](const Tensor& g, const Tensor& x) { return std::vector{4 * g * x}; });
  };
  const GradCheck wrong = gradcheck(twice, {expand(tensor({3.0}), {4})});
  ASSERT_EQ(wrong.wrong, 4);
  const double cotangent = wrong.worst[0].numeric / 6;
  EXPECT_NEAR(wrong.worst[0].analytic, 12 * cotangent, 1e-9);
  EXPECT_LE(std::abs(cotangent), 1.5);  // numeric is 6, not 24, times a cotangent of that size
  EXPECT_GE(std::abs(cotangent), 0.5);
}
TEST(GraphFaultsOfTheHost, B54_ARightOpInFloat32IsNotAccused) {
  const GradCheck check = gradcheck([](const Tensor& x) { return x * x; }, {tensor({100.0})});
  EXPECT_TRUE(check.ok()) << check.explain();
  // A wrong one is named by entry, with both values.
  const GradCheck wrong = gradcheck([](const Tensor& x) { return x * x.detach(); }, {tensor({100.0})});
  ASSERT_EQ(wrong.wrong, 1);
  EXPECT_NEAR(wrong.worst[0].numeric / wrong.worst[0].analytic, 2, 1e-6);
  EXPECT_THAT(wrong.explain(), AllOf(HasSubstr("input 0 at [0]: analytic "), HasSubstr("numeric ")));
}

}  // namespace
}  // namespace tally
