// What bench_reductions plans: cases read and written, the grids, the random ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include <tally/core/device.h>
#include <tally/tests/bench/work.h>

namespace tally::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(BenchCase, ALineIsACaseForEachOp) {
  const auto cases = parse_line("256x64x7x7 0,2,-1 bfloat16 sum,amax backward offset=3  # images");
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(cases[1].op, "amax");
  EXPECT_EQ(cases[1].shape, (Shape{256, 64, 7, 7}));
  EXPECT_THAT(cases[1].dims, ElementsAre(0, 2, -1));
  EXPECT_EQ(cases[1].dtype, bfloat16);
  EXPECT_TRUE(cases[1].backward);
  EXPECT_EQ(cases[1].offset, 3);
  EXPECT_EQ(cases[1].bytes(), 256 * 64 * 49 * 2);
  EXPECT_EQ(to_line(cases[1]), "256x64x7x7 0,2,-1 bfloat16 amax backward offset=3");
  EXPECT_THAT(parse_line("  # a comment"), IsEmpty());
  EXPECT_THAT(parse_line("1024 all float32 sum")[0].dims, IsEmpty());
}

TEST(BenchCase, WhatIsNoCaseIsRefused) {
  for (const char* line :
       {"8192", "8192x8192 1 float32", "8192x 1 float32 sum,", "8x-2 1 float32 sum", "8xb 1 float32 sum",
        "8x8 2 float32 sum", "8x8 1 float3 sum", "8x8 1 float32 sum forward", "8x8 1 float32 sum offset=x"})
    EXPECT_THROW(
        {
          const auto cases = parse_line(line);
          for (const Case& one : cases) work_of(one, cpu);
        },
        std::invalid_argument)
        << line;
}

TEST(BenchCase, TheGridsAreReadAndEveryOpIsKnown) {
  for (const char* name : {"grid.txt", "grid_cpu.txt"}) {
    std::ifstream in(std::string(TALLY_BENCH_DIR) + "/" + name);
    const auto cases = parse_grid(in);
    EXPECT_GT(cases.size(), 80u) << name;
    std::set<std::string> lines;
    for (const Case& one : cases) {
      EXPECT_TRUE(lines.insert(to_line(one)).second) << "twice in " << name << ": " << to_line(one);
      // The device's own peers are not in every build.
      if (one.op.rfind("cub_", 0) != 0 && one.op != "block_sum") {
        const auto known = op_names();
        EXPECT_NE(std::find(known.begin(), known.end(), one.op), known.end()) << one.op;
      }
    }
  }
}

TEST(BenchCase, RandomCasesComeFromTheSeedAndStayInBounds) {
  const std::int64_t largest = 1 << 20;
  const auto lines = [&](std::uint64_t seed) {
    std::vector<std::string> all;
    for (const Case& one : random_cases(60, seed, largest)) all.push_back(to_line(one));
    return all;
  };
  EXPECT_EQ(lines(1), lines(1));
  EXPECT_NE(lines(1), lines(2));
  std::set<int> ranks;
  bool shifted = false;
  for (const Case& one : random_cases(60, 1, largest)) {
    EXPECT_LE(one.shape.numel(), largest);
    EXPECT_GE(one.shape.numel(), 1);
    EXPECT_EQ(to_line(parse_line(to_line(one)).at(0)), to_line(one));
    ranks.insert(one.shape.size());
    shifted |= one.offset > 0;
  }
  EXPECT_THAT(ranks, ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(shifted);
}

TEST(BenchMeasure, EveryOpRunsForwardAndBackwardWhereItHasAGradient) {
  const std::set<std::string> flat = {"argmax", "any", "all", "clip", "naive_sum", "block_sum"};
  for (const std::string& op : op_names()) {
    if (op == "block_sum" || op.rfind("cub_", 0) == 0) continue;  // the device's
    Case one = parse_line("6x5 1 float32 " + op)[0];
    one.offset = 1;
    EXPECT_GT(measure(one, cpu, 1e-4).microseconds, 0) << op;
    if (flat.count(op)) continue;
    one.backward = true;
    EXPECT_GT(measure(one, cpu, 1e-4).microseconds, 0) << op;
  }
  EXPECT_GT(read_ceiling(1 << 16, cpu, 1e-3), 0.1);
}

TEST(BenchMeasure, TheDeviceToo) {
  if (!is_available(cuda)) GTEST_SKIP() << "no CUDA device";
  for (const char* op : {"sum", "naive_sum", "block_sum"})
    EXPECT_GT(measure(parse_line(std::string("3000 all float32 ") + op)[0], cuda, 1e-4).microseconds, 0) << op;
  EXPECT_GT(read_ceiling(1 << 14, cuda, 1e-4), 0);
}

}  // namespace
}  // namespace tally::bench
