#include <tally/ops/cuda/reduce_plan.h>

#include <algorithm>
#include <bit>

#include <tally/ops/reduction.h>

namespace tally::cuda_loops {
namespace {

constexpr int kWarp = 32, kThreads = 256, kWarps = kThreads / kWarp;

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }
std::int64_t power_of_two(std::int64_t at_least) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(at_least, 1))));
}

// Whether every stride but the innermost is a multiple of `width`.
bool outer_strides_fit(const Strided<1>& walk, int width) {
  for (int d = 0; d + 1 < walk.rank; ++d)
    if (walk.strides[0][d] % width != 0) return false;
  return true;
}
bool strides_fit(const Strided<1>& walk, int width) {
  return outer_strides_fit(walk, width) && (walk.rank == 0 || walk.inner_stride(0) % width == 0);
}
bool address_fits(const Problem& p, int width) {
  return p.address % (p.element_bytes * static_cast<std::size_t>(width)) == 0;
}

bool rows_fit_vectors(const Problem& p) {
  const Strided<1>& list = p.lists.reduced;
  if (!p.row_vectors || !address_fits(p, kVector)) return false;
  if (list.inner_stride(0) != 1 || !outer_strides_fit(list, kVector)) return false;
  if (list.rank > 1 && list.inner() % kVector != 0) return false;
  return p.lists.outputs() == 1 || strides_fit(p.lists.kept, kVector);
}

bool columns_fit_vectors(const Problem& p) {
  const Strided<1>& kept = p.lists.kept;
  const int width = p.column_width;
  return address_fits(p, width) && kept.inner_stride(0) == 1 && kept.inner() % width == 0 &&
         outer_strides_fit(kept, width) && strides_fit(p.lists.reduced, width);
}

Plan plan_rows(const Problem& p, const Limits& limits) {
  const std::int64_t lists = p.lists.outputs(), tiles = parts(p.lists.length(), kTile);
  Plan plan{.mapping = Plan::Mapping::rows};
  // Few tiles go to as many warps; many leave each warp some, to have loads under way while it merges.
  const std::int64_t enough = std::min(std::max<std::int64_t>(lists * tiles / 4, 4096), limits.warps);
  const std::int64_t wanted = std::clamp<std::int64_t>(enough / lists, 1, tiles);
  plan.run = power_of_two(parts(tiles, wanted));
  while (parts(tiles, plan.run * kWarps) > limits.splits) plan.run *= 2;
  const std::int64_t warps = parts(tiles, plan.run);
  plan.warps_per_list = static_cast<int>(power_of_two(std::min<std::int64_t>(warps, kWarps)));
  plan.splits = parts(warps, kWarps);
  const int per_block = static_cast<int>(power_of_two(std::min<std::int64_t>(lists * plan.warps_per_list, kWarps)));
  plan.threads = per_block * kWarp;
  plan.blocks = plan.splits == 1 ? parts(lists, per_block / plan.warps_per_list) : lists * plan.splits;
  if (plan.splits > 1) {
    plan.partials = lists * plan.splits;
    plan.tickets = lists;
  }
  return plan;
}

Plan plan_short_rows(const Problem& p, bool vectors) {
  const std::int64_t n = p.lists.length();
  Plan plan{.mapping = Plan::Mapping::short_rows, .width = vectors ? kVector : 1};
  plan.rows = n <= kLanes ? 1 : n <= 2 * kLanes ? 2 : kRowsOfTile;
  const std::int64_t loads = power_of_two(parts(std::min<std::int64_t>(n, kLanes), plan.width));
  plan.group = static_cast<int>(std::min<std::int64_t>(loads, kWarp));
  plan.passes = static_cast<int>(loads / plan.group);
  const std::int64_t groups = parts(p.lists.outputs(), short_values(plan.width, plan.rows) / plan.passes);
  plan.threads = static_cast<int>(std::clamp<std::int64_t>(power_of_two(groups * plan.group), kWarp, kThreads));
  plan.blocks = parts(groups, plan.threads / plan.group);
  return plan;
}

// How many lanes a thread of the column kernel takes: more where it has fewer lists side by side.
int lanes_a_thread(int width) { return 16 / width; }

Plan plan_columns(const Problem& p, int width, const Limits& limits) {
  const std::int64_t n = p.lists.length(), tiles = parts(n, kTile), inner = p.lists.kept.inner();
  Plan plan{.mapping = Plan::Mapping::columns, .width = width};
  plan.rows = n <= kLanes ? 1 : kRowsOfTile;
  plan.lane_groups = static_cast<int>(power_of_two(parts(std::min<std::int64_t>(n, kLanes), lanes_a_thread(width))));
  plan.across =
      static_cast<int>(std::min<std::int64_t>(power_of_two(parts(inner, width)), kThreads / plan.lane_groups));
  // Where there are tiles to come, all warps of a block stand behind each other (reduce_columns.cuh).
  if (tiles > 1) plan.across = std::min(plan.across, kWarp / width);
  const int room = kThreads / (plan.across * plan.lane_groups);
  plan.together = static_cast<int>(std::min<std::int64_t>(power_of_two(tiles), room));
  plan.threads = std::max(plan.across * plan.lane_groups * plan.together, kWarp);
  plan.column_blocks = parts(inner, static_cast<std::int64_t>(plan.across) * width);
  const std::int64_t units = p.lists.outputs() / inner * plan.column_blocks, rounds = parts(tiles, plan.together);
  const std::int64_t wanted = std::clamp<std::int64_t>(limits.blocks / units, 1, rounds);
  constexpr std::int64_t kMostRounds = 128;  // reduce_columns.cuh keeps that many apart
  plan.run = std::min(power_of_two(parts(rounds, wanted)), kMostRounds);
  while (plan.run < kMostRounds && parts(rounds, plan.run) > limits.splits) plan.run *= 2;
  plan.splits = parts(rounds, plan.run);
  plan.blocks = units * plan.splits;
  if (plan.splits > 1) {
    plan.partials = units * plan.splits * plan.across * width;
    plan.tickets = units;
  }
  return plan;
}

}  // namespace

Limits& limits() {
  static Limits limits;
  return limits;
}

Plan plan(const Problem& p, const Limits& limits) {
  const std::int64_t n = p.lists.length(), kept = p.lists.kept.inner_stride(0),
                     reduced = p.lists.reduced.inner_stride(0);
  if (p.lists.outputs() == 0) return {};
  if (n == 0) return plan_short_rows(p, false);
  // Neighbours in memory go to neighbouring threads: along the lists, or across them if that step is the shorter one.
  if (limits.columns && kept != 0 && (reduced == 0 || kept < reduced)) {
    const Plan columns = plan_columns(p, limits.vectors && columns_fit_vectors(p) ? p.column_width : 1, limits);
    if (columns.across * columns.lane_groups * columns.together >= 64) return columns;
  }
  const bool vectors = limits.vectors && rows_fit_vectors(p);
  if (limits.short_rows && (n <= kLanes || (n < kTile && p.lists.reduced.rank <= 1)))
    return plan_short_rows(p, vectors);
  Plan rows = plan_rows(p, limits);
  rows.width = vectors ? kVector : 1;
  return rows;
}

}  // namespace tally::cuda_loops
