// Gradients of the reductions, on every device: against finite differences, first and second order, and their rules.
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/core/random.h>
#include <tally/ops/operators.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/tests/ops/reduce_cases.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>
#include <tally/tests/support/poison.h>

namespace tally {
namespace {

using test::reduce_cases;
using test::ReduceCase;
using test::reference::kInf;
using test::reference::kNan;
using ::testing::Each;
using ::testing::ElementsAre;

Tensor draw(const Shape& shape, std::uint64_t seed, const Options& options) {
  Generator generator(seed);
  Tensor x = empty(shape, {.dtype = float64});
  fill_normal(x, generator);
  return x.to(options.dtype).to(options.device);
}

class ReduceGradient : public test::OnDevice {
 protected:
  Tensor draw(const Shape& shape, std::uint64_t seed, DType dtype = float64) const {
    return tally::draw(shape, seed, on(dtype));
  }
  Tensor leaf(std::initializer_list<double> values, DType dtype = float32) const {
    return tensor(values, {.dtype = dtype, .device = device(), .requires_grad = true});
  }
  template <class F> std::vector<double> gradient(F f, const Tensor& x) const {
    x.zero_grad();
    sum(f(x)).backward();
    return x.grad().to_vector<double>();
  }
  // The recorded gradient, which create_graph walks, must say the same as the fused one.
  template <class F> std::vector<double> recorded_gradient(F f, const Tensor& x) const {
    return grad({sum(f(x))}, {x}, {}, {.create_graph = true})[0].template to_vector<double>();
  }
};
TALLY_TEST_ON_DEVICES(ReduceGradient);

/// Each reduction that has a gradient.
class ReduceGradientOf : public test::OnDeviceWith<ReduceCase> {
 protected:
  Tensor draw(const Shape& shape, std::uint64_t seed, DType dtype = float64) const {
    return tally::draw(shape, seed, on(dtype));
  }
  Tensor run(const Tensor& x, const Dims& dims, KeepDim keep = {}) const { return which().run(x, dims, keep); }
};
TALLY_TEST_ON_DEVICES_WITH(ReduceGradientOf, ::testing::ValuesIn(test::differentiable_cases()));

std::vector<Dims> subsets() { return {{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}; }

TEST_P(ReduceGradientOf, FirstOrder) {
  const Tensor x = draw({2, 3, 4}, 1);
  for (const Dims& dims : subsets()) EXPECT_THAT([&](const Tensor& x) { return run(x, dims); }, PassesGradCheck(x));
  EXPECT_THAT([&](const Tensor& x) { return run(x, 1, keepdim); }, PassesGradCheck(x));
}

TEST_P(ReduceGradientOf, SecondOrder) {
  EXPECT_THAT([&](const Tensor& x) { return run(x, {}); }, PassesGradGradCheck(draw({2, 3, 2}, 2)));
}

TEST_P(ReduceGradientOf, SecondOrderOfTheMiddleDim) {
  EXPECT_THAT([&](const Tensor& x) { return run(x, 1); }, PassesGradGradCheck(draw({2, 3, 2}, 2)));
}

TEST_P(ReduceGradientOf, SecondOrderOfTwoDims) {
  EXPECT_THAT([&](const Tensor& x) { return run(x, {0, 2}); }, PassesGradGradCheck(draw({2, 3, 2}, 2)));
}

TEST_P(ReduceGradient, ThirdOrderOfProd) {
  const auto first = [](const Tensor& x) {
    const Tensor leaf = x.requires_grad() ? x : x.detach().requires_grad_();
    return grad({prod(leaf)}, {leaf}, {}, {.create_graph = true})[0];
  };
  EXPECT_THAT(first, PassesGradGradCheck(draw({5}, 3)));
}

TEST_P(ReduceGradientOf, LongLists) {
  const Tensor x = which().name == "prod" ? 1 + draw({2, 1100}, 4) * 0.01 : draw({2, 1100}, 4);
  const auto check = gradcheck([&](const Tensor& x) { return run(x, 1); }, {x}, {.max_entries = 12});
  EXPECT_TRUE(check.ok()) << check.explain();
}

TEST_P(ReduceGradient, PairsShareOneWalk) {
  const auto both = [](const Tensor& x) {
    const auto [variance, mean] = var_mean(x, 0, sample);
    return std::vector{variance, mean};
  };
  EXPECT_THAT(both, PassesGradCheck(draw({3, 4}, 5)));
  EXPECT_THAT(both, PassesGradGradCheck(draw({3, 2}, 5)));
  EXPECT_THAT([](const Tensor& x) { return var_mean(x, 0).mean; }, PassesGradCheck(draw({3, 4}, 5)));
  EXPECT_THAT([](const Tensor& x) { return max_with_index(x, 1).values; }, PassesGradCheck(draw({3, 4}, 5)));
  EXPECT_THAT([](const Tensor& x) { return min_with_index(x, 0).values; }, PassesGradCheck(draw({3, 4}, 5)));
  EXPECT_FALSE(max_with_index(draw({3}, 5).requires_grad_()).indices.requires_grad());
}

TEST_P(ReduceGradientOf, LayoutChangesNoBit) {
  for (const DType dtype : {float32, float16, bfloat16}) {
    const Tensor x = draw({3, 1100}, 6, dtype);
    for (const std::int64_t dim : {0, 1}) {
      const auto of = [&](const Tensor& x) {
        const Tensor leaf = x.detach().requires_grad_();
        test::poison_like(x);
        const Tensor y = run(leaf, dim);
        return grad({y}, {leaf}, {draw(y.shape(), 7, dtype)})[0].contiguous();
      };
      const Tensor expected = of(x);
      for (const test::Layout& layout : test::layouts(x))
        EXPECT_THAT(of(layout.tensor), BitEqual(expected)) << name_of(dtype) << " " << layout.name;
    }
  }
}

// Of a view that is a small part of what it lies in, two-byte floats are converted one by one.
TEST_P(ReduceGradientOf, FewColumnsOfAWideTwoByteTensor) {
  for (const DType dtype : {float16, bfloat16}) {
    const Tensor wide = draw({40, 50}, 3, dtype);
    const Tensor view[] = {narrow(wide, 1, 7, 2),
                           transpose(narrow(wide, 1, 7, 2), 0, 1),
                           slice(wide, 1, 3, to_end, 20),
                           slice(slice(wide, 0, 1, to_end, 9), 1, 0, 40, 4),
                           narrow(wide, 1, 49, 1),
                           expand(narrow(wide, 1, 7, 1), {40, 5}),
                           expand(reshape(narrow(wide, 1, 7, 1), {40, 1, 1}), {40, 3, 2})};
    for (const Tensor& x : view) {
      const auto gradient_of = [&](const Tensor& x) {
        const Tensor leaf = x.detach().requires_grad_();
        return grad({sum(run(leaf, 0))}, {leaf})[0];
      };
      EXPECT_THAT(gradient_of(x), BitEqual(gradient_of(x.clone()))) << name_of(dtype) << " " << to_string(x.strides());
    }
  }
}

TEST_P(ReduceGradientOf, RecordedAndFusedAgree) {
  for (const DType dtype : {float64, float32, float16}) {
    const Tensor x = draw({3, 5}, 8, dtype).requires_grad_();
    const double rtol = dtype == float64 ? 1e-13 : dtype == float32 ? 1e-5 : 4e-3;
    for (const Dims& dims : {Dims{}, Dims{0}, Dims{1}}) {
      const auto of = [&](bool create_graph) {
        const Tensor y = run(x, dims);
        return grad({y}, {x}, {ones(y.shape(), on(dtype)) * 1.5}, {.create_graph = create_graph})[0].detach();
      };
      EXPECT_THAT(of(true), AllClose(of(false), rtol, rtol)) << name_of(dtype);
    }
  }
}

TEST_P(ReduceGradient, EveryOpKeepsTheRulesOfTheGraph) {
  const Tensor x = draw({4, 5}, 9).requires_grad_();
  for (const ReduceCase& op : reduce_cases()) {
    if (!op.gradient) {
      EXPECT_FALSE(op.run(x, 1, {}).requires_grad()) << op.name;
      continue;
    }
    x.zero_grad();
    const Tensor y = op.run(x, 1, {});
    EXPECT_TRUE(y.requires_grad()) << op.name;
    y.backward(ones({4}, on(float64)));
    EXPECT_TRUE(x.grad().is_contiguous()) << op.name;
    EXPECT_EQ(x.grad().storage().use_count(), 1) << op.name;
    EXPECT_THROW(y.backward(ones({4}, on(float64))), AutogradError) << op.name;
    EXPECT_FALSE(no_grad([&] { return op.run(x, 1, {}); }).requires_grad()) << op.name;
  }
}

TEST_P(ReduceGradient, OfNothing) {
  for (const ReduceCase& op : reduce_cases()) {
    if (!op.gradient) continue;
    const Tensor x = zeros({3, 0}, on()).requires_grad_();
    sum(op.run(x, 0, {})).backward();
    EXPECT_THAT(x.grad(), HasShape({3, 0})) << op.name;
    if (op.needs_elements) continue;
    x.zero_grad();
    sum(op.run(x, 1, {})).backward();
    EXPECT_THAT(x.grad(), HasShape({3, 0})) << op.name;
  }
}

TEST_P(ReduceGradient, SecondOrderOfNothing) {
  // No element takes a share of the mean, whatever that is.
  const Tensor x = zeros({2, 0}, on()).requires_grad_(), upstream = ones({2}, on()).requires_grad_();
  const Tensor first = grad({mean(x, 1)}, {x}, {upstream}, {.create_graph = true})[0];
  EXPECT_THAT(first, HasShape({2, 0}));
  EXPECT_THAT(grad({first}, {upstream}, {zeros({2, 0}, on())})[0].to_vector<double>(), ElementsAre(0, 0));
}

TEST_P(ReduceGradient, CountsBeyondATwoByteFloat) {
  // 100000 is no float16, 1001 no bfloat16; an element's share is one all the same.
  for (const auto& [dtype, n] : {std::pair(float16, 100000), std::pair(bfloat16, 1001)}) {
    const Tensor x = ones({n}, {.dtype = dtype, .device = device(), .requires_grad = true});
    const double share = full({}, 1.0 / n, on(dtype)).item<double>();
    EXPECT_THAT(gradient([](const Tensor& x) { return mean(x); }, x), Each(share));
    EXPECT_THAT(recorded_gradient([](const Tensor& x) { return mean(x); }, x), Each(share));
    EXPECT_THAT(gradient([](const Tensor& x) { return var_mean(x).mean; }, x), Each(share));
  }
}

// --- The rules where there is no derivative ------------------------------------------------------------------------

TEST_P(ReduceGradient, RulesAtTies) {
  const Tensor x = leaf({4, 1, 4, 4}), y = leaf({-2, 2, 1});
  const auto both = [&](auto f, const Tensor& x, auto matcher) {
    EXPECT_THAT(gradient(f, x), matcher);
    EXPECT_THAT(recorded_gradient(f, x), matcher);
  };
  both([](const Tensor& x) { return max(x); }, x, ElementsAre(1, 0, 0, 0));
  both([](const Tensor& x) { return min(x); }, leaf({3, 1, 1}), ElementsAre(0, 1, 0));
  const double third = 1.0f / 3;
  both([](const Tensor& x) { return amax(x); }, x, ElementsAre(third, 0, third, third));
  both([](const Tensor& x) { return amin(x); }, leaf({3, 1, 1}), ElementsAre(0, 0.5, 0.5));
  both([](const Tensor& x) { return amax(x); }, leaf({0.0, -0.0}), ElementsAre(0.5, 0.5));
  both([](const Tensor& x) { return norm(x, kInf); }, y, ElementsAre(-0.5, 0.5, 0));
  both([](const Tensor& x) { return norm(x, -kInf); }, leaf({-2, 2, 3}), ElementsAre(-0.5, 0.5, 0));
  // Ties over all the reduced dims at once.
  const Tensor m = tensor({{1, 7}, {7, 7}}, {.device = device(), .requires_grad = true});
  both([](const Tensor& x) { return amax(x, {0, 1}); }, m, ElementsAre(0, third, third, third));
}

TEST_P(ReduceGradient, RulesAtNaN) {
  const Tensor x = leaf({1, kNan, 5, kNan});
  EXPECT_THAT(gradient([](const Tensor& x) { return max(x); }, x), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(gradient([](const Tensor& x) { return amin(x); }, x), ElementsAre(0, 0.5, 0, 0.5));
  EXPECT_THAT(gradient([](const Tensor& x) { return amax(x); }, x), ElementsAre(0, 0.5, 0, 0.5));
}

TEST_P(ReduceGradient, RulesAtZero) {
  const auto zero = [&](auto f, const Tensor& x) {
    EXPECT_THAT(gradient(f, x), Each(0));
    EXPECT_THAT(recorded_gradient(f, x), Each(0));
  };
  for (const double p : {2.0, 1.0, 0.0, 3.0, 0.5, -1.0, kInf, -kInf})
    zero([p](const Tensor& x) { return norm(x, p); }, leaf({0, 0, 0}));
  zero([](const Tensor& x) { return norm(x, -1); }, leaf({0, 2, 3}));  // the norm is 0
  zero([](const Tensor& x) { return tally::std(x); }, leaf({7, 7, 7}));
  zero([](const Tensor& x) { return var(x); }, leaf({7, 7, 7}));
  const auto at_a_zero_entry = [&](double p) {
    return gradient([p](const Tensor& x) { return norm(x, p); }, leaf({0, 2}))[0];
  };
  EXPECT_EQ(at_a_zero_entry(1), 0);
  EXPECT_EQ(at_a_zero_entry(0.5), 0);
  EXPECT_EQ(at_a_zero_entry(2), 0);
}

TEST_P(ReduceGradient, TooFewElementsGiveNaN) {
  for (const auto& f : {+[](const Tensor& x) { return var(x, {}, sample); },
                        +[](const Tensor& x) { return tally::std(x, {}, sample); }}) {
    const auto g = gradient(f, leaf({3}));
    ASSERT_EQ(g.size(), 1u);
    EXPECT_TRUE(std::isnan(g[0]));
    EXPECT_TRUE(std::isnan(recorded_gradient(f, leaf({3}))[0]));
  }
}

TEST_P(ReduceGradient, LogSumExpAtInfinities) {
  const auto f = [](const Tensor& x) { return logsumexp(x); };
  const auto both = [&](std::initializer_list<double> values, auto matcher) {
    EXPECT_THAT(gradient(f, leaf(values)), matcher);
    EXPECT_THAT(recorded_gradient(f, leaf(values)), matcher);
  };
  both({kInf, 1, kInf}, ElementsAre(0.5, 0, 0.5));
  both({-kInf, -kInf}, ElementsAre(0, 0));
  both({-kInf, 2}, ElementsAre(0, 1));
}

TEST_P(ReduceGradient, SecondOrderOfProdAtZeros) {
  // d²(abc)/da db = c, and so on: no division, so zeros are exact.
  const Tensor x = leaf({3, 0, 5}, float64);
  const Tensor first = grad({prod(x)}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(first.to_vector<double>(), ElementsAre(0, 15, 0));
  const auto row = [&](int i) {
    return grad({select(first, 0, i)}, {x}, {}, {.retain_graph = true})[0].to_vector<double>();
  };
  EXPECT_THAT(row(0), ElementsAre(0, 5, 0));
  EXPECT_THAT(row(1), ElementsAre(5, 0, 3));
  EXPECT_THAT(row(2), ElementsAre(0, 3, 0));
  EXPECT_THAT([](const Tensor& x) { return prod(x, 1); },
              PassesGradGradCheck(tensor({{0, 2, 3}, {0, 0, 4}, {1, 0.5, 2}}, on(float64))));
}

TEST_P(ReduceGradient, ProdOfExtremeFactors) {
  // The product of the others is in range although the way there is not.
  const auto g = gradient([](const Tensor& x) { return prod(x); }, leaf({1e30, 1e30, 1e-30, 1e-30}));
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(g[static_cast<std::size_t>(i)] / (i < 2 ? 1e-30 : 1e30), 1, 1e-6);
  EXPECT_EQ(prod(leaf({1e30, 1e30, 1e-30, 1e-30})).item<float>(), prod(leaf({1e-30, 1e-30, 1e30, 1e30})).item<float>());
  const auto with_nan = gradient([](const Tensor& x) { return prod(x); }, leaf({kNan, 0, 2}));
  EXPECT_EQ(with_nan[0], 0);
  EXPECT_TRUE(std::isnan(with_nan[1]));
}

struct Powers {
  const char* name;
  std::vector<int> exponents;
};
std::ostream& operator<<(std::ostream& out, const Powers& powers) { return out << powers.name; }

class ReduceGradientOfPowers : public test::OnDeviceWith<Powers> {};
TALLY_TEST_ON_DEVICES_WITH(ReduceGradientOfPowers, ::testing::Values(Powers{"there and back", {100, -100, 100, -100}},
                                                                     Powers{"over and back", {100, 100, -100, -100, 7}},
                                                                     Powers{"under and back", {-80, -80, 90, 0, 60}},
                                                                     Powers{"over", {120, 120, 120, -120, -120}},
                                                                     Powers{"with the least", {-149, 127, 127, -140}},
                                                                     Powers{"under", {40, -149, -149}}));

TEST_P(ReduceGradientOfPowers, SecondOrderOfProd) {
  // A product is a sum of exponents; the order of the factors does not matter, what they make together on the way does
  // not either.
  const auto power = [](int e) { return e > 127 ? kInf : e < -149 ? 0 : std::ldexp(1.0, e); };
  const std::vector<int>& e = which().exponents;
  std::vector<double> values;
  int all = 0;
  for (const int one : e) {
    values.push_back(power(one));
    all += one;
  }
  const int g = -30;
  const Tensor x = tensor(values).to(float32).to(device()).requires_grad_();
  const Tensor upstream = full({}, power(g), on()).requires_grad_();
  const Tensor first = grad({prod(x)}, {x}, {upstream}, {.create_graph = true})[0];
  const std::vector<double> slopes = first.to_vector<double>();
  for (std::size_t i = 0; i < e.size(); ++i) {
    EXPECT_EQ(slopes[i], power(g + all - e[i])) << i;
    const auto row = grad({select(first, 0, static_cast<std::int64_t>(i))}, {x, upstream}, {}, {.retain_graph = true});
    const std::vector<double> of_factors = row[0].to_vector<double>();
    for (std::size_t j = 0; j < e.size(); ++j)
      EXPECT_EQ(of_factors[j], i == j ? 0 : power(g + all - e[i] - e[j])) << i << " " << j;
    EXPECT_EQ(row[1].item<double>(), power(all - e[i])) << i;
  }
}

TEST_P(ReduceGradient, SecondOrderOfLongProdThatLeavesTheRange) {
  // Alternately large and small, in two lists beside each other: pairs of large ones first, then their products.
  constexpr int n = 600;
  std::vector<double> values;
  for (int i = 0; i < 2 * n; ++i) values.push_back(std::ldexp(1.0, i / 2 % 2 ? -90 : 90));
  const Tensor x = tensor(values, {n, 2}).to(float32).to(device()).requires_grad_();
  const Tensor first = grad({sum(prod(x, 0))}, {x}, {}, {.create_graph = true})[0];
  // Of the sum of all first derivatives of a list: sum over i != j of 2^-(e_i + e_j).
  const std::vector<double> second = grad({sum(narrow(first, 0, 0, 2))}, {x})[0].to_vector<double>();
  for (int j = 0; j < n; ++j) {
    const double expected = j > 1 && j % 2 ? kInf : 1;  // 1 + 2^-180, 1 + 2^180, and of the first two 1
    for (int list = 0; list < 2; ++list) EXPECT_EQ(second[static_cast<std::size_t>(2 * j + list)], expected) << j;
  }
}

TEST_P(ReduceGradient, SecondOrderOfProdAddsUpAndKeepsInfinitiesAndNaN) {
  // The sum of first derivatives of abc is ab + bc + ca.
  const auto second = [&](std::initializer_list<double> values) {
    const Tensor x = leaf(values);
    const Tensor first = grad({prod(x)}, {x}, {}, {.create_graph = true})[0];
    return grad({sum(first)}, {x})[0].to_vector<double>();
  };
  EXPECT_THAT(second({1, 0x1p-50, 0x1p-70}), ElementsAre(0x1p-50 + 0x1p-70, 1, 1));  // summands of other exponents
  EXPECT_THAT(second({kInf, 2, 3}), ElementsAre(5, kInf, kInf));
  EXPECT_THAT(second({0, kInf, 3}), ElementsAre(kInf, 3, kInf));
  const std::vector<double> with_nan = second({kNan, 2, 3});
  EXPECT_EQ(with_nan[0], 5);
  EXPECT_TRUE(std::isnan(with_nan[1]) && std::isnan(with_nan[2]));
}

TEST_P(ReduceGradient, SecondOrderAtZeroIsFinite) {
  for (const auto& f :
       {+[](const Tensor& x) { return norm(x); }, +[](const Tensor& x) { return norm(x, 3); },
        +[](const Tensor& x) { return tally::std(x); }, +[](const Tensor& x) { return logsumexp(x); }}) {
    const Tensor x = zeros({3}, on(float64)).requires_grad_();
    const Tensor first = grad({f(x)}, {x}, {}, {.create_graph = true})[0];
    if (!first.requires_grad()) continue;
    sum(first).backward();
    for (const double value : x.grad().to_vector<double>()) EXPECT_TRUE(std::isfinite(value));
  }
}

}  // namespace
}  // namespace tally
