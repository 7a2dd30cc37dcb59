#include <tally/ops/cuda/row_plan.h>

#include <algorithm>
#include <bit>

#include <tally/ops/cuda/reduce_plan.h>
#include <tally/ops/reduction_order.h>

namespace tally::cuda_loops {
namespace {

constexpr int kWarp = 32, kThreads = 256;
constexpr std::int64_t kLongest = 1024;  // tiles
constexpr std::int64_t kAlone = 64;      // tiles that one block may do while others have nothing to do

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }
int power_of_two(std::int64_t at_least) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(at_least, 1))));
}

bool is_wide(const RowProblem& p) { return p.aligned && p.element_bytes <= 4 && p.n % kVector == 0; }

RowPlan plan_short(const RowProblem& p) {
  RowPlan plan{.mapping = RowPlan::Mapping::short_rows};
  plan.lane_rows = p.n <= kLanes ? 1 : p.n <= 2 * kLanes ? 2 : 8;
  plan.group = power_of_two(parts(std::min<std::int64_t>(p.n, kLanes), kVector));
  const std::int64_t groups = parts(p.rows, short_rows_under_way(plan.lane_rows));
  plan.threads = static_cast<int>(std::clamp<std::int64_t>(power_of_two(groups * plan.group), kWarp, kThreads));
  plan.blocks = parts(groups, plan.threads / plan.group);
  return plan;
}

RowPlan plan_long(const RowProblem& p, const RowDevice& device) {
  RowPlan plan{.mapping = RowPlan::Mapping::long_rows};
  plan.shifted = !is_wide(p) && p.alike && p.element_bytes <= 4;
  // Vectors of a shifted row reach as far as those of one that is longer by kVector - 1.
  plan.tiles = static_cast<int>(parts(p.n + (plan.shifted ? kVector - 1 : 0), kTile));
  // As few rounds as there can be, and no more warps than these leave something to do.
  plan.rounds = static_cast<int>(parts(plan.tiles, most_row_threads(p.inputs, p.element_bytes) / kWarp));
  const auto warps = static_cast<int>(parts(plan.tiles, plan.rounds));
  plan.threads = warps * kWarp;
  plan.blocks = p.rows;
  // Of one round each thread's value; of several, each tile's.
  plan.board = power_of_two(plan.rounds == 1 ? plan.threads : plan.tiles);
  const std::size_t elements = static_cast<std::size_t>(plan.threads) * kPerLane * kVector;
  const std::size_t more = plan.shifted ? static_cast<std::size_t>(warps * kVector) : 0;
  plan.kept_bytes = (elements + more) * static_cast<std::size_t>(plan.rounds * p.inputs) * p.element_bytes;
  const std::size_t board = 2 * static_cast<std::size_t>(plan.board) * p.partial_bytes;
  plan.keeps = plan.kept_bytes + board <= device.shared_bytes;
  if (!plan.keeps) plan.kept_bytes = 0;
  plan.shared_bytes = plan.kept_bytes + board;
  // Two rows side by side hide each other's waits; one alone takes its next along. Copies have at least 4 bytes.
  plan.in_turn = plan.keeps && p.element_bytes >= 4 && 2 * plan.shared_bytes > device.shared_bytes;
  if (plan.in_turn) plan.blocks = std::min<std::int64_t>(p.rows, device.multiprocessors);
  return plan;
}

}  // namespace

RowPlan plan_map(const RowProblem& p, const RowDevice& device) {
  const std::int64_t tiles = parts(p.n, kTile);
  if (p.rows == 0 || p.n == 0 || tiles > kLongest || (tiles > kAlone && p.rows < kAlone)) return {};
  RowPlan plan = tiles == 1 ? plan_short(p) : plan_long(p, device);
  plan.wide = is_wide(p);
  return plan;
}

}  // namespace tally::cuda_loops
