// Every reduction gives the same bits on CPU and CUDA, whatever the layout and the values.
#include <tally/ops/reduce.h>

#include "reduce_parity.h"

namespace tally::test {
namespace {

constexpr DType kDTypes[] = {float32, float64, float16, bfloat16, int64, int32, uint8, boolean};

class ReduceParityOf : public ReduceParity, public testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(, ReduceParityOf, testing::ValuesIn(kDTypes), CaseName());

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

TEST_P(ReduceParityOf, LongRowsThatBeginAnywhereInAVector) {
  for (const std::int64_t offset : {0, 1, 2, 3, 6, 7}) {
    check(twins(GetParam(), {3, 2048}, {2049, 1}, offset, Values::ordinary), 1);
    check(twins(GetParam(), {2, 3 * 1024 + 5}, {3 * 1024 + 5, 1}, offset, Values::ordinary), 1, offset == 3);
    check(twins(GetParam(), {2048}, {1}, offset, Values::awkward), 0);
  }
}

// What one tile of a list holds is nothing that plain arithmetic can do; the others are, and what comes of all is
// asked.
TEST_F(ReduceParity, OneListWithAnUnusualTile) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DType t : {float32, float64, bfloat16, float16})
    for (const std::int64_t n : {1024, 1025, 3000, 9 * 1024, 45 * 1024 + 4, 259 * 1024 + 3}) {
      if (n > 100 * 1024 && t != float32) continue;
      const auto memory = draw(n, t, Values::ordinary, 3);
      check(twins(memory, t, {n}, {1}, 0), {});
      const auto tiles = (n + 1023) / 1024;
      for (const double x : {0.0, -0.0, 1e-30, 3e38, kInfinity, -kInfinity, std::nan("")})
        for (const auto tile : {std::int64_t{0}, tiles / 2, tiles - 1}) {
          if (n > 100 * 1024 && (tile == 0 || std::abs(x) < 1)) continue;
          auto with = memory;
          for (auto i = 1024 * tile; i < std::min(1024 * (tile + 1), n); i += 1 + i % 5)
            with[static_cast<std::size_t>(i)] = x;
          check(twins(with, t, {n}, {1}, 0), {});
          // Several lists have their tickets where the blocks of one leave each other values.
          if (n == 9 * 1024 && x == kInfinity) check(twins(t, {8, n}, {n, 1}, 0, Values::ordinary), 1);
        }
    }
}

// Each thread has the last lanes of a tile beside the first ones: the first of equal elements is to be found, and of
// zeros the one that counts.
TEST_F(ReduceParity, TiesOfLongRowsThatBeginAnywhere) {
  std::mt19937 engine(5);
  for (const unsigned rare : {2u, 12u, 300u}) {
    std::vector<double> memory(7 * 1024);
    for (double& x : memory) {
      const auto drawn = engine() % rare;
      x = drawn == 0 ? 0.0 : drawn == 1 ? -0.0 : -1.0;
    }
    for (const DType t : {float32, bfloat16})
      for (const std::int64_t offset : {0, 1, 2, 3, 5, 7}) {
        check(twins(memory, t, {3, 2048}, {2049, 1}, offset), 1);
        check(twins(memory, t, {3, 2000}, {2001, 1}, offset), 1);
      }
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
  // With its sign, alone in a lane.
  for (const std::int64_t n : {1025, 20 * 1024 + 1}) {
    std::vector<double> last = draw(n, float32, Values::ordinary, 6);
    last.back() = -std::nan("");
    check(twins(last, float32, {n}, {1}, 0), 0);
  }
}

TEST_F(ReduceParity, NoListsNothingHappens) { check(twins(float32, {0, 5}, {5, 1}, 0, Values::ordinary), 1); }

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
}  // namespace tally::test
