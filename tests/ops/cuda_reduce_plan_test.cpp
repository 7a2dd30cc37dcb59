// How the CUDA kernels cut a reduction: arithmetic, so no device is needed.
#if defined(TALLY_WITH_CUDA)
#include <tally/ops/cuda/reduce_plan.h>

#include <vector>

#include <gtest/gtest.h>
#include <tally/core/cuda/deal.h>
#include <tally/ops/cuda/reduce_many.h>
#include <tally/ops/cuda/reduce_walk.h>
#include <tally/ops/reduction.h>

namespace tally::cuda_loops {
namespace {

using Mapping = Plan::Mapping;

Strided<1> walk(const Shape& sizes, const Shape& strides) { return Strided<1>(sizes, {&strides}); }

Problem rows(std::int64_t lists, std::int64_t n) { return {.lists = {walk({lists}, {n}), walk({n}, {1})}}; }
Problem columns(std::int64_t n, std::int64_t lists) { return {.lists = {walk({lists}, {1}), walk({n}, {lists})}}; }
// The middle dim of outer x n x inner, whose rows are `step` apart.
Problem middle(std::int64_t outer, std::int64_t n, std::int64_t inner, std::int64_t step) {
  return {.lists = {walk({outer, inner}, {n * step, 1}), walk({n}, {step})}};
}
Problem middle(std::int64_t outer, std::int64_t n, std::int64_t inner) { return middle(outer, n, inner, inner); }

bool is_power(std::int64_t k) { return k > 0 && (k & (k - 1)) == 0; }

// Slabs: every list is in one window of one block, every lane position in one step, and all of a step in shared memory.
void expect_whole_slabs(const Problem& problem, const Plan& p) {
  const std::int64_t n = problem.lists.length(), inner = problem.lists.kept.inner();
  const std::int64_t slices = problem.lists.outputs() / inner,
                     units = (slices + p.slices - 1) / p.slices * p.column_blocks;
  ASSERT_GE(p.column_blocks * p.across, inner);
  ASSERT_LT((p.column_blocks - 1) * p.across, inner);
  if (p.column_blocks > 1) {
    ASSERT_EQ(p.slices, 1);
    ASSERT_FALSE(p.flat);
  }
  if (p.flat) {
    ASSERT_EQ(p.across, problem.lists.reduced.inner_stride(0));
  }
  ASSERT_TRUE(is_power(p.group));
  ASSERT_LE(p.group, 32);
  ASSERT_GE(p.group * p.own, p.depth);
  ASSERT_TRUE(p.own == kSlabPositions || (p.mapping == Mapping::small_slabs && p.own < 2 * n));
  ASSERT_EQ(p.blocks, units * p.splits);
  const std::int64_t pieces = !p.flat ? p.depth : p.mapping == Mapping::small_slabs ? 1 : p.slices;
  const std::int64_t piece = !p.flat ? p.across : p.depth * p.across * (pieces == 1 ? p.slices : 1);
  ASSERT_GE(p.loads * p.width, piece);  // and what misalignment adds
  ASSERT_LT(p.loads * p.width, piece + 2 * p.width);
  if ((problem.address / problem.element_bytes) % static_cast<std::size_t>(p.width) != 0) {
    ASSERT_GE(p.loads * p.width, piece + p.width - 1);
  }
  if (p.mapping == Mapping::small_slabs) {
    ASSERT_LE(n, kLanes);
    ASSERT_EQ(p.depth, n);
    ASSERT_EQ(p.width * problem.element_bytes, 16);
    ASSERT_GE(p.shared, p.flat ? piece + p.width : (n - 1) * p.pitch + p.across + p.width);
    ASSERT_EQ((p.pitch - problem.lists.reduced.inner_stride(0)) % p.width, 0);
    ASSERT_LE(p.shared * problem.element_bytes, 48u << 10);
    return;
  }
  ASSERT_TRUE(is_power(p.depth));
  ASSERT_GE(p.depth, kSlabPositions);
  ASSERT_LE(p.depth, kLanes);
  ASSERT_GE(p.steps * p.depth, n <= kTile ? std::min<std::int64_t>(n, kLanes) : (n + kTile - 1) / kTile * kLanes);
  if (p.slices > 1) {
    ASSERT_EQ(p.steps, 1);
  }
  ASSERT_TRUE(is_power(p.run) && is_power(p.gather));
  ASSERT_GE(p.run * p.splits, p.steps);
  ASSERT_LT(p.run * (p.splits - 1), p.steps);  // no block without work
  ASSERT_GE(std::int64_t{1} << (p.levels - 1), p.run);
  const std::int64_t gathers = (p.splits + p.gather - 1) / p.gather;
  ASSERT_EQ(p.tickets, p.splits > 1 ? units * (gathers + 1) : 0);
  ASSERT_EQ(p.partials, p.splits > 1 ? units * (p.splits + gathers) * p.across : 0);
  ASSERT_LE(p.depth * p.across * p.slices * static_cast<std::int64_t>(problem.value_bytes), 48 << 10);
}

// Every tile of every list belongs to exactly one warp or block, in runs that the order's tree can be cut into.
void expect_whole(const Problem& problem, const Limits& limits = {}) {
  const Plan p = plan(problem, limits);
  const std::int64_t n = problem.lists.length(), lists = problem.lists.outputs(), tiles = (n + kTile - 1) / kTile;
  SCOPED_TRACE(testing::Message() << lists << " lists of " << n);
  ASSERT_TRUE(is_power(p.run));
  ASSERT_GE(p.threads, 32);
  ASSERT_LE(p.threads, 256);
  ASSERT_EQ(p.threads % 32, 0);
  if (p.mapping == Mapping::rows) {
    ASSERT_TRUE(is_power(p.warps_per_list));
    const std::int64_t warps = p.threads / 32;
    ASSERT_GE(p.run * p.warps_per_list * p.splits, tiles);
    ASSERT_LT(p.run * p.warps_per_list * (p.splits - 1), tiles);  // no block without work
    if (p.splits > 1) {
      ASSERT_EQ(p.warps_per_list, warps);
      ASSERT_TRUE(is_power(p.readers));
      ASSERT_LE(p.readers, p.threads);
      ASSERT_GE(p.readers << p.each_bits, p.splits);
      ASSERT_LT(p.readers << p.each_bits, 2 * p.splits);
      ASSERT_EQ(p.blocks, lists * p.splits);
      ASSERT_LE(lists, 65535);  // a grid's second dim
    }
    ASSERT_GE(p.blocks * warps, lists * p.splits * p.warps_per_list);
    ASSERT_EQ(p.partials, 0);  // mailboxes instead
    ASSERT_EQ(p.tickets, p.splits > 1 ? lists : 0);
  } else if (p.mapping == Mapping::tiles) {
    ASSERT_EQ(lists, 1);
    ASSERT_GE(n, kTile);
    ASSERT_TRUE(is_power(p.threads / 32));
    ASSERT_LE(p.blocks, kTileBlocks);
    ASSERT_LE(p.blocks, 32 * kTileLetters);
    ASSERT_GE(p.blocks * (p.threads / 32), tiles);
    ASSERT_LT((p.blocks - 1) * (p.threads / 32), tiles);
    ASSERT_EQ(p.partials, 0);
  } else if (p.mapping == Mapping::short_rows) {
    ASSERT_LE(n, kTile);
    ASSERT_TRUE(n <= kLanes || problem.lists.reduced.rank <= 1);
    ASSERT_GE(p.rows * kLanes, n);
    ASSERT_TRUE(is_power(p.group));
    ASSERT_LE(p.group, 32);
    ASSERT_GE(p.group * kVector, std::min<std::int64_t>(n, kLanes));
    ASSERT_GE(p.blocks * (p.threads / p.group) * lists_under_way(p.rows, problem.twice_from), lists);
  } else if (p.mapping == Mapping::small_slabs || p.mapping == Mapping::slabs) {
    expect_whole_slabs(problem, p);
  } else if (p.mapping == Mapping::straight) {
    ASSERT_LE(n, kLanes);
    ASSERT_TRUE(p.at_once == 1 || (p.at_once == kFewLists && n <= kFewElements));
    ASSERT_GE(p.blocks * p.threads * p.at_once, lists);
    ASSERT_LT((p.blocks - 1) * p.threads * p.at_once, lists);
  } else if (p.mapping == Mapping::upright) {
    ASSERT_GT(n, kLanes);
    ASSERT_EQ(p.threads, kUprightGroups * 16);
    ASSERT_TRUE(p.across == 16 || p.across == 32);
    ASSERT_GE(p.column_blocks * p.across, lists);
    ASSERT_LT((p.column_blocks - 1) * p.across, lists);
    ASSERT_EQ(p.splits, tiles);
    ASSERT_EQ(p.blocks, p.column_blocks * tiles);
    ASSERT_TRUE(p.rows == kRowsOfTile || (p.rows == 4 && n <= 4 * kLanes));
    const std::int64_t gathers = (tiles + p.gather - 1) / p.gather;
    ASSERT_TRUE(tiles == 1 || problem.lists.kept.rank <= 1);
    ASSERT_EQ(p.tickets, tiles > 1 ? p.column_blocks * (gathers + 1) : 0);
    ASSERT_EQ(p.partials, tiles > 1 ? p.column_blocks * p.across * (tiles + gathers) : 0);
  } else {
    ASSERT_TRUE(is_power(p.across) && is_power(p.warps_per_list));
    ASSERT_LE(p.across, 32);
    ASSERT_LE(p.width, 32 / p.across * column_values(p.width));  // the exchange leaves a thread so many lists
    const std::int64_t inner = problem.lists.kept.inner(), strips = lists / inner * p.column_blocks;
    const std::int64_t warps = p.threads / 32, lanes = 32 / p.across * column_lanes(p.rows) << p.step_bits;
    ASSERT_GE(p.rows * kLanes, std::min<std::int64_t>(n, kTile));
    ASSERT_TRUE(p.rows == kRowsOfTile || tiles == 1);
    ASSERT_GE(lanes, std::min<std::int64_t>(n, kLanes));
    ASSERT_TRUE(tiles == 1 || lanes == kLanes);
    ASSERT_EQ(p.steps, tiles << p.step_bits);
    ASSERT_GE(p.column_blocks * p.across * p.width, inner);
    ASSERT_LT((p.column_blocks - 1) * p.across * p.width, inner);
    ASSERT_GE(p.run * p.warps_per_list * p.splits, p.steps);
    ASSERT_LT(p.run * p.warps_per_list * (p.splits - 1), p.steps);  // no block without work
    ASSERT_GE(std::int64_t{1} << (p.levels - 1), p.run);
    if (p.splits > 1) {  // what the last block asks for
      ASSERT_EQ(p.warps_per_list, warps);
      ASSERT_LE(p.across * p.width, p.threads);
    }
    ASSERT_GE(p.blocks / p.splits * (warps / p.warps_per_list), strips);
    ASSERT_EQ(p.tickets, p.splits > 1 ? strips : 0);
  }
}

TEST(CudaReducePlan, WholeForAllSizes) {
  for (const std::int64_t n : {1, 2, 5, 31, 127, 128, 129, 1000, 1024, 1025, 8192, 50257, 1 << 20, 1 << 30})
    for (const std::int64_t lists : {1, 2, 7, 8, 16, 33, 100, 4096, 1 << 20}) {
      for (const int width : {1, 2, 4, 8}) {
        Problem sideways = columns(n, lists);
        sideways.column_width = width;
        expect_whole(sideways);
        for (const std::size_t bytes : {1, 2, 4, 8})
          for (const std::size_t value : {4, 12, 24}) {
            Problem slices = middle(lists, n, 1 + n % 50, 1 + n % 50 + lists % 2);
            slices.column_width = width;
            slices.element_bytes = bytes;
            slices.value_bytes = value;
            slices.address = bytes;
            expect_whole(slices);
          }
      }
      for (const int width : {1, 4, 8})
        for (const int twice_from : {2, kRowsOfTile, kNeverTwice}) {
          Problem along = rows(lists, n);
          along.row_width = width;
          along.twice_from = twice_from;
          expect_whole(along);
          along.tiles = false;
          expect_whole(along);
        }
      for (const std::int64_t inner : {2, 3, 31, 130, 1009}) {
        expect_whole(middle(lists, n, inner));
        expect_whole(middle(lists, n, inner, inner + 5));
      }
    }
  expect_whole(rows(1, (std::int64_t{1} << 33) + 12345));
  expect_whole(rows(std::int64_t{1} << 33, 3));
  expect_whole(columns((std::int64_t{1} << 33) + 5, 16));
  expect_whole(columns(std::int64_t{1} << 22, std::int64_t{1} << 16));
}

TEST(CudaReducePlan, WholeUnderAnyLimits) {
  for (const std::int64_t warps : {1, 3, 1000})
    for (const std::int64_t splits : {1, 2, 77}) {
      const Limits limits{.warps = warps, .blocks = warps, .splits = splits, .straight = warps};
      for (const std::int64_t n : {100, 9000, 1 << 22}) {
        expect_whole(rows(3, n), limits);
        expect_whole(columns(n, 24), limits);
        expect_whole(middle(5, n, 7), limits);
        expect_whole(middle(5, n, 301), limits);
      }
    }
}

// Enough blocks for every multiprocessor come first, then walks as long as they pay.
TEST(CudaReducePlan, WarpsWalkLongWhereThereIsEnoughToDo) {
  EXPECT_EQ(plan(rows(1, 1 << 16), {.tiles = false}).run, 1);
  EXPECT_EQ(plan(rows(1, 1 << 24), {}).run, 8);
  EXPECT_EQ(plan(rows(1, 1 << 28), {}).run, 16);
  EXPECT_EQ(plan(rows(8192, 8192), {}).warps_per_list, 1);
  EXPECT_EQ(plan(rows(4096, 50304), {}).warps_per_list, 2);
  EXPECT_EQ(plan(rows(1000, 20000), {}).run, 4);
  EXPECT_EQ(plan(rows(4096, 50257), {}).warps_per_list, 2);
  Problem together = rows(4096, 50257);
  together.together = true;
  EXPECT_EQ(plan(together, {}).run, 8);  // of 32, or of 16, the last warp would have little
  EXPECT_EQ(plan(together, {}).warps_per_list, 8);
  EXPECT_EQ(plan({.lists = {walk({4096}, {2 * 50257}), walk({50257}, {2})}}, {}).run, 8);  // no vectors
}

// A list that is done before a multiprocessor could do two of its tiles one after the other.
TEST(CudaReducePlan, OneListOfFewTiles) {
  const auto shape_of = [](std::int64_t n) {
    const Plan p = plan(rows(1, n), {});
    return p.mapping == Mapping::tiles ? std::pair(p.blocks, p.threads / 32) : std::pair<std::int64_t, int>(0, 0);
  };
  using Shape = std::pair<std::int64_t, int>;
  EXPECT_EQ(shape_of(1023), Shape(0, 0));
  EXPECT_EQ(shape_of(1024), Shape(1, 1));
  EXPECT_EQ(shape_of(5000), Shape(1, 8));
  EXPECT_EQ(shape_of(8192), Shape(1, 8));
  EXPECT_EQ(shape_of(8193), Shape(9, 1));
  EXPECT_EQ(shape_of(1 << 16), Shape(32, 2));
  EXPECT_EQ(shape_of(1 << 18), Shape(32, 8));
  EXPECT_EQ(shape_of((1 << 18) + 1), Shape(65, 4));
  EXPECT_EQ(shape_of(1 << 20), Shape(128, 8));
  EXPECT_EQ(shape_of((1 << 20) + 1), Shape(0, 0));
  Problem odd = rows(1, 1 << 16);
  odd.address = 4;
  EXPECT_EQ(plan(odd, {}).mapping, Mapping::rows);
  EXPECT_EQ(plan(rows(2, 1 << 16), {}).mapping, Mapping::rows);
  EXPECT_EQ(plan({.lists = {walk({1}, {1}), walk({1 << 16}, {2})}}, {}).mapping, Mapping::rows);
}

// Lists of more than a row of lanes and at most a tile, so few side by side that warps share the lines of memory.
TEST(CudaReducePlan, AFewListsSideBySideAreShortRows) {
  for (const std::int64_t n : {129, 256, 257, 512, 513, 1024})
    for (const std::int64_t inner : {2, 3, 5, 10})
      for (const std::int64_t slices : {1, 2, 77, 30'000}) {
        if (n > 256 && inner >= 5 && n <= 512) continue;  // upright, where there are many
        Problem p = middle(slices, n, inner);
        SCOPED_TRACE(testing::Message() << slices << "x" << n << "x" << inner);
        expect_whole(p);
        const Plan rows = plan(p, {});
        EXPECT_EQ(rows.mapping, Mapping::short_rows);
        EXPECT_EQ(rows.rows, n <= 256 ? 2 : n <= 512 ? 4 : 8);
        EXPECT_EQ(rows.width, 1);
        EXPECT_NE(plan(p, {.short_rows = false}).mapping, Mapping::short_rows);
      }
  EXPECT_EQ(plan(middle(1000, 600, 11), {}).mapping, Mapping::slabs);
  EXPECT_EQ(plan(middle(1000, 128, 3), {}).mapping, Mapping::small_slabs);
  EXPECT_EQ(plan(middle(1000, 200, 4), {}).mapping, Mapping::columns);  // whole vectors
  EXPECT_EQ(plan(middle(30'000, 200, 15), {}).mapping, Mapping::short_rows);
  EXPECT_EQ(plan(middle(30'000, 300, 15), {}).mapping, Mapping::upright);
  Problem each = middle(1000, 600, 5);  // whose threads load neighbours
  each.apart = false;
  EXPECT_EQ(plan(each, {}).mapping, Mapping::slabs);
  each.lists = middle(1000, 600, 3).lists;
  EXPECT_EQ(plan(each, {}).mapping, Mapping::short_rows);
  Problem heavy = middle(1000, 600, 3);
  heavy.heavy = true;
  heavy.alone = false;
  EXPECT_EQ(plan(heavy, {}).mapping, Mapping::slabs);
}

TEST(CudaReducePlan, MappingsFollowMemory) {
  EXPECT_EQ(plan(rows(10, 5000), {}).mapping, Mapping::rows);
  EXPECT_EQ(plan(rows(10, 128), {}).mapping, Mapping::short_rows);
  EXPECT_EQ(plan(columns(5000, 64), {}).mapping, Mapping::columns);
  EXPECT_EQ(plan(columns(5000, 10), {}).mapping, Mapping::slabs);          // few
  EXPECT_EQ(plan(columns(5000, 101), {}).mapping, Mapping::slabs);         // no whole vectors
  EXPECT_EQ(plan(columns(100, 10'001), {}).mapping, Mapping::columns);     // nor has a window of so many much to read
  EXPECT_EQ(plan(columns(30, 10'001), {}).mapping, Mapping::small_slabs);  // of fewer it has
  EXPECT_EQ(plan(middle(1000, 23, 5), {}).mapping, Mapping::small_slabs);
  EXPECT_EQ(plan(middle(1000, 1030, 3), {}).mapping, Mapping::slabs);
  // Threads on their own, where there are enough.
  EXPECT_EQ(plan(columns(100, 100'001), {}).mapping, Mapping::straight);
  EXPECT_EQ(plan(middle(100'000, 23, 5), {}).mapping, Mapping::straight);
  EXPECT_EQ(plan(middle(100'000, 23, 2), {}).mapping, Mapping::small_slabs);  // too little in a line of memory
  EXPECT_EQ(plan(middle(675, 353, 31), {}).mapping, Mapping::upright);
  EXPECT_EQ(plan(columns(5000, 1009), {}).mapping, Mapping::upright);
  EXPECT_EQ(plan(columns(3000, 50'257), {}).mapping, Mapping::slabs);  // of very many tiles slabs read longer
  EXPECT_EQ(plan(columns(100, 100'000), {}).mapping, Mapping::columns);
  EXPECT_EQ(plan(middle(100'000, 4, 8), {}).mapping, Mapping::straight);
  Problem heavy = middle(100'000, 23, 5);
  heavy.heavy = true;
  heavy.alone = false;
  EXPECT_EQ(plan(heavy, {}).mapping, Mapping::small_slabs);
  EXPECT_EQ(plan({.lists = {walk({50, 7}, {2, 100}), walk({30}, {800})}}, {}).mapping, Mapping::columns);
  EXPECT_EQ(plan(columns(3, 2), {}).mapping, Mapping::short_rows);  // too few for a warp of columns
  EXPECT_EQ(plan(rows(5, 0), {}).mapping, Mapping::short_rows);
  EXPECT_EQ(plan(rows(5, 0), {}).blocks, 1);
  EXPECT_EQ(plan(rows(0, 5), {}).blocks, 0);
}

TEST(CudaReducePlan, VectorsOnlyWhereAllLoadsAreAlignedOrCanBeShifted) {
  const auto plan_at = [](Problem problem, std::uintptr_t address, std::size_t bytes) {
    problem.address = address;
    problem.element_bytes = bytes;
    problem.row_width = problem.column_width = static_cast<int>(16 / bytes);
    return plan(problem, {});
  };
  const auto width = [&](const Problem& problem, std::uintptr_t address, std::size_t bytes = 4) {
    const Plan p = plan_at(problem, address, bytes);
    return p.shifted ? -p.width : p.width;
  };
  EXPECT_EQ(width(rows(3, 5000), 0), 4);
  EXPECT_EQ(width(rows(3, 5000), 16), 4);
  EXPECT_EQ(width(rows(3, 5000), 4), -4);
  EXPECT_EQ(width(rows(3, 5000), 4, 8), 1);
  EXPECT_EQ(width(rows(3, 5000), 16, 2), 8);
  EXPECT_EQ(width(rows(3, 5000), 8, 2), -8);
  EXPECT_EQ(width(rows(3, 500), 8, 2), 4);  // short rows have smaller loads
  EXPECT_EQ(width(rows(3, 5000), 4, 2), -8);
  EXPECT_EQ(width(rows(3, 5001), 0), -4);  // the second row is not aligned
  EXPECT_EQ(width(rows(1, 5001), 0), 4);
  EXPECT_EQ(width({.lists = {walk({3}, {5004}), walk({5001}, {1})}}, 0), 4);  // rows with room behind them
  EXPECT_EQ(width({.lists = {walk({3}, {6}), walk({5000}, {2})}}, 0), 1);
  EXPECT_EQ(width({.lists = {walk({3}, {64}), walk({50, 64}, {192, 1})}}, 0), 4);
  EXPECT_EQ(width({.lists = {walk({3}, {63}), walk({50, 63}, {189, 1})}}, 0), 1);
  EXPECT_EQ(width(columns(5000, 40), 0), 4);
  EXPECT_EQ(plan(columns(5000, 42), {.slabs = false}).width, 1);
  Problem shifted = columns(5000, 40);
  shifted.address = 8;
  EXPECT_EQ(plan(shifted, {.slabs = false}).width, 1);
}

TEST(CudaReducePlan, ManySmallSlicesGoToOneBlock) {
  const Plan small = plan(middle(300'000, 20, 3), {});
  EXPECT_TRUE(small.flat);
  EXPECT_GE(small.slices * 20 * 3 * 4, 8 << 10);    // bytes
  EXPECT_EQ(plan(middle(50, 4, 7), {}).slices, 1);  // rather many blocks
  EXPECT_GT(plan(middle(5552, 600, 3), {.short_rows = false}).slices, 1);
  // One list after another: its blocks come together in two rounds.
  const Plan tall = plan(columns(1949015, 7), {});
  EXPECT_GE(tall.splits, 200);
  EXPECT_LE(tall.gather, 64);
  EXPECT_LE(tall.splits / tall.gather, 64);
}

TEST(CudaReducePlan, AFullReductionHasManyBlocksButNotTooMany) {
  EXPECT_EQ(plan(rows(1, 1024), {}).blocks, 1);
  EXPECT_EQ(plan(rows(1, 1024), {}).threads, 32);
  EXPECT_GE(plan(rows(1, 1 << 20), {}).blocks, 64);
  const Plan large = plan(rows(1, std::int64_t{1} << 34), {});
  EXPECT_GE(large.blocks, 1024);
  EXPECT_LE(large.splits, 8192);
}

TEST(CudaReduceDivider, AgreesWithDivision) {
  const std::int64_t top = (std::int64_t{1} << 31) - 1;
  for (const std::int64_t d : std::initializer_list<std::int64_t>{1, 2, 3, 5, 7, 49, 641, 3136, 65535, 65536, 65537,
                                                                  top - 1, top, top + 1, std::int64_t{1} << 40}) {
    const Divider divide(d);
    for (const std::int64_t base :
         std::initializer_list<std::int64_t>{0, d, 2 * d, 1000 * d, top, top + 1, std::int64_t{1} << 45})
      for (std::int64_t i = std::max<std::int64_t>(0, base - 2); i <= base + 2; ++i)
        ASSERT_EQ(divide(i), i / d) << i << " / " << d;
    for (std::int64_t i = 0; i < 3000; ++i) ASSERT_EQ(divide(i * 715827), i * 715827 / d) << i * 715827 << " / " << d;
  }
}

TEST(CudaReduceMany, DealsEveryTileToOneWarp) {
  std::vector<std::int64_t> lengths{0, 1, 1024, 8 * 1024, 8 * 1024 + 1, 1 << 20, 0, 3};
  for (const std::int64_t most : {1, 5, 40, 2048}) {
    const ManyPlan plan = plan_many(lengths.data(), static_cast<int>(lengths.size()), most);
    ASSERT_EQ(plan.run & (plan.run - 1), 0);
    EXPECT_LE(plan.blocks(), static_cast<std::int64_t>(lengths.size()) + most);
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      const std::int64_t blocks = plan.first_block[k + 1] - plan.first_block[k], of_block = kTile * 8 * plan.run;
      EXPECT_GE(blocks * of_block, lengths[k]);
      EXPECT_TRUE(blocks == 1 || (blocks - 1) * of_block < lengths[k]) << blocks << " blocks for " << lengths[k];
      for (std::int64_t b = plan.first_block[k]; b < plan.first_block[k + 1]; ++b)
        EXPECT_EQ(gpu::array_of_block(plan.first_block, plan.arrays, b), static_cast<int>(k));
    }
  }
}

TEST(CudaReduceWalk, OffsetsAreStridedOnes) {
  const Shape sizes{3, 4, 5}, strides{100, 7, 2};
  const Strided<1> plain = walk(sizes, strides);
  const Walk<1> fast(plain);
  ASSERT_EQ(fast.rank, 3);
  for (std::int64_t i = 0; i < 60; ++i) {
    std::int64_t a[1], b[1];
    plain.offsets(i, a);
    fast.offsets(i, b);
    EXPECT_EQ(a[0], b[0]);
  }
}

}  // namespace
}  // namespace tally::cuda_loops
#endif
