#include <tally/tests/bench/work.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>

#include <tally/autograd/no_grad.h>
#include <tally/core/cuda/device.h>
#include <tally/core/parallel.h>
#include <tally/core/random.h>
#include <tally/examples/support/textbook.h>
#include <tally/nn/clip.h>
#include <tally/nn/normalization.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/scan.h>
#include <tally/ops/softmax.h>
#include <tally/ops/view.h>
#include <tally/tests/bench/peers.h>

namespace tally::bench {
namespace {

using Op = Tensor (*)(const Tensor& x, const Case& one);
using Clock = std::chrono::steady_clock;

std::int64_t one_dim(const Case& c) { return c.dims.empty() ? 0 : c.dims[0]; }

/// Rows as the gradients of as many parameters, clipped each time: one element more is made large before.
Tensor clip_rows(const Tensor& x, const Case&) {
  const Tensor large = full({1}, 1e6, {.dtype = x.dtype(), .device = x.device()});
  nn::NamedTensors parameters{{"large", large.detach()}};
  parameters[0].tensor.set_grad(large);
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    parameters.push_back({"row " + std::to_string(i), select(x.detach(), 0, i)});
    parameters.back().tensor.set_grad(select(x, 0, i));
  }
  return nn::clip_grad_norm_(parameters, 1);
}

const std::map<std::string, Op>& ops() {
  static const std::map<std::string, Op> table = {
    {"sum", [](const Tensor& x, const Case& c) { return sum(x, c.reduced()); }},
    {"mean", [](const Tensor& x, const Case& c) { return mean(x, c.reduced()); }},
    {"prod", [](const Tensor& x, const Case& c) { return prod(x, c.reduced()); }},
    {"max", [](const Tensor& x, const Case& c) { return max(x, c.reduced()); }},
    {"amax", [](const Tensor& x, const Case& c) { return amax(x, c.reduced()); }},
    {"amin", [](const Tensor& x, const Case& c) { return amin(x, c.reduced()); }},
    {"max_idx", [](const Tensor& x, const Case& c) { return max_with_index(x, c.reduced()).values; }},
    {"argmax", [](const Tensor& x, const Case& c) { return argmax(x, c.reduced()); }},
    {"any", [](const Tensor& x, const Case& c) { return any(x, c.reduced()); }},
    {"all", [](const Tensor& x, const Case& c) { return tally::all(x, c.reduced()); }},
    {"norm", [](const Tensor& x, const Case& c) { return norm(x, 2, c.reduced()); }},
    {"var", [](const Tensor& x, const Case& c) { return var(x, c.reduced()); }},
    {"std", [](const Tensor& x, const Case& c) { return tally::std(x, c.reduced()); }},
    {"var_mean", [](const Tensor& x, const Case& c) { return var_mean(x, c.reduced()).var; }},
    {"logsumexp", [](const Tensor& x, const Case& c) { return logsumexp(x, c.reduced()); }},
    {"cumsum", [](const Tensor& x, const Case& c) { return cumsum(x, one_dim(c)); }},
    {"softmax", [](const Tensor& x, const Case& c) { return softmax(x, c.reduced()); }},
    {"log_softmax", [](const Tensor& x, const Case& c) { return log_softmax(x, c.reduced()); }},
    {"layer_norm", [](const Tensor& x, const Case&) { return layer_norm(x, {x.size(-1)}); }},
    {"clip", clip_rows},
    {"naive_sum", [](const Tensor& x, const Case&) { return examples::naive_sum(x); }},
#if defined(TALLY_WITH_CUDA)
    {"block_sum", [](const Tensor& x, const Case&) { return examples::block_sum(x); }},
#endif
  };
  return table;
}

#if defined(TALLY_BENCH_CUB)
const std::map<std::string, Cub> kCub = {
    {"cub_sum", Cub::sum}, {"cub_max", Cub::max}, {"cub_argmax", Cub::argmax}, {"cub_squares", Cub::squares}};

/// Scratch and result are allocated once, outside of what is measured.
std::function<void(const Tensor&)> cub_work(const Case& one) {
  const auto bytes = [](std::size_t count) {
    return empty({static_cast<std::int64_t>(count)}, {.dtype = uint8, .device = cuda});
  };
  if (one.dims.empty()) {
    const Cub what = kCub.at(one.op);
    const Tensor scratch = bytes(cub_scratch(what, one.shape.numel())), result = empty({4}, {.device = cuda});
    return [=](const Tensor& x) { cub(what, x, result, scratch); };
  }
  if (one.op != "cub_sum" || one.shape.size() != 2 || one.dims[0] != 1)
    throw std::invalid_argument("CUB is timed on all elements, and its sum on rows");
  const Tensor scratch = bytes(cub_rows_scratch(one.shape[0], one.shape[1])),
               result = empty({one.shape[0]}, {.device = cuda});
  return [=](const Tensor& x) { cub_rows(x, result, scratch); };
}
#endif

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void wait_for(Device device) {
  if constexpr (kHasCuda)
    if (device == cuda) gpu::synchronize();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/// Standard normals of a dtype, `count` of them on `device`.
Tensor drawn(std::int64_t count, DType dtype, Device device) {
  Tensor x = empty({count}, {.dtype = is_floating(dtype) ? dtype : float32, .device = device});
  fill_normal(x, default_generator());
  return is_floating(dtype) ? x : x.to(dtype);
}

/// The case's input at place `offset` of a row of numbers.
Tensor view_at(const Tensor& numbers, const Case& one, std::int64_t offset) {
  return Tensor(numbers.storage(), numbers.offset() + offset, one.shape, contiguous_strides(one.shape), one.dtype);
}

/// Runs `batch` (of `calls` calls) until the time is up, at least five times; the median of a call.
Timing sample(const std::function<void()>& batch, int calls, double budget) {
  std::vector<double> samples;
  const Clock::time_point start = Clock::now();
  while (samples.size() < 5 || (seconds_since(start) < budget && samples.size() < 1000)) {
    const Clock::time_point begin = Clock::now();
    batch();
    samples.push_back(seconds_since(begin) / calls);
  }
  return {median(samples) * 1e6, *std::min_element(samples.begin(), samples.end()) * 1e6,
          static_cast<int>(samples.size()) * calls};
}

/// Seconds of one call, the first (which may load and allocate) left out.
double estimate(const std::function<void()>& call) {
  call();
  const Clock::time_point start = Clock::now();
  call();
  return std::max(seconds_since(start), 1e-7);
}

/// Inputs that together exceed the L2 cache, each with the case's offset, so that a call finds none of its own there.
std::vector<Tensor> rotation(const Case& one, Device device) {
#if defined(TALLY_SIMT)
  constexpr std::int64_t kPastCache = 1 << 10;
#else
  constexpr std::int64_t kPastCache = std::int64_t{256} << 20;
#endif
  const std::int64_t most = 256, wanted = kPastCache / std::max<std::int64_t>(one.bytes(), 1) + 1;
  const std::int64_t count = device == cpu || one.backward ? 1 : std::min(most, wanted);
  // Each begins at a multiple of 256 bytes, but for the offset.
  const std::int64_t step = (one.shape.numel() + one.offset + 255) / 256 * 256;
  const Tensor numbers = drawn(step * count + one.offset, one.dtype, device);
  std::vector<Tensor> inputs;
  for (std::int64_t i = 0; i < count; ++i) inputs.push_back(view_at(numbers, one, i * step + one.offset));
  return inputs;
}

#if defined(TALLY_WITH_CUDA)
Timing measure_graph(const std::function<void(const Tensor&)>& work, const std::vector<Tensor>& inputs, double budget) {
  const double one = estimate([&] {
    work(inputs[0]);
    gpu::synchronize();
  });
#if defined(TALLY_SIMT)
  const int calls = 2;
  (void)one;
#else
  const int calls = static_cast<int>(std::clamp(budget / 20 / one, 4.0, 1000.0));
#endif
  gpu::Graph graph = gpu::capture([&] {
    for (int i = 0; i < calls; ++i) work(inputs[static_cast<std::size_t>(i) % inputs.size()]);
  });
  graph.replay();
  gpu::synchronize();
  return sample(
      [&] {
        graph.replay();
        gpu::synchronize();
      },
      calls, budget);
}
#endif

}  // namespace

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const auto& [name, op] : ops()) names.push_back(name);
#if defined(TALLY_BENCH_CUB)
  for (const auto& [name, what] : kCub) names.push_back(name);
#endif
  return names;
}

std::function<void(const Tensor&)> work_of(const Case& one, Device device) {
#if defined(TALLY_BENCH_CUB)
  if (kCub.count(one.op)) {
    if (device != cuda || one.dtype != float32) throw std::invalid_argument("CUB is timed on cuda in float32");
    return cub_work(one);
  }
#endif
  const auto found = ops().find(one.op);
  if (found == ops().end()) {
    std::string names;
    for (const std::string& name : op_names()) names += " " + name;
    throw std::invalid_argument("'" + one.op + "' is not one of" + names);
  }
  const Op op = found->second;
  if (!one.backward) return [op, one](const Tensor& x) { op(x, one); };
  const Tensor cotangent = ones(op(zeros(one.shape, {.dtype = one.dtype, .device = device}), one).shape(),
                                {.dtype = one.dtype, .device = device});
  return [op, one, cotangent](const Tensor& x) {
    x.requires_grad_();
    op(x, one).backward(cotangent);
    x.zero_grad();
  };
}

Timing measure(const Case& one, Device device, double budget) {
  const auto work = work_of(one, device);
  const std::vector<Tensor> inputs = rotation(one, device);
#if defined(TALLY_WITH_CUDA)
  if (device == cuda && !one.backward) return measure_graph(work, inputs, budget);
#endif
  const auto call = [&] { work(inputs[0]); };
  const double each = estimate([&] {
    call();
    wait_for(device);
  });
  const int calls = static_cast<int>(std::clamp(budget / 50 / each, 1.0, 100000.0));
  return sample(
      [&] {
        for (int i = 0; i < calls; ++i) call();
        wait_for(device);
      },
      calls, budget);
}

double read_ceiling(std::int64_t bytes, Device device, double budget) {
  static std::map<std::pair<std::int64_t, Device>, double> known;
  if (const auto found = known.find({bytes, device}); found != known.end()) return found->second;
  Case one;
  one.shape = {std::max<std::int64_t>(bytes / 4, 4)};
  const std::vector<Tensor> inputs = rotation(one, device);
  double us = 0;
  if (device == cuda) {
#if defined(TALLY_WITH_CUDA)
    const Tensor sink = zeros({4}, {.device = cuda});
    us = measure_graph([&](const Tensor& x) { plain_read(x, sink); }, inputs, budget).microseconds;
#endif
  } else {
    const auto* words = static_cast<const std::uint32_t*>(inputs[0].raw());
    volatile std::uint32_t sink = 0;
    const auto read = [&] {
      parallel_for(one.shape.numel(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
        std::uint32_t together = 0;
        for (std::int64_t i = begin; i < end; ++i) together |= words[i];
        sink = together;
      });
    };
    const int calls = static_cast<int>(std::clamp(budget / 50 / estimate(read), 1.0, 100000.0));
    us = sample(
             [&] {
               for (int i = 0; i < calls; ++i) read();
             },
             calls, budget)
             .microseconds;
  }
  return known[{bytes, device}] = static_cast<double>(one.bytes()) / us / 1e3;
}

}  // namespace tally::bench
