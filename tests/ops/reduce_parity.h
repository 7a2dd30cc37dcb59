// Every reduction on both devices, forward and backward, below its front end: the same bits are asked for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <tally/core/cuda/device.h>
#include <tally/core/raw.h>
#include <tally/ops/reduce_backend.h>
#include <tally/ops/results.h>
#include <tally/tests/support/devices.h>

namespace tally::test {

// The list of ops itself, and further settings of those that have some.
template <std::size_t... I> std::vector<Reduction> each_alternative(std::index_sequence<I...>) {
  return {Reduction(std::in_place_index<I>)...};
}
inline std::vector<Reduction> all_reductions() {
  auto ops = each_alternative(std::make_index_sequence<std::variant_size_v<Reduction>>());
  ops.push_back(NormP{-1.5});
  ops.push_back(Var{.correction = 1});
  return ops;
}

// A view of random memory, twice.
struct Twins {
  Tensor on_cpu, on_cuda;
};

enum class Values { ordinary, awkward };
// In long lists awkward values would make every result NaN.
inline Values for_length(std::int64_t n) { return n < 200 ? Values::awkward : Values::ordinary; }

inline std::vector<double> draw(std::int64_t count, DType dtype, Values values, unsigned seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double awkward[] = {0, -0.0, 1e-40, -1e-40, 3e38, -3e38, 1e-30, kInfinity, -kInfinity, std::nan(""), 1, 1};
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0.5, 2);
  std::uniform_int_distribution<int> any(0, 999);
  std::vector<double> drawn(static_cast<std::size_t>(count));
  for (double& x : drawn) {
    x = is_floating(dtype) ? normal(engine) : any(engine) % 7 - (dtype == uint8 ? 0 : 3);
    if (values == Values::awkward && is_floating(dtype) && any(engine) < 30) x = awkward[any(engine) % 12];
  }
  return drawn;
}

inline Twins twins(const std::vector<double>& memory, DType dtype, const Shape& shape, const Shape& strides,
                   std::int64_t offset) {
  const auto room = static_cast<std::int64_t>(memory.size());
  const Tensor host = empty({room}, {.dtype = dtype});
  raw::copy(host, tensor(memory));
  const Tensor device = from_bytes(host.raw(), dtype, {room}, Device::cuda, Where::here());
  return {Tensor(host.storage(), offset, shape, strides, dtype),
          Tensor(device.storage(), offset, shape, strides, dtype)};
}
inline Twins twins(DType dtype, const Shape& shape, const Shape& strides, std::int64_t offset, Values values,
                   unsigned seed = 1) {
  std::int64_t room = offset + 1;
  for (int d = 0; d < shape.size(); ++d) room += std::max<std::int64_t>(shape[d] - 1, 0) * strides[d];
  return twins(draw(room, dtype, values, seed), dtype, shape, strides, offset);
}

inline std::vector<unsigned char> bytes_of(const Tensor& x) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(x.numel()) * size_of(x.dtype()));
  if (bytes.empty()) return bytes;
  if constexpr (kHasCuda)
    if (x.device() == Device::cuda) {
      gpu::copy_to_host(bytes.data(), x.raw(), bytes.size());
      return bytes;
    }
  std::memcpy(bytes.data(), x.raw(), bytes.size());
  return bytes;
}

// Equal bits, any NaN for any NaN.
inline testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() && !b.defined()) return testing::AssertionSuccess();
  const auto left = bytes_of(a), right = bytes_of(b);
  return visit(a.dtype(), [&](auto tag) -> testing::AssertionResult {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < left.size(); i += sizeof(T)) {
      if (std::memcmp(&left[i], &right[i], sizeof(T)) == 0) continue;
      if constexpr (is_float_type<T>) {
        T x, y;
        std::memcpy(static_cast<void*>(&x), &left[i], sizeof x);
        std::memcpy(static_cast<void*>(&y), &right[i], sizeof y);
        const double p = convert<double>(x), q = convert<double>(y);
        if (std::isnan(p) && std::isnan(q)) continue;
        return testing::AssertionFailure() << "element " << i / sizeof(T) << ": " << p << " and " << q;
      } else {
        return testing::AssertionFailure()
               << "element " << i / sizeof(T) << ": byte " << int(left[i]) << " and " << int(right[i]);
      }
    }
    return testing::AssertionSuccess();
  });
}

inline const char* name_of_op(const Reduction& op) {
  return std::visit([](const auto& one) { return std::decay_t<decltype(one)>::name; }, op);
}

// Dense memory in which an element that was not written shows.
inline Tensor poisoned(std::int64_t count, DType dtype, Device device) {
  const Tensor x = empty({count}, {.dtype = dtype, .device = device});
  const Tensor bytes(x.storage(), 0, {count * static_cast<std::int64_t>(size_of(dtype))}, {1}, uint8);
  raw::fill(bytes, 0xA5);
  return x;
}

struct Outcome {
  bool accepted = false;
  ReduceCall call;
};

inline Outcome run(const Reduction& op, const Tensor& x, const Dims& dims) {
  const ReducePlan plan = plan_reduction("test", x, dims, {}, Where::here());
  Outcome outcome{.call = {.x = x, .lists = plan.lists, .first = {}, .second = {}, .accumulators = {}}};
  std::visit(
      [&](const auto& one) {
        visit(x.dtype(), [&](auto tag) {
          using Op = std::decay_t<decltype(one)>;
          using T = typename decltype(tag)::type;
          if constexpr (op_accepts<Op, T>()) {
            using Out = Results<Op, T>;
            if (!Fold<Op, Compute<T>>::has_identity && plan.lists.length() == 0) return;
            outcome.accepted = true;
            const std::int64_t lists = plan.lists.outputs();
            outcome.call.first = poisoned(lists, dtype_of<typename Out::First>(), x.device());
            if constexpr (requires(typename Out::Projected p) { p.second; })
              outcome.call.second = poisoned(lists, dtype_of<typename Out::Second>(), x.device());
            outcome.call.accumulators =
                poisoned(lists * static_cast<std::int64_t>(sizeof(typename Out::Acc)), uint8, x.device());
          }
        });
      },
      op);
  if (outcome.accepted && plan.lists.outputs() > 0)
    on(x.device(), [&](auto backend) { reduce(backend, op, outcome.call); });
  return outcome;
}

inline bool has_slope(const Reduction& op) {
  return std::visit([](const auto& one) { return Slope<std::decay_t<decltype(one)>, float>::exists; }, op);
}

inline Tensor gradient(const Reduction& op, const Outcome& forward, const Dims& dims, unsigned seed) {
  const Tensor& x = forward.call.x;
  const ReducePlan plan = plan_reduction("test", x, dims, {}, Where::here());
  const std::int64_t lists = plan.lists.outputs();
  const Tensor upstream = empty({lists}, {.dtype = x.dtype()});
  raw::copy(upstream, tensor(draw(lists, x.dtype(), Values::ordinary, seed)));
  const Tensor grad = from_bytes(upstream.raw(), x.dtype(), {lists}, x.device(), Where::here());
  const Tensor flat = poisoned(x.numel(), x.dtype(), x.device());
  const Tensor gx(flat.storage(), 0, x.shape(), contiguous_strides(x.shape()), x.dtype());
  const ReduceBackwardCall call{
      plan_backward(x, plan.kept_shape), plan.lists.length(), x, grad, forward.call.accumulators, gx};
  on(x.device(), [&](auto backend) {
    if (std::holds_alternative<Prod>(op))
      prod_backward(backend, call, plan.lists);
    else
      reduce_backward(backend, op, call);
  });
  return flat;
}

class ReduceParity : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_available(Device::cuda)) GTEST_SKIP() << gpu::describe();
  }

  // All ops on one view, forward and backward.
  void check(const Twins& x, const Dims& dims, bool backward = false) {
    for (const Reduction& op : all_reductions()) {
      const Outcome a = run(op, x.on_cpu, dims), b = run(op, x.on_cuda, dims);
      ASSERT_EQ(a.accepted, b.accepted);
      if (!a.accepted) continue;
      const auto what = [&] {
        return std::string(name_of_op(op)) + " (" + std::to_string(op.index()) + ") of " + describe(x.on_cpu);
      };
      ASSERT_TRUE(same_bits(a.call.first, b.call.first)) << what();
      ASSERT_TRUE(same_bits(a.call.second, b.call.second)) << what() << ", second result";
      const bool differentiable = is_floating(x.on_cpu.dtype()) && (has_slope(op) || std::holds_alternative<Prod>(op));
      if (!backward || !differentiable || x.on_cpu.numel() == 0) continue;
      ASSERT_TRUE(same_bits(gradient(op, a, dims, 7), gradient(op, b, dims, 7))) << what() << ", gradient";
    }
  }
};

}  // namespace tally::test
