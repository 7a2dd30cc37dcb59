// Every reduction gives the same bits on CPU and CUDA, whatever the layout and however the kernels cut the work.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <tally/core/cuda/device.h>
#include <tally/core/raw.h>
#include <tally/ops/reduce.h>
#include <tally/ops/reduce_backend.h>
#include <tally/ops/results.h>
#include <tally/tests/support/devices.h>
#if defined(TALLY_WITH_CUDA)
#include <tally/ops/cuda/reduce_plan.h>
#endif

namespace tally {
namespace {

// The list of ops itself, and further settings of those that have some.
template <std::size_t... I> std::vector<Reduction> each_alternative(std::index_sequence<I...>) {
  return {Reduction(std::in_place_index<I>)...};
}
std::vector<Reduction> all_reductions() {
  auto ops = each_alternative(std::make_index_sequence<std::variant_size_v<Reduction>>());
  ops.push_back(NormP{-1.5});
  ops.push_back(Var{.correction = 1});
  return ops;
}

constexpr DType kDTypes[] = {float32, float64, float16, bfloat16, int64, int32, uint8, boolean};

// A view of random memory, twice.
struct Twins {
  Tensor on_cpu, on_cuda;
};

enum class Values { ordinary, awkward };
// In long lists awkward values would make every result NaN.
Values for_length(std::int64_t n) { return n < 200 ? Values::awkward : Values::ordinary; }

std::vector<double> draw(std::int64_t count, DType dtype, Values values, unsigned seed) {
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

Twins twins(const std::vector<double>& memory, DType dtype, const Shape& shape, const Shape& strides,
            std::int64_t offset) {
  const auto room = static_cast<std::int64_t>(memory.size());
  const Tensor host = empty({room}, {.dtype = dtype});
  raw::copy(host, tensor(memory));
  const Tensor device = from_bytes(host.raw(), dtype, {room}, Device::cuda, Where::here());
  return {Tensor(host.storage(), offset, shape, strides, dtype),
          Tensor(device.storage(), offset, shape, strides, dtype)};
}
Twins twins(DType dtype, const Shape& shape, const Shape& strides, std::int64_t offset, Values values,
            unsigned seed = 1) {
  std::int64_t room = offset + 1;
  for (int d = 0; d < shape.size(); ++d) room += std::max<std::int64_t>(shape[d] - 1, 0) * strides[d];
  return twins(draw(room, dtype, values, seed), dtype, shape, strides, offset);
}

std::vector<unsigned char> bytes_of(const Tensor& x) {
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
testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
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

const char* name_of_op(const Reduction& op) {
  return std::visit([](const auto& one) { return std::decay_t<decltype(one)>::name; }, op);
}

// Dense memory in which an element that was not written shows.
Tensor poisoned(std::int64_t count, DType dtype, Device device) {
  const Tensor x = empty({count}, {.dtype = dtype, .device = device});
  const Tensor bytes(x.storage(), 0, {count * static_cast<std::int64_t>(size_of(dtype))}, {1}, uint8);
  raw::fill(bytes, 0xA5);
  return x;
}

struct Outcome {
  bool accepted = false;
  ReduceCall call;
};

Outcome run(const Reduction& op, const Tensor& x, const Dims& dims) {
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

bool has_slope(const Reduction& op) {
  return std::visit([](const auto& one) { return Slope<std::decay_t<decltype(one)>, float>::exists; }, op);
}

Tensor gradient(const Reduction& op, const Outcome& forward, const Dims& dims, unsigned seed) {
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

class ReduceParityOf : public ReduceParity, public testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(, ReduceParityOf, testing::ValuesIn(kDTypes), test::CaseName());

constexpr std::int64_t kLengths[] = {0,  1,   2,   3,   4,   5,    7,    8,    31,   33,
                                     64, 127, 128, 129, 300, 1023, 1024, 1025, 2049, 5 * 1024};

TEST_P(ReduceParityOf, Rows) {
  for (const std::int64_t n : kLengths)
    for (const std::int64_t lists : {1, 3}) check(twins(GetParam(), {lists, n}, {n, 1}, 0, for_length(n)), 1, n < 1100);
}

TEST_P(ReduceParityOf, Columns) {
  for (const std::int64_t n : kLengths)
    for (const std::int64_t lists : {3, n < 2000 ? 36 : 8})
      check(twins(GetParam(), {n, lists}, {lists, 1}, 0, for_length(n)), 0, n < 300);
}

TEST_P(ReduceParityOf, ManyShortLists) {
  for (const std::int64_t n : {1, 2, 3, 6, 12, 17, 40, 100}) {
    check(twins(GetParam(), {300, n}, {n, 1}, 0, Values::ordinary), 1);
    check(twins(GetParam(), {n, 300}, {300, 1}, 0, Values::ordinary), 0);
  }
}

TEST_P(ReduceParityOf, MisalignedRowsAndColumns) {
  for (std::int64_t offset = 1; offset < 16; ++offset) {
    check(twins(GetParam(), {2, 132}, {132, 1}, offset, Values::awkward), 1, true);
    check(twins(GetParam(), {40, 64}, {64, 1}, offset, Values::awkward), 0, true);
  }
}

TEST_P(ReduceParityOf, MiddleAndSeveralDims) {
  const DType t = GetParam();
  check(twins(t, {3, 40, 20}, {800, 20, 1}, 0, Values::awkward), 1, true);
  check(twins(t, {2, 1100, 5}, {5500, 5, 1}, 0, Values::ordinary), 1);
  check(twins(t, {5, 3, 12, 28}, {1008, 336, 28, 1}, 0, Values::ordinary), {0, 2, 3}, true);  // a channel
  check(twins(t, {5, 3, 7, 7}, {147, 49, 7, 1}, 0, Values::ordinary), {0, 2, 3}, true);       // not in vectors
  check(twins(t, {6, 3, 10, 32}, {960, 320, 32, 1}, 0, Values::awkward), {0, 2}, true);       // columns in two dims
  check(twins(t, {7, 4, 3, 5, 2}, {120, 30, 10, 2, 1}, 0, Values::awkward), {0, 2, 4}, true);
  check(twins(t, {4, 300}, {300, 1}, 0, Values::ordinary), {}, true);
}

TEST_P(ReduceParityOf, FewListsSideBySide) {
  const DType t = GetParam();
  for (const std::int64_t n : {2, 4, 23, 100, 130, 600, 1030}) {
    check(twins(t, {4, n, 7}, {n * 7, 7, 1}, n % 5, for_length(n)), 1);
    check(twins(t, {2, n, 3}, {n * 3 + 2, 3, 1}, 1, for_length(n)), 1);  // slices apart
    check(twins(t, {3, n, 9}, {n * 11, 11, 1}, 3, for_length(n)), 1);    // and their rows
    check(twins(t, {n, 131}, {131, 1}, 1, for_length(n)), 0);            // windows
  }
  check(twins(t, {400, 4, 7}, {28, 7, 1}, 0, Values::awkward), 1);
  check(twins(t, {9, 150, 3}, {450, 3, 1}, 0, Values::awkward), 1);
}

TEST_P(ReduceParityOf, ViewsOfAllKinds) {
  const DType t = GetParam();
  for (const std::int64_t n : {5, 150, 1100}) {
    check(twins(t, {3, n}, {1, 3}, 0, for_length(n)), 1, true);          // transposed
    check(twins(t, {3, n}, {n + 4, 1}, 0, for_length(n)), 1, true);      // sliced rows
    check(twins(t, {3, n}, {2 * n + 1, 2}, 3, for_length(n)), 1, true);  // every second element
    check(twins(t, {n, 40}, {96, 2}, 0, for_length(n)), 0, true);        // every second column
    check(twins(t, {n, 40}, {44, 1}, 0, for_length(n)), 0, true);
    check(twins(t, {3, n}, {0, 1}, 0, for_length(n)), 1, true);  // one row three times
    check(twins(t, {3, n}, {1, 0}, 0, for_length(n)), 1, true);  // one element n times
    check(twins(t, {n, 40}, {0, 1}, 0, for_length(n)), 0, true);
  }
}

TEST_P(ReduceParityOf, LongLists) {
  const std::int64_t n = 100000;
  check(twins(GetParam(), {n}, {1}, 0, Values::ordinary), 0);
  check(twins(GetParam(), {n / 4, 4}, {4, 1}, 0, Values::ordinary), 0);
}

TEST_F(ReduceParity, GradientsOfLongLists) {
  for (const DType t : {float32, float64, float16, bfloat16}) {
    check(twins(t, {2, 3000}, {3000, 1}, 0, Values::ordinary), 1, true);
    check(twins(t, {3000, 3}, {3, 1}, 0, Values::ordinary), 0, true);
  }
}

// Where squares, products and deviations leave float's range, where only some of a list's elements do, and the borders
// between what quick units and vector loops take and what they leave.
class ReduceParityNear : public ReduceParity, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(, ReduceParityNear, testing::Values(-140, -115, -80, -62, -50, -35, -20, 20, 45, 57, 62, 100),
                         [](const auto& info) {
                           return std::string(info.param < 0 ? "2_to_minus_" : "2_to_") +
                                  std::to_string(std::abs(info.param));
                         });

TEST_P(ReduceParityNear, SomeOrAllElements) {
  for (const int one_in : {1, 3, 500}) {
    const auto scaled = [&](const Shape& shape) {
      std::vector<double> memory = draw(shape[0] * shape[1], float32, Values::ordinary, 5);
      for (std::size_t i = 0; i < memory.size(); i += static_cast<std::size_t>(one_in))
        memory[i] = std::ldexp(memory[i], GetParam());
      return twins(memory, float32, shape, {shape[1], 1}, 0);
    };
    check(scaled({2, 1300}), 1);
    check(scaled({10, 60}), 1);
    check(scaled({90, 10}), 0);
    check(scaled({600, 4}), 0);
  }
}

// All lanes have the same mean, so only within them do deviations show.
TEST_F(ReduceParity, LanesAlikeAtEveryScale) {
  for (const int exponent : {-140, -80, -50, -29, 20, 57, 64, 100})
    for (const std::int64_t n : {256, 512, 1024})
      for (const std::int64_t columns : {1, 4}) {
        std::vector<double> memory(static_cast<std::size_t>(n * columns));
        for (std::int64_t i = 0; i < n * columns; ++i)
          memory[static_cast<std::size_t>(i)] = std::ldexp(i / columns / 128 % 2 ? -1 : 1, exponent);
        check(twins(memory, float32, {n, columns}, {columns, 1}, 0), 0);
      }
}

TEST_F(ReduceParity, NaNInSeveralTiles) {
  std::vector<double> memory = draw(40 * 1024, float32, Values::ordinary, 6);
  for (const std::size_t i : {4116u, 5000u, 5128u, 9000u, 9001u, 30000u}) memory[i] = std::nan("");
  check(twins(memory, float32, {40 * 1024}, {1}, 0), 0);
  check(twins(memory, float32, {10 * 1024, 4}, {4, 1}, 0), 0);
}

TEST_F(ReduceParity, NoListsNothingHappens) { check(twins(float32, {0, 5}, {5, 1}, 0, Values::ordinary), 1); }

#if defined(TALLY_WITH_CUDA)

// However the work is cut: the plan's limits turned one by one.
struct Cut {
  const char* name;
  cuda_loops::Limits limits;
};
std::ostream& operator<<(std::ostream& out, const Cut& cut) { return out << cut.name; }

class ReduceParityCut : public ReduceParity, public testing::WithParamInterface<Cut> {
 protected:
  ReduceParityCut() { cuda_loops::limits() = GetParam().limits; }
  ~ReduceParityCut() override { cuda_loops::limits() = before_; }

 private:
  const cuda_loops::Limits before_ = cuda_loops::limits();
};
INSTANTIATE_TEST_SUITE_P(, ReduceParityCut,
                         testing::Values(Cut{"one warp", {.warps = 1}}, Cut{"five warps", {.warps = 5}},
                                         Cut{"eight warps", {.warps = 8}}, Cut{"one split", {.splits = 1}},
                                         Cut{"three splits", {.splits = 3}}, Cut{"one block", {.blocks = 1}},
                                         Cut{"three blocks", {.blocks = 3}}, Cut{"no vectors", {.vectors = false}},
                                         Cut{"no columns", {.columns = false}},
                                         Cut{"no short rows", {.short_rows = false}},
                                         Cut{"no slabs", {.slabs = false}}),
                         test::CaseName());

TEST_P(ReduceParityCut, GivesTheSameBits) {
  for (const DType t : {float32, bfloat16, int32}) {
    check(twins(t, {19 * 1024 + 5}, {1}, 0, Values::ordinary), 0);
    check(twins(t, {12 * 1024 + 5}, {1}, 0, Values::ordinary), 0);  // eight warps: some have a pair of tiles
    check(twins(t, {2, 7 * 1024 + 36}, {7 * 1024 + 36, 1}, 0, Values::ordinary), 1);
    check(twins(t, {7 * 1024 + 5, 8}, {8, 1}, 0, Values::ordinary), 0);
    check(twins(t, {3, 100}, {100, 1}, 0, Values::ordinary), 1);
    check(twins(t, {100, 40}, {40, 1}, 0, Values::ordinary), 0, true);
    check(twins(t, {2, 5 * 1024 + 5, 3}, {3 * (5 * 1024 + 5), 3, 1}, 0, Values::ordinary), 1);
  }
}

// Ties stand in many lanes and tiles, so a count that loses some shows in the gradient: 1 / ties.
TEST_P(ReduceParityCut, CountsTheTiesOfAllTiles) {
  constexpr std::int64_t kLists = 2, kLength = 7 * 1024 + 36;
  std::mt19937 engine(6);
  std::vector<float> list(kLists * kLength);
  for (float& x : list) x = static_cast<float>(engine() % 3);
  for (const DType t : {float32, bfloat16})
    for (const bool largest : {true, false}) {
      const Tensor x = tensor(list, {kLists, kLength}, Device::cuda).to(t).detach().requires_grad_();
      sum(largest ? amax(x, 1) : amin(x, 1)).backward();
      const std::vector<float> gradient = x.grad().to_vector<float>();
      for (std::int64_t o = 0; o < kLists; ++o) {
        const auto begin = list.begin() + o * kLength, end = begin + kLength;
        const float extreme = largest ? 2.0f : 0.0f, ties = static_cast<float>(std::count(begin, end, extreme));
        const float share = tensor({1.0 / ties}).to(t).item<float>();
        for (std::int64_t i = 0; i < kLength; ++i)
          ASSERT_EQ(gradient[static_cast<std::size_t>(o * kLength + i)],
                    list[static_cast<std::size_t>(o * kLength + i)] == extreme ? share : 0.0f)
              << (largest ? "amax " : "amin ") << name_of(t) << " " << o << " " << i;
      }
    }
}

// Of zeros of both signs amax is the one above, amin the one below, wherever it stands.
TEST_P(ReduceParityCut, FindsTheZeroThatCounts) {
  constexpr std::int64_t kLength = 7 * 1024 + 36;
  for (const std::int64_t at : {0, 1, 5, 100, 129, 1023, 1024, 5000, static_cast<int>(kLength - 1)})
    for (const bool largest : {true, false}) {
      std::vector<float> list(kLength, largest ? -0.0f : 0.0f);
      list[static_cast<std::size_t>(at)] = largest ? 0.0f : -0.0f;
      const Tensor x = tensor(list, {kLength}, Device::cuda);
      const float extreme = (largest ? amax(x) : amin(x)).item<float>();
      EXPECT_EQ(extreme, 0);
      EXPECT_EQ(std::signbit(extreme), !largest) << "at " << at;
    }
}

#endif

TEST_F(ReduceParity, RunsRepeatBitForBit) {
  const Twins x = twins(float32, {40 * 1024}, {1}, 0, Values::ordinary);
  for (const Reduction& op : all_reductions()) {
    const Outcome once = run(op, x.on_cuda, 0);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Outcome again = run(op, x.on_cuda, 0);
      EXPECT_TRUE(same_bits(once.call.first, again.call.first)) << name_of_op(op);
    }
  }
}

// The product of the others, worked out by hand.
TEST_F(ReduceParity, GradientOfProdAtSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const struct {
    std::vector<float> x, gradient;
  } cases[] = {{{3, 0, 5}, {0, 15, 0}},
               {{0, 2, 0}, {0, 0, 0}},
               {{inf, 2}, {2, inf}},
               {{2}, {1}},
               {{-0.f, 4}, {4, -0.f}},
               {{NAN, 2, 3}, {6, NAN, NAN}},
               {{0x1p100f, 0x1p100f, 0x1p-100f}, {1, 1, inf}},
               {{0x1p100f, 0x1p100f, 0}, {0, 0, inf}}};
  for (const auto& c : cases)
    for (const Device device : {cpu, Device::cuda}) {
      const std::int64_t n = static_cast<std::int64_t>(c.x.size());
      const Tensor x = tensor(c.x, {1, n}, device), gx = empty({1, n}, {.device = device});
      const ReducePlan plan = plan_reduction("test", x, 1, {}, Where::here());
      const ReduceBackwardCall call{plan_backward(x, plan.kept_shape), n, x, ones({1}, {.device = device}), {}, gx};
      on(device, [&](auto backend) { prod_backward(backend, call, plan.lists); });
      EXPECT_TRUE(same_bits(tensor(c.gradient), gx))
          << "case of " << c.x[0] << ", " << n << " elements on " << name_of(device);
    }
}

}  // namespace
}  // namespace tally
