// Every reduction gives the same bits however the kernels cut the work.
#if defined(TALLY_WITH_CUDA)
#include <tally/ops/cuda/reduce_plan.h>
#include <tally/ops/reduce.h>

#include "reduce_parity.h"

namespace tally::test {
namespace {

// The plan's limits, turned one by one.
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
                         CaseName());

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

// Lists side by side whose threads read them on their own, where there are many.
TEST_F(ReduceParity, OfStraightListsGivesTheSameBits) {
  const cuda_loops::Limits before = cuda_loops::limits();
  cuda_loops::limits() = {.straight = 1};
  for (const DType t : {float32, float64, bfloat16}) {
    for (const std::int64_t n : {2, 4, 5, 33, 128})
      check(twins(t, {9, n, 37}, {n * 37, 37, 1}, 1, Values::awkward), 1, n < 33);
    for (const std::int64_t n : {129, 500, 1000}) {
      check(twins(t, {3, n, 31}, {n * 31, 31, 1}, 1, Values::ordinary), 1);
      check(twins(t, {3, n, 31}, {n * 31, 31, 1}, 1, Values::awkward), 1);
    }
    check(twins(t, {2100, 45}, {45, 1}, 1, Values::ordinary), 0);
    check(twins(t, {2100, 45}, {45, 1}, 1, Values::awkward), 0);
  }
  cuda_loops::limits() = before;
}

// A few lists side by side, of any number in a block; `awkward` ones are done again with all the op's care.
TEST_F(ReduceParity, OfAFewListsSideBySideGivesTheSameBits) {
  for (const DType t : {float32, float64, bfloat16})
    for (const std::int64_t n : {129, 256, 300, 512, 600, 1024})
      for (const std::int64_t inner : {2, 3, 7})
        for (const std::int64_t slices : {1, 2, 11}) {
          const std::vector<std::int64_t> shape{slices, n, inner}, stride{n * inner + 1, inner, 1};
          check(twins(t, shape, stride, 1, Values::ordinary), 1);
          check(twins(t, shape, stride, 1, Values::awkward), 1);
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

}  // namespace
}  // namespace tally::test
#endif
