// How the kernels for ops on rows share their work: every row and every element has its thread, and what waits in
// shared memory fits.
#include <gtest/gtest.h>

#include <tally/ops/cuda/reduce_plan.h>
#include <tally/ops/cuda/row_plan.h>
#include <tally/ops/reduction_order.h>

namespace tally::cuda_loops {
namespace {

using Mapping = RowPlan::Mapping;

RowPlan plan_of(std::int64_t rows, std::int64_t n, int inputs = 1, std::size_t bytes = 4) {
  return plan_map({.rows = rows, .n = n, .inputs = inputs, .element_bytes = bytes, .partial_bytes = 2 * bytes}, {});
}

TEST(RowPlan, EveryRowAndElementHasAThread) {
  for (const int inputs : {1, 2})
    for (const std::size_t bytes : {2, 4, 8})
      for (const std::int64_t rows : {1, 3, 100, 70'000})
        for (std::int64_t n = 1; n <= 65'536; n += 1 + n / 7) {
          const RowPlan plan = plan_of(rows, n, inputs, bytes);
          ASSERT_NE(plan.mapping, Mapping::none);
          EXPECT_EQ(plan.threads % 32, 0);
          if (plan.mapping == Mapping::short_rows) {
            EXPECT_LE(n, kLanes * plan.lane_rows);
            EXPECT_GE(plan.group * kVector, std::min<std::int64_t>(n, kLanes));
            EXPECT_LE(plan.group, 32);
            const std::int64_t of_block = plan.threads / plan.group * short_rows_under_way(plan.lane_rows);
            EXPECT_GE(plan.blocks * of_block, rows);
            EXPECT_LT((plan.blocks - 1) * of_block, rows);
          } else {
            EXPECT_EQ(plan.blocks, plan.in_turn ? std::min<std::int64_t>(rows, 132) : rows);
            EXPECT_LE(plan.threads, most_row_threads(inputs, bytes));
            const int warps = plan.threads / 32;
            EXPECT_GE(std::int64_t{plan.rounds} * warps * kTile, n);
            // No round in vain: vectors of a shifted row reach up to three elements further.
            EXPECT_LT(std::int64_t{plan.rounds - 1} * warps * kTile, plan.shifted ? n + kVector - 1 : n);
            EXPECT_GE(plan.board, plan.rounds == 1 ? plan.threads : plan.tiles);
            EXPECT_GE(plan.board, plan.tiles);
            EXPECT_LE(plan.shared_bytes, 227u * 1024);
          }
        }
}

TEST(RowPlan, NamedShapes) {
  const RowPlan short_rows = plan_of(1'048'576, 32);
  EXPECT_EQ(short_rows.mapping, Mapping::short_rows);
  EXPECT_EQ(short_rows.group, 8);
  EXPECT_EQ(plan_of(32'768, 1024).group, 32);
  EXPECT_EQ(plan_of(8192, 8192).threads, 256);
  EXPECT_EQ(plan_of(8192, 8192).rounds, 1);
  const RowPlan vocabulary = plan_of(4096, 50'257);
  EXPECT_EQ(vocabulary.rounds, 2);
  EXPECT_EQ(vocabulary.threads, 25 * 32);
  EXPECT_TRUE(vocabulary.keeps);
  EXPECT_TRUE(vocabulary.in_turn);
  EXPECT_EQ(vocabulary.blocks, 132);
  EXPECT_FALSE(plan_of(8192, 8192).in_turn);
  EXPECT_FALSE(vocabulary.wide);
  EXPECT_TRUE(vocabulary.shifted);
  EXPECT_EQ(plan_of(4096, 50 * 1024 - 1).tiles, 51);
  EXPECT_FALSE(plan_of(8192, 8192).shifted);
  EXPECT_FALSE(plan_of(8192, 8191, 1, 8).shifted);  // doubles are loaded one by one
  EXPECT_TRUE(plan_of(8192, 8192).wide);
  EXPECT_FALSE(plan_of(4096, 200'000).keeps);
}

TEST(RowPlan, LeavesOtherRowsToTheReductions) {
  EXPECT_EQ(plan_of(0, 8).mapping, Mapping::none);
  EXPECT_EQ(plan_of(8, 0).mapping, Mapping::none);
  EXPECT_EQ(plan_of(8, 1 << 20).mapping, Mapping::none);     // a few long rows fill no device
  EXPECT_EQ(plan_of(4096, 1 << 21).mapping, Mapping::none);  // the board has no room
}

}  // namespace
}  // namespace tally::cuda_loops
