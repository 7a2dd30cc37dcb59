// What lives how long: long chains, cycles, leaks, threads (B46, B50, B53).
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

#include <tally/tests/support/small_stack.h>

namespace tally {
namespace {

constexpr int kLong = 200'000;

// Nothing may be left of what a test built.
class Lifetime : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(live_nodes(), nodes_);
    EXPECT_EQ(live_cpu_bytes(), bytes_);
  }
  std::int64_t nodes_ = live_nodes(), bytes_ = live_cpu_bytes();
};

Tensor long_sum(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < kLong; ++i) y = y + 0;
  return y;
}
Tensor long_product(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < kLong; ++i) y = y * y;
  return y;
}
// Each op keeps its own result: the chain hangs on saved tensors alone where the edge is dropped first.
Tensor long_tanh(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < kLong; ++i) y = tanh(y);
  return y;
}

TEST_F(Lifetime, LongChainsAreDroppedOnASmallStack) {
  test::on_small_stack([] {
    const Tensor x = ones({1}, {.requires_grad = true});
    for (auto* chain : {long_sum, long_product, long_tanh}) {
      const std::int64_t before = live_nodes();
      {
        const Tensor y = chain(x);
        EXPECT_EQ(live_nodes(), before + kLong);
      }
      EXPECT_EQ(live_nodes(), before);
    }
  });
}

TEST_F(Lifetime, LongChainsAreWalkedOnASmallStack) {
  test::on_small_stack([] {
    const Tensor x = ones({1}, {.requires_grad = true});
    long_sum(x).backward();
    EXPECT_EQ(x.grad().item<float>(), 1);
    x.zero_grad();
    {
      const Tensor y = long_product(x);
      y.backward({.retain_graph = true});  // 2^200000 overflows; the graph stays until here
    }
    EXPECT_TRUE(std::isinf(x.grad().item<float>()));
    x.zero_grad();
    long_tanh(x).backward();
    EXPECT_TRUE(std::isfinite(x.grad().item<float>()));
  });
}

TEST_F(Lifetime, AChainDroppedFromTheOutsideIn) {
  const Tensor x = ones({1}, {.requires_grad = true});
  std::vector<Tensor> all{x * 1};
  for (int i = 0; i < 20'000; ++i) all.push_back(all.back() * all.back());
  all.erase(all.begin(), all.end() - 1);  // the last one holds the rest
  test::on_small_stack([&] { all.clear(); });
}

TEST_F(Lifetime, SavedResultsFormNoCycle) {  // B50
  for (int i = 0; i < 10'000; ++i) {
    const Tensor x = ones({4}, {.requires_grad = true});
    const Tensor y = record("keeps_itself", {x}, no_grad([&] { return x * 2; }), saving(x, output),
                            [](const Tensor& g, const Tensor&, const Tensor&) { return std::vector{2 * g}; });
    const Tensor z = sum(exp(y) * norm(y));
  }
}

TEST_F(Lifetime, GraphsWalkedWithCreateGraphGo) {
  for (int i = 0; i < 1000; ++i) {
    const Tensor x = full({2}, 1.5, {.dtype = float64, .requires_grad = true});
    const Tensor first = grad({sum(x * x * x)}, {x}, {}, {.create_graph = true})[0];
    sum(first).backward();
  }
}

// A tensor whose gradient holds it would never go.
TEST_F(Lifetime, AGradientWhoseHistoryHoldsTheTensorIsRefused) {  // B50
  for (int i = 0; i < 100; ++i) {
    const Tensor x = ones({4}, {.requires_grad = true}), z = ones({4}, {.requires_grad = true});
    EXPECT_THROW(x.set_grad(exp(x * 2)), AutogradError);
    EXPECT_FALSE(x.grad().defined());
    // Not an input that takes a gradient, but kept for backward.
    const Tensor kept = ones({4}), product = kept * x;
    kept.requires_grad_();
    EXPECT_THROW(kept.set_grad(product), AutogradError);
    // Through the gradient of another one.
    z.set_grad(x * 2);
    EXPECT_THROW(x.set_grad(z * 3), AutogradError);
    z.zero_grad();
    // What does not hold it is fine, with a history too.
    x.set_grad(z * 3);
    EXPECT_TRUE(x.grad().requires_grad());
    x.set_grad(exp(x).detach());
  }
}

TEST_F(Lifetime, TheHistoryOfAGradientMayBeLong) {
  const Tensor x = ones({1}, {.requires_grad = true}), y = ones({1}, {.requires_grad = true});
  test::on_small_stack([&] { EXPECT_THROW(x.set_grad(long_product(x)), AutogradError); });
  test::on_small_stack([&] { y.set_grad(long_product(x)); });
}

TEST_F(Lifetime, BackwardFreesWhatWasSaved) {
  const Tensor x = ones({1000}, {.requires_grad = true});
  const std::int64_t before = live_cpu_bytes();
  const Tensor loss = sum(exp(exp(x)));
  EXPECT_GE(live_cpu_bytes() - before, 2 * 4000);
  loss.backward();
  EXPECT_LE(live_cpu_bytes() - before, 4000 + 64);  // the gradient and the loss
}

TEST_F(Lifetime, ThrowingBackwardLeaksNothing) {
  for (int i = 0; i < 100; ++i) {
    const Tensor x = ones({4}, {.requires_grad = true});
    const Tensor y = record("throws", {x}, no_grad([&] { return x * 2; }), saving(x, output),
                            [](const Tensor&, const Tensor&, const Tensor&) -> std::vector<Tensor> { throw 1; });
    EXPECT_THROW(sum(exp(y)).backward(), int);
  }
}

TEST_F(Lifetime, NoGradIsAFlagOfEachThread) {  // B53
  const Tensor x = ones({1}, {.requires_grad = true});
  NoGrad guard;
  EXPECT_FALSE((x * 2).requires_grad());
  std::thread([&] {
    EXPECT_TRUE(grad_enabled());  // documented: a new thread records
    EXPECT_TRUE((x * 2).requires_grad());
    NoGrad guard;
    const std::int64_t nodes = live_nodes();
    Tensor y = x;
    for (int i = 0; i < 10'000; ++i) y = y * x;
    EXPECT_EQ(live_nodes(), nodes);
    EXPECT_FALSE(y.requires_grad());
  }).join();
  EXPECT_FALSE(grad_enabled());
}

TEST_F(Lifetime, TheFlagComesBackAfterAThrow) {
  try {
    NoGrad guard;
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_THROW(no_grad([]() -> int { throw std::runtime_error("out"); }), std::runtime_error);
  EXPECT_TRUE(grad_enabled());
  {
    NoGrad outer;
    {
      GradMode inner(true);
      EXPECT_TRUE(grad_enabled());
    }
    EXPECT_FALSE(grad_enabled());
  }
}

TEST_F(Lifetime, ThreadsBuildAndWalkGraphsThatShareLeaves) {
  const Tensor x = full({100}, 3, {.requires_grad = true});
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (std::size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Tensor g = grad({sum(x * x * static_cast<double>(t + 1))}, {x})[0];
        right[t] += g.to_vector<float>() == std::vector<float>(100, 6.0f * static_cast<float>(t + 1));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, ::testing::Each(200));
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(Lifetime, ThreadsDropPartsOfOneGraph) {
  const Tensor x = ones({1}, {.requires_grad = true});
  const Tensor trunk = x * 2;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) Tensor branch = trunk * trunk + x;
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tally
