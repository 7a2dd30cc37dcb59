#include <tally/core/cpu_cache.h>
#include <tally/core/error.h>
#include <tally/nn/optimizer.h>
#include <tally/nn/schedule.h>
#include <tally/ops/view.h>

#include <fstream>
#include <memory>

#include <sys/resource.h>
#include <unistd.h>

#include "support.h"

namespace tally::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using OptimizerTest = OnEachDevice;
TALLY_ON_EACH_DEVICE(OptimizerTest);

/// Gradients that change sign and size from step to step.
std::vector<double> gradient_at(int step, const std::vector<double>& w) {
  std::vector<double> g;
  for (std::size_t i = 0; i < w.size(); ++i)
    g.push_back(w[i] * 0.5 + std::sin(static_cast<double>(step) * 1.7 + static_cast<double>(i)));
  return g;
}

// The formulas as PyTorch's documentation writes them, in plain double.
struct PlainSGD {
  SGDOptions o;
  double lr;
  std::vector<double> buffer;
  void step(std::vector<double>& w, const std::vector<double>& grad) {
    const bool first = buffer.empty();
    if (first) buffer.resize(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = grad[i] + o.weight_decay * w[i];
      if (o.momentum != 0) {
        buffer[i] = first ? g : o.momentum * buffer[i] + (1 - o.dampening) * g;
        g = o.nesterov ? g + o.momentum * buffer[i] : buffer[i];
      }
      w[i] -= lr * g;
    }
  }
};

struct PlainAdam {
  AdamOptions o;
  double lr;
  std::vector<double> m, v;
  int t = 0;
  void step(std::vector<double>& w, const std::vector<double>& grad) {
    m.resize(w.size());
    v.resize(w.size());
    ++t;
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = grad[i];
      if (o.decoupled)
        w[i] -= lr * o.weight_decay * w[i];
      else
        g += o.weight_decay * w[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      const double mhat = m[i] / (1 - std::pow(o.beta1, t)), vhat = v[i] / (1 - std::pow(o.beta2, t));
      w[i] -= lr * mhat / (std::sqrt(vhat) + o.eps);
    }
  }
};

template <class Plain, class Made> void expect_same_path(Device device, DType dtype, Plain plain, const Made& made) {
  std::vector<double> w{1, -2, 0.5, 3, 0, -0.25, 7};
  const Tensor p = tensor(w).to(dtype).to(device).requires_grad_();
  const std::unique_ptr<Optimizer> optimizer = made(NamedTensors{{"w", p}});
  for (int step = 1; step <= 20; ++step) {
    const std::vector<double> grad = gradient_at(step, w);
    p.set_grad(tensor(grad).to(dtype).to(device));
    optimizer->step();
    plain.step(w, grad);
    ASSERT_TRUE(near(p, w, dtype == float64 ? 1e-13 : 2e-6)) << "step " << step;
    ASSERT_EQ(p.dtype(), dtype);
  }
}

TEST_P(OptimizerTest, SGDMatchesPlainDoubles) {
  for (const DType dtype : {float64, float32})
    for (const SGDOptions& o : {SGDOptions{}, SGDOptions{.weight_decay = 0.1}, SGDOptions{.momentum = 0.9},
                                SGDOptions{.momentum = 0.9, .dampening = 0.3, .weight_decay = 0.01},
                                SGDOptions{.momentum = 0.8, .weight_decay = 0.01, .nesterov = true}})
      expect_same_path(device, dtype, PlainSGD{o, 0.05, {}},
                       [&](const NamedTensors& p) { return std::make_unique<SGD>(p, 0.05, o); });
}

TEST_P(OptimizerTest, AdamMatchesPlainDoubles) {
  for (const DType dtype : {float64, float32})
    for (const AdamOptions& o : {AdamOptions{}, AdamOptions{.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3},
                                 AdamOptions{.weight_decay = 0.1}, AdamOptions{.weight_decay = 0.1, .decoupled = true}})
      expect_same_path(device, dtype, PlainAdam{o, 0.01, {}, {}, 0},
                       [&](const NamedTensors& p) { return std::make_unique<Adam>(p, 0.01, o); });
}

TEST_P(OptimizerTest, B56EpsComesAfterTheBiasCorrection) {
  const Tensor w = make({1}, float64).requires_grad_();
  Adam adam({{"w", w}}, 0.1);
  w.set_grad(make({1e-8}, float64));
  adam.step();
  EXPECT_NEAR(w.item<double>(), 0.95, 1e-12);
}

TEST_P(OptimizerTest, B57AStepWithoutGradientIsSkippedAndCountsNowhere) {
  const Tensor w = make({1}, float64).requires_grad_(), other = make({1}, float64).requires_grad_();
  Adam adam({{"w", w}, {"other", other}}, 0.1);
  double before = 1;
  for (int step = 1; step <= 5; ++step) {
    w.zero_grad();
    if (step != 2) w.set_grad(make({0.5}, float64));
    adam.step();
    const double now = w.item<double>();
    EXPECT_EQ(now != before, step != 2) << "step " << step;
    before = now;
  }
  const NamedTensors state = adam.state();
  ASSERT_EQ(state.size(), 3u);  // nothing of `other`, which never had a gradient
  EXPECT_EQ(state[0].name, "w.step");
  EXPECT_EQ(state[0].tensor.item<std::int64_t>(), 4);
  EXPECT_EQ(other.item<double>(), 1);
}

TEST_P(OptimizerTest, StateGoesOnBitForBit) {
  const auto run = [&](bool broken_off) {
    const Tensor w = make({1, -2, 3}).requires_grad_();
    std::unique_ptr<Optimizer> optimizer = std::make_unique<Adam>(NamedTensors{{"w", w}}, 0.1);
    for (int step = 1; step <= 6; ++step) {
      if (broken_off && step == 4) {
        NamedTensors state;
        for (const NamedTensor& one : optimizer->state())
          state.push_back({one.name, one.tensor.to(Device::cpu).clone()});
        optimizer = std::make_unique<Adam>(NamedTensors{{"w", w}}, 0.1);
        optimizer->load_state(state);
      }
      w.set_grad(make(gradient_at(step, {1, 2, 3})));
      optimizer->step();
    }
    return w.to_vector<float>();
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(OptimizerState, WhatDoesNotFitIsRefusedWhole) {
  const Tensor w = ones({3}, {.requires_grad = true});
  SGD sgd({{"w", w}}, 0.1, {.momentum = 0.9});
  w.set_grad(ones({3}));
  sgd.step();
  const NamedTensors good = sgd.state();
  const auto refused = [&](NamedTensors state) { return message_of<ValueError>([&] { sgd.load_state(state); }); };
  EXPECT_THAT(refused({good[0]}), HasSubstr("w.momentum_buffer"));
  EXPECT_THAT(refused({good[0], {"w.momentum_buffer", zeros({4})}}), HasSubstr("float32 [4]"));
  EXPECT_THAT(refused({good[0], good[1], {"v.step", good[0].tensor}}), HasSubstr("v.step"));
  EXPECT_EQ(sgd.state()[0].tensor.item<std::int64_t>(), 1);
  EXPECT_TRUE(near(sgd.state()[1].tensor, {1, 1, 1}));
}

TEST(Optimizer, RefusesWhatItCannotUpdate) {
  const Tensor w = ones({3}, {.requires_grad = true});
  EXPECT_THROW(SGD({{"w", w}, {"v", w}}, 0.1), ValueError);
  EXPECT_THAT(message_of<ValueError>([] { SGD(NamedTensors(), 0.1); }), HasSubstr("visit()"));
  EXPECT_THROW(SGD({{"w", ones({3})}}, 0.1), ValueError);
  EXPECT_THAT(message_of<ValueError>([&] {
                SGD({{"w", w}}, -0.1);
              }),
              HasSubstr("the learning rate is -0.1; it has to be finite and not negative"));
  EXPECT_THROW(SGD({{"w", w}}, 0.1, {.nesterov = true}), ValueError);
  EXPECT_THAT(message_of<ValueError>([&] {
                SGD({{"w", w}}, 0.1, {.momentum = -0.5});
              }),
              HasSubstr("SGD: momentum is -0.5; it has to be 0 or more"));
  EXPECT_THAT(message_of<ValueError>([&] {
                Adam({{"w", w}}, 0.1, {.beta1 = 1});
              }),
              HasSubstr("Adam: beta1 is 1; it has to be in [0, 1)"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their allocators end the process
TEST(Optimizer, AStepThatFindsNoMemoryChangesNothing) {
  const Shape shape{std::int64_t{1} << 24};  // 64 MiB
  const Tensor w = ones(shape, {.requires_grad = true});
  w.set_grad(ones(shape));
  Adam adam({{"w", w}}, 0.1);
  tally::detail::empty_cpu_cache();
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit one_moment{pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + (96u << 20), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &one_moment), 0);
  EXPECT_THROW(adam.step(), OutOfMemoryError);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_TRUE(adam.state().empty());
  adam.step();
  EXPECT_EQ(adam.state().size(), 3u);
  EXPECT_NEAR(select(w, 0, 0).item<double>(), 0.9, 1e-6);
}
#endif

TEST_P(OptimizerTest, StepsAreBitEqualOnBothDevices) {
  Generator generator(4);
  Tensor w = empty({1000}), g = empty({1000});
  fill_normal(w, generator);
  fill_normal(g, generator);
  const auto run = [&](Device where, bool adam) {
    const Tensor p = w.clone().to(where).requires_grad_();
    std::unique_ptr<Optimizer> optimizer;
    if (adam)
      optimizer = std::make_unique<Adam>(NamedTensors{{"p", p}}, 0.01, AdamOptions{.weight_decay = 0.1});
    else
      optimizer = std::make_unique<SGD>(NamedTensors{{"p", p}}, 0.01, SGDOptions{.momentum = 0.9, .nesterov = true});
    for (int step = 0; step < 5; ++step) {
      p.set_grad((g * (1.0 + step)).to(where));
      optimizer->step();
    }
    return p.to_vector<float>();
  };
  for (const bool adam : {true, false}) EXPECT_EQ(run(device, adam), run(Device::cpu, adam));
}

TEST_P(OptimizerTest, ManyParametersAtOnce) {
  NamedTensors parameters;
  for (int i = 0; i < 100; ++i) {
    parameters.push_back({std::to_string(i), full({1 + 37 * i}, i, {.device = device, .requires_grad = true})});
    if (i % 3) parameters.back().tensor.set_grad(ones({1 + 37 * i}, {.device = device}));
  }
  SGD sgd(parameters, 0.5);
  sgd.step();
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(near(parameters[static_cast<std::size_t>(i)].tensor,
                     std::vector<double>(static_cast<std::size_t>(1 + 37 * i), i % 3 ? i - 0.5 : i)));
}

TEST(Schedule, CosineByHand) {
  const CosineSchedule schedule{.base = 0.2, .total_steps = 4, .min = 0.1};
  EXPECT_DOUBLE_EQ(schedule(0), 0.2);
  EXPECT_NEAR(schedule(1), 0.1 + 0.05 * (1 + std::sqrt(0.5)), 1e-15);
  EXPECT_NEAR(schedule(2), 0.15, 1e-15);
  EXPECT_DOUBLE_EQ(schedule(4), 0.1);
  EXPECT_DOUBLE_EQ(schedule(9), 0.1);
  EXPECT_DOUBLE_EQ(ConstantSchedule{0.3}(1000), 0.3);
}

}  // namespace
}  // namespace tally::nn
