// Hooks on gradients, and walks that leave out what leads nowhere.
#include <tally/autograd/hook.h>

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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Hook : public test::OnDevice {
 protected:
  Tensor leaf(std::initializer_list<double> values) const {
    return tensor(values, {.dtype = float64, .device = device(), .requires_grad = true});
  }
};
TALLY_TEST_ON_DEVICES(Hook);

TEST_P(Hook, SeesTheWholeGradientOnce) {
  const Tensor x = leaf({2, 3});
  std::vector<std::vector<double>> seen;
  register_hook(x, [&](const Tensor& grad) { seen.push_back(grad.to_vector<double>()); });
  sum(x * x + 3 * x).backward();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_THAT(seen[0], ElementsAre(7, 9));
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(7, 9));  // it only looked
  sum(x).backward();
  EXPECT_THAT(seen[1], ElementsAre(1, 1));  // of this walk, not of grad()
}

TEST_P(Hook, ReplacesALeafsGradient) {
  const Tensor x = leaf({2, 3});
  register_hook(x, [](const Tensor& grad) { return 10 * grad; });
  register_hook(x, [](const Tensor& grad) { return grad + 1; });  // on what the first has made
  sum(x * x).backward();
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(41, 61));
  EXPECT_THAT(grad({sum(x)}, {x})[0].to_vector<double>(), ElementsAre(11, 11));
}

TEST_P(Hook, ReplacesAnIntermediatesGradient) {
  const Tensor x = leaf({2, 3}), other = leaf({1, 1});
  const Tensor y = x * other;
  register_hook(y, [](const Tensor& grad) { return -1 * grad; });
  const auto found = grad({sum(y * y)}, {y, x}, {}, {.retain_graph = true});
  EXPECT_THAT(found[0].to_vector<double>(), ElementsAre(-4, -6));
  EXPECT_THAT(found[1].to_vector<double>(), ElementsAre(-4, -6));
  sum(y).backward();
  EXPECT_THAT(other.grad().to_vector<double>(), ElementsAre(-2, -3));
}

TEST_P(Hook, BelongsToOneOfSeveralResults) {
  const Tensor x = leaf({1, 2});
  const auto both = record("both", {x}, no_grad([&] {
                             return std::vector{2 * x, 3 * x};
                           }),
                           saving(), [](const std::vector<Tensor>& g) { return std::vector{2 * g[0] + 3 * g[1]}; });
  int calls = 0;
  register_hook(both[1], [&](const Tensor& grad) {
    ++calls;
    return 100 * grad;
  });
  sum(both[0]).backward({.retain_graph = true});
  EXPECT_EQ(calls, 0);  // no gradient came
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(2, 2));
  x.zero_grad();
  sum(both[1]).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(300, 300));
}

TEST_P(Hook, IsRemovedByItsHandle) {
  const Tensor x = leaf({2});
  HookHandle ten = register_hook(x, [](const Tensor& grad) { return 10 * grad; });
  register_hook(x, [](const Tensor& grad) { return grad + 1; });
  x.backward();
  EXPECT_EQ(x.grad().item<double>(), 11);
  ten.remove();
  ten.remove();
  x.zero_grad();
  x.backward();
  EXPECT_EQ(x.grad().item<double>(), 2);
  // One that removes itself, while it runs.
  HookHandle self;
  int calls = 0;
  self = register_hook(x, [&](const Tensor&) {
    ++calls;
    self.remove();
  });
  x.backward();
  x.backward();
  EXPECT_EQ(calls, 1);
  HookHandle late;
  {
    const Tensor y = leaf({1});
    late = register_hook(y, [](const Tensor&) {});
  }
  late.remove();  // the tensor is gone
}

TEST_P(Hook, PassesTheSameDoor) {
  const Tensor x = leaf({2, 3});
  const int line = __LINE__ + 1;
  HookHandle hook = register_hook(x, [](const Tensor& grad) { return sum(grad); });
  try {
    sum(x).backward();
    FAIL();
  } catch (const AutogradError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("register_hook"), HasSubstr("float64 []"), HasSubstr("float64 [2]"),
                                    HasSubstr("hook_test.cpp:" + std::to_string(line))));
  }
  EXPECT_FALSE(x.grad().defined());
  hook.remove();
  register_hook(x, [](const Tensor& grad) { return grad.to(float32); });
  EXPECT_THROW(sum(x).backward(), AutogradError);
}

TEST_P(Hook, WhatItThrowsNamesItsLine) {
  const Tensor x = leaf({2, 3}), y = leaf({1, 1});
  const int line = __LINE__ + 1;
  register_hook(x, [](const Tensor&) { throw std::runtime_error("mine"); });
  try {
    sum(x * y).backward();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), std::string("mine\n  in the hook registered at ") + __FILE__ + ":" + std::to_string(line));
  }
  EXPECT_FALSE(y.grad().defined());  // nothing half done
}

TEST_P(Hook, NeedsAGradientToPass) {
  const auto look = [](const Tensor&) {};
  EXPECT_THROW(register_hook(ones({1}, on()), look), AutogradError);
  EXPECT_THROW(register_hook(Tensor(), look), AutogradError);
  EXPECT_THROW(register_hook(leaf({1}).detach(), look), AutogradError);
}

TEST_P(Hook, IsRecordedUnderCreateGraph) {
  const Tensor x = leaf({3});
  register_hook(x, [](const Tensor& grad) { return grad * grad; });
  // The gradient is (2x)²; its own, before the hook, 8x, and squared by the hook again.
  const Tensor first = grad({x * x}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(first.item<double>(), 36);
  EXPECT_EQ(grad({first}, {x})[0].item<double>(), 24 * 24);
}

// What leads to no wanted input is not walked: its backward is not called, and it is not released.
TEST_P(Hook, GradWalksOnlyWhatLeadsToItsInputs) {
  const Tensor x = leaf({2}), w = leaf({3});
  int calls = 0;
  const auto counted = [&](const Tensor& x) {
    return record("counted", {x}, no_grad([&] { return 2 * x; }), [&calls](const Tensor& g) {
      ++calls;
      return std::vector{2 * g};
    });
  };
  const Tensor branch = counted(exp(counted(x)));
  const Tensor y = branch * w;
  EXPECT_EQ(grad({y}, {w})[0].item<double>(), branch.item<double>());
  EXPECT_EQ(calls, 0);
  branch.backward();  // still whole
  EXPECT_EQ(calls, 2);
  EXPECT_NEAR(x.grad().item<double>(), 4 * std::exp(4.0), 1e-10);

  const Tensor inner = counted(x), z = counted(inner) * w;
  calls = 0;
  EXPECT_EQ(grad({z}, {inner})[0].item<double>(), 6);
  EXPECT_EQ(calls, 1);  // not below the wanted tensor
  EXPECT_EQ(grad({inner}, {x})[0].item<double>(), 2);
}

TEST_P(Hook, GradOfAnInputThatIsAlsoOnThePath) {
  const Tensor x = leaf({2});
  const Tensor y = x * x, z = y * y;
  const auto found = grad({z, y}, {y, x}, {});
  EXPECT_EQ(found[0].item<double>(), 2 * 4 + 1);
  EXPECT_EQ(found[1].item<double>(), (2 * 4 + 1) * 4);
  const Tensor unused = leaf({1});
  EXPECT_FALSE(grad({x * x}, {unused})[0].defined());
}

}  // namespace
}  // namespace tally
