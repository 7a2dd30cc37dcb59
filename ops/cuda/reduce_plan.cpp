#include <tally/ops/cuda/reduce_plan_parts.h>

namespace tally::cuda_loops {
namespace {

bool rows_fit_vectors(const Problem& p, int width) {
  const Strided<1>& list = p.lists.reduced;
  if (width == 1 || p.element_bytes > 4 || !address_fits(p, width)) return false;
  if (list.inner_stride(0) != 1 || !outer_strides_fit(list, width)) return false;
  if (list.rank > 1 && list.inner() % width != 0) return false;
  return p.lists.outputs() == 1 || strides_fit(p.lists.kept, width);
}

// How many warps should share `steps` steps of each of `lists` lists: few steps go to as many warps; many leave each
// warp some, to have loads under way while it merges.
std::int64_t warps_for(std::int64_t lists, std::int64_t steps, std::int64_t share, std::int64_t few,
                       std::int64_t most) {
  const std::int64_t enough = std::min(std::max<std::int64_t>(lists * steps / share, few), most);
  return std::clamp<std::int64_t>(enough / lists, 1, steps);
}

Plan plan_rows(const Problem& p, const Limits& limits) {
  const std::int64_t lists = p.lists.outputs(), tiles = parts(p.lists.length(), kTile);
  Plan plan{.mapping = Plan::Mapping::rows};
  const bool in_one_piece = p.element_bytes <= 4 && p.lists.reduced.rank <= 1 && p.lists.reduced.inner_stride(0) == 1;
  const bool aligned = rows_fit_vectors(p, p.row_width);
  if (limits.vectors && (aligned || in_one_piece)) plan.width = p.row_width;
  plan.shifted = plan.width > 1 && !aligned;
  const std::int64_t at_once = std::max(1, kWarp * plan.width / kLanes);  // tiles of a warp
  // A warp's share: the fewer tiles there are, the fewer, so that all multiprocessors have some. Long walks pay where
  // vectors are loaded.
  const bool long_lists = tiles >= 256;
  const std::int64_t least = long_lists ? 8 : 4, few = long_lists ? limits.few / 2 : limits.few;
  const std::int64_t share =
      plan.width > 1 ? std::clamp<std::int64_t>(lists * tiles / (2 * limits.few), least, 16) : least;
  const std::int64_t part = parts(tiles, warps_for(lists, tiles, share, few, limits.warps));
  plan.run = std::max(power_of_two(part), at_once);
  while (parts(tiles, plan.run * kWarps) > 4 * limits.splits) plan.run *= 2;
  // A run that would leave the last warp of a list next to nothing is cut where warps walk side by side.
  const auto idle = [&] { return parts(tiles, plan.run) > 1 && parts(tiles, plan.run) * plan.run * 7 > tiles * 8; };
  while (p.together && plan.run > std::max(least, at_once) && idle()) plan.run /= 2;
  const std::int64_t warps = parts(tiles, plan.run);
  // A few blocks are sooner done in halves.
  const int most = warps > kWarps && lists * warps <= 128 ? kWarps / 2 : kWarps;
  plan.warps_per_list = static_cast<int>(power_of_two(std::min<std::int64_t>(warps, most)));
  plan.splits = parts(warps, most);
  const int per_block = static_cast<int>(power_of_two(std::min<std::int64_t>(lists * plan.warps_per_list, most)));
  plan.threads = per_block * kWarp;
  plan.blocks = plan.splits == 1 ? parts(lists, per_block / plan.warps_per_list) : lists * plan.splits;
  if (plan.splits > 1) {
    plan.tickets = lists;
    const std::int64_t boxes = power_of_two(plan.splits);
    plan.readers = static_cast<int>(std::min<std::int64_t>(boxes, plan.threads));
    plan.each_bits = std::countr_zero(static_cast<std::uint64_t>(boxes / plan.readers));
  }
  return plan;
}

// One list of few tiles is done as fast as its longest chain. Blocks are one where one can do it, else so many that a
// warp merges them, each of few warps; beyond, blocks are as large as they can be. All measured.
bool fits_tiles(const Problem& p, const Limits& limits) {
  const std::int64_t n = p.lists.length();
  return limits.tiles && limits.vectors && p.tiles && p.lists.outputs() == 1 && p.lists.reduced.rank == 1 &&
         p.lists.reduced.inner_stride(0) == 1 && address_fits(p, kTileWidth) && n >= kTile &&
         n <= kTileBlocks * kTileWarps * kTile;
}
Plan plan_tiles(const Problem& p) {
  const std::int64_t tiles = parts(p.lists.length(), kTile);
  const std::int64_t blocks = tiles <= kTileWarps ? 1 : tiles <= kWarp * kTileWarps ? kWarp : kTileBlocks;
  const std::int64_t warps = power_of_two(parts(tiles, blocks));
  return {.mapping = Plan::Mapping::tiles,
          .width = kTileWidth,
          .threads = static_cast<int>(warps) * kWarp,
          .blocks = parts(tiles, warps),
          .splits = parts(tiles, warps)};
}

Plan plan_short_rows(const Problem& p, const Limits& limits) {
  const std::int64_t n = p.lists.length();
  Plan plan{.mapping = Plan::Mapping::short_rows};
  if (limits.vectors && n > 0 && rows_fit_vectors(p, kVector)) plan.width = kVector;
  plan.rows = n <= kLanes ? 1 : p.heavy ? kRowsOfTile : n <= 2 * kLanes ? 2 : n <= 4 * kLanes ? 4 : kRowsOfTile;
  plan.group = static_cast<int>(power_of_two(parts(std::min<std::int64_t>(n, kLanes), kVector)));
  const std::int64_t groups = parts(p.lists.outputs(), lists_under_way(plan.rows, p.twice_from));
  plan.threads = static_cast<int>(std::clamp<std::int64_t>(power_of_two(groups * plan.group), kWarp, kShortRowThreads));
  plan.blocks = parts(groups, plan.threads / plan.group);
  return plan;
}

Plan plan_columns(const Problem& p, const Limits& limits) {
  const std::int64_t n = p.lists.length(), tiles = parts(n, kTile), inner = p.lists.kept.inner();
  Plan plan{.mapping = Plan::Mapping::columns};
  if (limits.vectors && columns_fit_vectors(p)) plan.width = p.column_width;
  const int width = plan.width;
  const bool simple = p.lists.reduced.rank <= 1;
  // As there are kernels for less than a whole tile.
  plan.rows = !simple || (width == 1 && !p.heavy) ? kRowsOfTile
              : n <= kLanes                       ? 1
              : n <= 4 * kLanes && width > 1      ? 4
                                                  : kRowsOfTile;
  // As many groups of threads behind each other as the exchange of `width` lists needs.
  plan.across =
      static_cast<int>(std::min<std::int64_t>(power_of_two(parts(inner, width)), kWarp * column_values(width) / width));
  const int lanes = kWarp / plan.across * column_lanes(plan.rows);  // a step
  const std::int64_t steps_of_tile = power_of_two(parts(std::min<std::int64_t>(n, kLanes), lanes));
  plan.step_bits = std::countr_zero(static_cast<std::uint64_t>(steps_of_tile));
  plan.steps = tiles * steps_of_tile;
  plan.column_blocks = parts(inner, static_cast<std::int64_t>(plan.across) * width);
  const std::int64_t strips = p.lists.outputs() / inner * plan.column_blocks;
  // Where four blocks fit, half as many are all there at once, where two fit a quarter; three would leave an odd rest.
  const std::int64_t most = limits.blocks * kWarps / (p.column_blocks == 4 ? 2 : p.column_blocks == 2 ? 4 : 1);
  plan.run = power_of_two(parts(plan.steps, warps_for(strips, plan.steps, 4, limits.few, most)));
  while (parts(plan.steps, plan.run * kWarps) > limits.splits) plan.run *= 2;
  const std::int64_t warps = parts(plan.steps, plan.run);
  plan.warps_per_list = static_cast<int>(power_of_two(std::min<std::int64_t>(warps, kWarps)));
  plan.splits = parts(warps, kWarps);
  const int per_block = static_cast<int>(power_of_two(std::min<std::int64_t>(strips * plan.warps_per_list, kWarps)));
  plan.threads = per_block * kWarp;
  plan.blocks = parts(strips, per_block / plan.warps_per_list) * plan.splits;
  plan.levels = std::countr_zero(static_cast<std::uint64_t>(plan.run * column_lanes(plan.rows))) + 1;  // lane by lane
  if (plan.warps_per_list > 1) plan.board = per_block * plan.across * width;
  if (plan.splits > 1) {
    plan.partials = strips * plan.splits * plan.across * width;
    plan.tickets = strips;
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
  if (n == 0) return plan_short_rows(p, limits);
  // Neighbours in memory go to neighbouring threads: along the lists, or across them if that step is the shorter one.
  if (limits.columns && kept != 0 && (reduced == 0 || kept < reduced)) {
    const bool slabs = limits.slabs && prefers_slabs(p, limits);
    if (slabs && limits.short_rows && prefers_short_rows(p, limits)) return plan_short_rows(p, limits);
    if (p.lists.outputs() * n >= 64) return slabs ? plan_slabs(p, limits) : plan_columns(p, limits);
  }
  if (fits_tiles(p, limits)) return plan_tiles(p);
  if (limits.short_rows && (n <= kLanes || (n <= kTile && p.lists.reduced.rank <= 1)))
    return plan_short_rows(p, limits);
  return plan_rows(p, limits);
}

}  // namespace tally::cuda_loops
