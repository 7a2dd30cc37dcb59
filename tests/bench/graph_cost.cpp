// What the graph costs a small op on the CPU, in nanoseconds: how much longer a chain of ops on one element takes
// recorded than unrecorded, and its backward walk than the same gradient arithmetic without a graph.
//
//   tally_graph_cost [runs]     prints "op forward backward", the medians over runs
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <tally/autograd/backward.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/record.h>
#include <tally/core/parallel.h>
#include <tally/ops/binary.h>
#include <tally/ops/unary.h>

namespace {

using tally::Tensor;

constexpr int kChain = 1000;

double nanoseconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

Tensor same(const Tensor& x) { return Tensor(x.storage(), x.offset(), x.shape(), x.strides(), x.dtype()); }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// `op` once in the chain, and what its backward computes for one gradient.
void measure(const char* name, int runs, const std::function<Tensor(const Tensor&)>& op,
             const std::function<Tensor(const Tensor& grad)>& pull) {
  std::vector<double> forward, backward;
  for (int run = 0; run < runs; ++run) {
    const Tensor x = tally::ones({1}, {.requires_grad = true});
    const auto chain = [&](const std::function<Tensor(const Tensor&)>& f) {
      Tensor y = x;
      for (int i = 0; i < kChain; ++i) y = f(y);
      return y;
    };
    Tensor y;
    const double plain = nanoseconds([&] { tally::no_grad([&] { return chain(op); }); });
    const double arithmetic = nanoseconds([&] { tally::no_grad([&] { return chain(pull); }); });
    const double recorded = nanoseconds([&] { y = chain(op); });
    const double walked = nanoseconds([&] { y.backward(); }) + nanoseconds([&] { y = {}; });
    forward.push_back((recorded - plain) / kChain);
    backward.push_back((walked - arithmetic) / kChain);
  }
  std::printf("%-11s forward %6.0f  backward %6.0f  both %6.0f\n", name, median(forward), median(backward),
              median(forward) + median(backward));
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 201;
  tally::set_num_threads(1);
  const Tensor s = tally::full({1}, 0.999);
  // The graph alone: a view of the same memory, with nothing, its input or its result kept for backward.
  measure(
      "pass", runs,
      [](const Tensor& x) {
        return tally::record("pass", {x}, same(x), [](const Tensor& g) { return std::vector{g}; });
      },
      same);
  measure(
      "keep input", runs,
      [](const Tensor& x) {
        return tally::record("keep", {x}, same(x), tally::saving(x),
                             [](const Tensor& g, const Tensor&) { return std::vector{g}; });
      },
      same);
  measure(
      "keep result", runs,
      [](const Tensor& x) {
        return tally::record("keep", {x}, same(x), tally::saving(tally::output),
                             [](const Tensor& g, const Tensor&) { return std::vector{g}; });
      },
      same);
  // Ops that also keep memory from being used again.
  measure(
      "mul", runs, [&](const Tensor& x) { return tally::mul(x, s); },
      [&](const Tensor& g) { return tally::mul(g, s); });
  measure(
      "exp", runs, [](const Tensor& x) { return tally::exp(x); }, [&](const Tensor& g) { return tally::mul(g, s); });
}
