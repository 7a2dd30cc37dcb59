// The plans of the kernels for lists side by side that are not the column kernel's.
#include <tally/ops/cuda/reduce_plan_parts.h>

namespace tally::cuda_loops {
namespace {

// Bytes that a block for small slabs copies to shared memory, and that one for slabs reads and then holds there:
// measured.
constexpr std::int64_t kStaged = 16 * 1024, kRead = 48 * 1024, kHeld = 24 * 1024;

// Lists side by side, at most a stride apart from those of the next slice.
bool slabs_fit(const Problem& p) {
  const Strided<1>& kept = p.lists.kept;
  return p.lists.reduced.rank == 1 && kept.inner_stride(0) == 1 && kept.rank <= 2 &&
         (kept.rank < 2 || kept.strides[0][0] >= 0) && p.lists.outputs() / kept.inner() <= INT32_MAX;
}
// Whether columns would load one list at a time, leave threads without one, or give a warp a small slice. Lists of half
// a row of lanes and more, beside many others, are better off there even so: a window of a few across has little to
// read.
bool slabs_are_better(const Problem& p) {
  const std::int64_t inner = p.lists.kept.inner(), n = p.lists.length();
  if (!columns_fit_vectors(p)) {
    const bool in_windows = n * inner * static_cast<std::int64_t>(p.element_bytes) > 2 * kStaged;
    return !(in_windows && inner >= kLanes && n > kLanes / 2 && n <= kLanes);
  }
  if (p.column_width == 1 && inner < kWarp / 2) return true;
  return p.lists.kept.rank > 1 && n <= kLanes && n * inner <= kTile / 2;
}

// How the blocks of each of `units` come together.
void gather(Plan& plan, std::int64_t units) {
  while (std::int64_t{plan.gather} * plan.gather < plan.splits) plan.gather *= 2;
  const std::int64_t gathers = parts(plan.splits, plan.gather);
  plan.partials = units * (plan.splits + gathers) * plan.across;
  plan.tickets = units * (gathers + 1);
}

// Many lists, for threads that read beside their neighbours. Of many short slices a warp finds too little in a line of
// memory, unless they are short lists too. How many are worth it, and which are too many: measured.
bool go_straight(const Problem& p, const Limits& limits) {
  const std::int64_t n = p.lists.length(), inner = p.lists.kept.inner(), lists = p.lists.outputs();
  if (!p.alone || !slabs_fit(p) || (columns_fit_vectors(p) && !slabs_are_better(p))) return false;
  if (n <= kLanes) return lists >= limits.straight && (inner >= 4 || n <= 16);
  const std::int64_t tiles = parts(n, kTile), of_tiles = tiles * lists;
  if (of_tiles < limits.straight / 8) return false;
  if (tiles == 1) return inner >= 16 || (inner >= 5 && n <= kTile / 2);
  return p.lists.kept.rank <= 1 && inner >= 31 && tiles <= limits.splits && of_tiles <= 1 << 17;
}

Plan plan_straight(const Problem& p) {
  Plan plan{.mapping = Plan::Mapping::straight, .threads = kThreads / 4};  // small blocks are dealt evenly
  if (p.lists.length() <= kFewElements) plan.at_once = kFewLists;
  plan.blocks = parts(p.lists.outputs(), std::int64_t{plan.threads} * plan.at_once);
  return plan;
}

// A block a tile, of half a warp's lists where there are not enough.
Plan plan_upright(const Problem& p, const Limits& limits) {
  const std::int64_t n = p.lists.length(), lists = p.lists.outputs();
  Plan plan{.mapping = Plan::Mapping::upright, .rows = n <= 4 * kLanes ? 4 : kRowsOfTile};
  plan.splits = parts(n, kTile);
  plan.across = parts(lists, kWarp) * plan.splits < limits.blocks * 5 / 16 ? kWarp / 2 : kWarp;
  plan.column_blocks = parts(lists, plan.across);
  plan.blocks = plan.column_blocks * plan.splits;
  if (plan.splits > 1) gather(plan, plan.column_blocks);
  return plan;
}

// Lists of at most 128, whole slices or windows of them, to be copied to shared memory.
Plan plan_small_slabs(const Problem& p, const Limits& limits) {
  const Strided<1>& kept = p.lists.kept;
  const std::int64_t n = p.lists.length(), inner = kept.inner(), slices = p.lists.outputs() / inner;
  const std::int64_t step = p.lists.reduced.inner_stride(0), slice_step = kept.rank > 1 ? kept.strides[0][0] : 0;
  const auto bytes = static_cast<std::int64_t>(p.element_bytes), width = 16 / bytes;
  Plan plan{.mapping = Plan::Mapping::small_slabs, .width = static_cast<int>(width), .rows = 1};
  plan.flat = step == inner && n * inner * bytes <= 2 * kStaged;
  std::int64_t at_once = 1, across = inner;
  if (!plan.flat) {
    across = std::min(inner, std::max<std::int64_t>(kStaged / (n * bytes) / kWarp, 1) * kWarp);
    across = parts(inner, parts(inner, across));  // windows of one size
  } else if (slice_step == n * inner) {
    const std::int64_t many = std::max<std::int64_t>(limits.blocks / 2, 1);  // blocks, rather than full ones
    at_once = std::clamp<std::int64_t>(kStaged / (n * inner * bytes), 1, parts(slices, many));
  }
  plan.across = static_cast<int>(across);
  plan.depth = static_cast<int>(n);
  plan.slices = static_cast<int>(at_once);
  plan.column_blocks = parts(inner, across);
  plan.blocks = parts(slices, at_once) * plan.column_blocks;
  const std::int64_t piece = plan.flat ? at_once * n * inner : across;
  plan.loads = static_cast<int>(parts(piece + width - 1, width));
  // Copies are aligned as their originals.
  plan.pitch = static_cast<int>(plan.flat ? inner : across + ((step - across) % width + width) % width);
  plan.shared = static_cast<int>((plan.flat ? piece : n * plan.pitch) + width);
  // Threads a list: as few as keep the block busy.
  const auto group = [&](int own) { return power_of_two(parts(n, own)); };
  while (plan.own < n && at_once * across * group(plan.own) > kThreads) plan.own *= 2;
  plan.group = static_cast<int>(group(plan.own));
  const std::int64_t loads = (plan.flat ? 1 : n) * plan.loads,
                     most = std::max(parts(loads, 4), at_once * across * plan.group);
  plan.threads = static_cast<int>(parts(std::min<std::int64_t>(most, kThreads), kWarp) * kWarp);
  return plan;
}

// A step is as many lanes as a block has room for: of whole slices, or of a window across one.
Plan plan_long_slabs(const Problem& p, const Limits& limits) {
  const Strided<1>& kept = p.lists.kept;
  const std::int64_t n = p.lists.length(), inner = kept.inner(), slices = p.lists.outputs() / inner;
  const std::int64_t step = p.lists.reduced.inner_stride(0), lanes = std::min<std::int64_t>(n, kLanes);
  const std::int64_t width = p.column_width;
  Plan plan{.mapping = Plan::Mapping::slabs, .width = static_cast<int>(width)};
  const bool aligned =
      address_fits(p, plan.width) && strides_fit(p.lists.reduced, plan.width) && outer_strides_fit(kept, plan.width);
  const std::int64_t slack = aligned ? 0 : width - 1, rows = parts(std::min<std::int64_t>(n, kTile), kLanes);
  const auto fits = [&](std::int64_t positions) {
    return positions * rows * static_cast<std::int64_t>(p.element_bytes) <= kRead &&
           positions * static_cast<std::int64_t>(p.value_bytes) <= kHeld;
  };
  plan.flat = step == inner && fits(kSlabPositions * inner);
  std::int64_t across = inner, depth = kSlabPositions, at_once = 1;
  if (plan.flat) {
    while (depth < kLanes && fits(2 * depth * inner)) depth *= 2;
    const std::int64_t most =
        n <= kTile && depth >= lanes ? parts(slices, std::max<std::int64_t>(limits.blocks, 1)) : 1;
    while (at_once < most && fits((at_once + 1) * depth * inner)) ++at_once;
  } else {
    // Whole loads of the threads that have a lane, whatever the alignment.
    const std::int64_t unit = kThreads / kSlabPositions * width;
    std::int64_t widest = unit;
    while (fits(depth * (widest + unit))) widest += unit;
    widest -= slack;
    const std::int64_t windows = parts(inner, widest);
    if (windows > 1) across = aligned ? widest : parts(inner, windows);
  }
  plan.across = static_cast<int>(across);
  plan.depth = static_cast<int>(depth);
  plan.slices = static_cast<int>(at_once);
  plan.column_blocks = parts(inner, across);
  plan.loads = static_cast<int>(parts((plan.flat ? depth * inner : across) + slack, width));
  plan.group = static_cast<int>(depth / kSlabPositions);
  const std::int64_t loads = (plan.flat ? at_once : depth) * plan.loads;
  plan.threads = static_cast<int>(parts(parts(loads, parts(loads, kThreads)), kWarp) * kWarp);

  const std::int64_t units = parts(slices, at_once) * plan.column_blocks;
  plan.steps = n <= kTile ? parts(lanes, depth) : parts(n, kTile) * (kLanes / depth);
  // Blocks that share lists wait for each other, which a small part is not worth.
  const std::int64_t bytes = p.lists.outputs() * n * static_cast<std::int64_t>(p.element_bytes);
  const std::int64_t enough = std::min<std::int64_t>(bytes / (kRead / 4), 400);  // for all multiprocessors
  const std::int64_t blocks = std::min(limits.blocks, std::max(bytes / kRead, enough));
  plan.run = power_of_two(parts(plan.steps, std::clamp<std::int64_t>(blocks / units, 1, plan.steps)));
  while (parts(plan.steps, plan.run) > limits.splits) plan.run *= 2;
  plan.splits = parts(plan.steps, plan.run);
  plan.levels = std::countr_zero(static_cast<std::uint64_t>(plan.run)) + 1;
  plan.blocks = units * plan.splits;
  if (plan.splits > 1) gather(plan, units);
  return plan;
}

}  // namespace

bool prefers_slabs(const Problem& p, const Limits& limits) {
  return (slabs_fit(p) && slabs_are_better(p)) || go_straight(p, limits);
}

// A warp's neighbours in its block find what it leaves of each line of memory in the cache. How many lists side by side
// are few enough for that: measured.
bool prefers_short_rows(const Problem& p, const Limits& limits) {
  const std::int64_t n = p.lists.length(), inner = p.lists.kept.inner();
  if (!p.alone || n <= kLanes || n > kTile || !slabs_fit(p) || p.lists.outputs() > INT32_MAX) return false;
  if (go_straight(p, limits)) return n <= 2 * kLanes && inner < 16;
  return inner <= (p.apart || p.element_bytes < 4 ? 10 : 3);
}

Plan plan_slabs(const Problem& p, const Limits& limits) {
  if (go_straight(p, limits)) return p.lists.length() <= kLanes ? plan_straight(p) : plan_upright(p, limits);
  return p.lists.length() <= kLanes ? plan_small_slabs(p, limits) : plan_long_slabs(p, limits);
}

}  // namespace tally::cuda_loops
