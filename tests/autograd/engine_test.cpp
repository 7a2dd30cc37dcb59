// What backward and grad compute, and how they refuse. Rows B45 to B54 are faults of other libraries.
#include <tally/autograd/backward.h>

#include <tally/autograd/gtest.h>
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

template <class F> std::string message_of(F&& f) {
  try {
    f();
  } catch (const AutogradError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class Engine : public test::OnDevice {
 protected:
  Tensor leaf(std::initializer_list<double> values, DType dtype = float32) const {
    return tensor(values, {.dtype = dtype, .device = device(), .requires_grad = true});
  }
};
TALLY_TEST_ON_DEVICES(Engine);

TEST_P(Engine, AddsUpOverPaths) {
  const Tensor x = leaf({2});
  (x * x + 3 * x).backward();
  EXPECT_FLOAT_EQ(x.grad().item<float>(), 7);
}

TEST_P(Engine, AccumulatesOverBackwardsUntilZeroGrad) {
  const Tensor x = leaf({2, 3});
  sum(x * x).backward();
  sum(x * x).backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(8, 12));
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
  sum(x).backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(1, 1));
}

TEST_P(Engine, TwoGradientsNeverShareABuffer) {  // B47
  const Tensor x = leaf({3}, float64), y = leaf({1}, float64);
  const Tensor z = x + y;
  const Tensor upstream = ones({1}, on(float64));
  (x / z).backward(upstream);
  EXPECT_DOUBLE_EQ(x.grad().item<double>(), 0.0625);
  EXPECT_DOUBLE_EQ(y.grad().item<double>(), -0.1875);
  EXPECT_NE(x.grad().storage(), y.grad().storage());

  const Tensor a = leaf({3}), b = leaf({1}), one = ones({1}, on());
  (a + b).backward(one);
  EXPECT_NE(a.grad().storage(), b.grad().storage());
  EXPECT_NE(a.grad().storage(), one.storage());
  EXPECT_NE(b.grad().storage(), one.storage());
  a.grad().fill_(7);
  EXPECT_EQ(b.grad().item<float>(), 1);
  EXPECT_EQ(one.item<float>(), 1);

  const auto both = grad({a + b}, {a, b}, {one});
  EXPECT_NE(both[0].storage(), both[1].storage());
  EXPECT_NE(both[0].storage(), one.storage());
  EXPECT_NE(both[1].storage(), one.storage());
}

TEST_P(Engine, ALeafsGradientIsDenseAndItsOwn) {
  const Tensor x = leaf({1, 2, 3});
  sum(x).backward();  // the gradient inside is one number, spread out
  EXPECT_TRUE(x.grad().is_contiguous());
  EXPECT_EQ(x.grad().storage()->bytes(), 3 * sizeof(float));
  x.grad().fill_(5);  // does not reach anything else
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(5, 5, 5));

  const Tensor m = tensor({{1, 2}, {3, 4}}, {.device = device(), .requires_grad = true});
  sum(transpose(m, 0, 1) * tensor({{1, 2}, {3, 4}}, {.device = device()})).backward();
  EXPECT_TRUE(m.grad().is_contiguous());
  EXPECT_THAT(m.grad().to_vector<float>(), ElementsAre(1, 3, 2, 4));
}

TEST_P(Engine, SecondBackwardThrowsForEveryKindOfOp) {  // B49
  const Tensor x = leaf({2});
  const std::vector<std::pair<const char*, Tensor>> results = {{"mul", x * x},    {"add", x + 1},
                                                               {"sum", sum(x)},   {"reshape", reshape(x, {1, 1})},
                                                               {"norm", norm(x)}, {"exp", exp(x)}};
  for (const auto& [name, y] : results) {
    x.zero_grad();
    y.backward();
    const float first = x.grad().item<float>();
    EXPECT_THAT(message_of([&, y = y] { y.backward(); }),
                AllOf(HasSubstr("retain_graph"), HasSubstr("engine_test.cpp")))
        << name;
    EXPECT_EQ(x.grad().item<float>(), first) << name;
  }
}

TEST_P(Engine, RetainedGraphIsWalkedAgain) {  // B49: t = 1, k = 5t, l1 = k, l2 = 4k
  const Tensor t = leaf({1});
  const Tensor k = 5 * t, l1 = k * 1, l2 = 4 * k;
  l1.backward({.retain_graph = true});
  l2.backward();
  EXPECT_FLOAT_EQ(t.grad().item<float>(), 25);

  const Tensor u = leaf({1});
  const Tensor shared = 5 * u;
  (shared * 1).backward();
  EXPECT_THROW((4 * shared).backward(), AutogradError);
  EXPECT_FLOAT_EQ(u.grad().item<float>(), 5);
}

TEST_P(Engine, ManyElementsNeedACotangent) {
  const Tensor x = leaf({1, 2});
  EXPECT_THAT(message_of([&] { (x * 2).backward(); }),
              AllOf(HasSubstr("float32 [2]"), HasSubstr("as sum does, or give a cotangent")));
  (x * 2).backward(tensor({1.0, 10.0}, on()));
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(2, 20));
  EXPECT_THROW((x * 2).backward(ones({1}, on())), AutogradError);
  EXPECT_THROW((x * 2).backward(ones({2}, on(float64))), AutogradError);
  EXPECT_THROW(backward({x * 2}, {ones({2}, on()), ones({2}, on())}), AutogradError);
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(2, 20));  // as before
}

TEST_P(Engine, NothingToWalkIsAnError) {
  EXPECT_THAT(message_of([&] { ones({1}, on()).backward(); }), HasSubstr("does not require grad"));
  EXPECT_THROW(backward({Tensor()}), AutogradError);
  const Tensor x = leaf({1});
  EXPECT_THROW(grad({x * 2}, {ones({1}, on())}), AutogradError);
  EXPECT_THROW(grad({x * 2}, {Tensor()}), AutogradError);
  EXPECT_THAT(message_of([&] { (no_grad([&] { return x * 2; })).backward(); }), HasSubstr("under no_grad"));
  EXPECT_THROW((x.detach() * 2).backward(), AutogradError);
}

TEST_P(Engine, ALeafIsItsOwnGradient) {
  const Tensor x = leaf({4});
  x.backward();
  EXPECT_EQ(x.grad().item<float>(), 1);
  EXPECT_EQ(grad({x}, {x})[0].item<float>(), 1);
}

TEST_P(Engine, GradWritesNothingAndReachesInnerTensors) {
  const Tensor x = leaf({3}), unused = leaf({1});
  const Tensor inner = x * x, y = inner * inner;
  const auto found = grad({y}, {inner, x, unused, y, x}, {}, {.retain_graph = true});
  EXPECT_FLOAT_EQ(found[0].item<float>(), 18);
  EXPECT_FLOAT_EQ(found[1].item<float>(), 108);
  EXPECT_FALSE(found[2].defined());
  EXPECT_FLOAT_EQ(found[3].item<float>(), 1);
  EXPECT_FLOAT_EQ(found[4].item<float>(), 108);
  EXPECT_FALSE(x.grad().defined());
  // Several outputs, with cotangents.
  const auto weighted = grad({y, inner}, {x}, {full({1}, 2, on()), full({1}, 10, on())});
  EXPECT_FLOAT_EQ(weighted[0].item<float>(), 2 * 108 + 10 * 6);
}

// (2a, 3a, index): the third result carries no gradient.
std::vector<Tensor> split_up(const Tensor& x) {
  const auto values = no_grad([&] { return std::vector{2 * x, 3 * x, x.to(int64)}; });
  return record("split_up", {x}, values, saving(), [](const std::vector<Tensor>& g) {
    EXPECT_EQ(g.size(), 3u);
    EXPECT_EQ(g[2].dtype(), int64);
    return std::vector{2 * g[0] + 3 * g[1]};
  });
}

TEST_P(Engine, SeveralResultsAndAnUndefinedUpstreamReadsZeros) {
  const Tensor x = leaf({1, 2});
  auto y = split_up(x);
  EXPECT_TRUE(y[0].requires_grad() && y[1].requires_grad());
  EXPECT_FALSE(y[2].requires_grad());
  EXPECT_TRUE(y[2].is_leaf());
  sum(y[1]).backward();  // nothing came for the first
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(3, 3));
  x.zero_grad();
  y = split_up(x);
  backward({sum(y[0]), sum(y[1])});
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(5, 5));
  EXPECT_THROW(y[2].backward(ones({2}, on(int64))), AutogradError);
}

TEST_P(Engine, IntegersCannotRequireGrad) {
  EXPECT_THROW(zeros({2}, on(int64)).requires_grad_(), DTypeError);
  EXPECT_THROW((leaf({1}) * 2).requires_grad_(), AutogradError);
}

TEST_P(Engine, UndefinedInputsAndGradientsAreAllowed) {
  const Tensor x = leaf({1, 2}), none;
  const auto optional = [](const Tensor& x, const Tensor& bias) {
    return record("optional", {x, bias}, no_grad([&] { return 2 * x; }), [](const Tensor& g) {
      return std::vector<Tensor>{2 * g, Tensor()};
    });
  };
  sum(optional(x, none)).backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(2, 2));
  const Tensor bias = leaf({1});
  sum(optional(x, bias)).backward();
  EXPECT_FALSE(bias.grad().defined());
}

// One door: what a closure returns is checked, and the message names the op and the line of its forward.
TEST_P(Engine, WrongGradientsFromAClosureAreRefused) {
  const Tensor x = leaf({1, 2});
  const auto with = [&](auto gradient) {
    Tensor y = no_grad([&] { return x * 2; });
    return record("custom", {x}, y, [gradient](const Tensor& g) { return gradient(g); });
  };
  const auto refused = [&](auto gradient) { return message_of([&] { with(gradient).backward(ones({2}, on())); }); };
  const auto names_it = [](const char* what) {
    return AllOf(HasSubstr("custom"), HasSubstr("engine_test.cpp:"), HasSubstr(what));
  };
  EXPECT_THAT(refused([&](const Tensor&) { return std::vector{ones({3}, on())}; }), names_it("float32 [3]"));
  EXPECT_THAT(refused([&](const Tensor& g) { return std::vector{g.to(float64)}; }), names_it("float64 [2]"));
  EXPECT_THAT(refused([&](const Tensor& g) { return std::vector{g, g}; }), names_it("2 gradients for 1 inputs"));
  EXPECT_THAT(refused([&](const Tensor&) { return std::vector<Tensor>{}; }), names_it("0 gradients"));
  if (device() == Device::cuda) {
    EXPECT_THAT(refused([&](const Tensor& g) { return std::vector{g.to(cpu)}; }), names_it("on cpu"));
  }
  EXPECT_FALSE(x.grad().defined());
}

TEST_P(Engine, AnExceptionInAClosureLeavesGradientsAlone) {
  const Tensor x = leaf({1, 2}), y = leaf({3, 4});
  sum(y).backward();
  const auto faulty = [&] {
    return record("faulty", {x}, no_grad([&] { return x * 2; }),
                  [](const Tensor&) -> std::vector<Tensor> { throw std::runtime_error("mine"); });
  };
  EXPECT_THROW(sum(faulty() + y).backward(), std::runtime_error);
  EXPECT_THAT(y.grad().to_vector<float>(), ElementsAre(1, 1));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(grad_enabled());
}

TEST_P(Engine, ContributionsAddInTheOrderOfConsumers) {
  // Descending consumer number: ((c3 + c2) + c1), which float32 tells from other orders.
  const Tensor x = leaf({1});
  const float c1 = 1e8f, c2 = -1e8f, c3 = 1;
  const Tensor a = x * c1, b = x * c2, c = x * c3;
  backward({a, b, c});
  EXPECT_EQ(x.grad().item<float>(), (c3 + c2) + c1);
  EXPECT_NE((c3 + c2) + c1, c3 + (c2 + c1));
}

}  // namespace
}  // namespace tally
