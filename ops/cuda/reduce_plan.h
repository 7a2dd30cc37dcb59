// Which kernel reduces which lists, and how the work is cut: plain arithmetic on shapes, so that it is tested without a
// device. Whatever it decides, the bits are the same: parts of a list are aligned power-of-two runs of tiles.
#pragma once

#include <cstdint>

#include <tally/ops/reduce_plan.h>

namespace tally::cuda_loops {

constexpr int kVector = 4;  ///< elements of one wide load

/// Elements of a lane in a whole tile.
constexpr int kRowsOfTile = 8;

/// Partial results that a thread of the kernel for short rows has at once, so that enough loads are under way.
constexpr int short_values(int width, int rows) { return rows == 1 ? 8 : width == 1 ? (rows == 2 ? 8 : 4) : 8 / rows; }

/// What there is to reduce, and what the kernels of the op and type at hand can do.
struct Problem {
  Lists lists;
  std::size_t element_bytes = 4;
  std::uintptr_t address = 0;  ///< of the first element
  bool row_vectors = true;     ///< there is a kernel with wide loads along a list
  int column_width = kVector;  ///< lists that a thread of the column kernel takes side by side where it can
};

struct Plan {
  enum class Mapping : std::uint8_t {
    rows,        ///< a warp takes a run of tiles; the warps of a block, then blocks, share a list
    short_rows,  ///< lists of one tile (or of nothing): up to a warp takes several lists
    columns,     ///< threads side by side take lists side by side, others behind them the lanes
  };
  Mapping mapping = Mapping::rows;
  int width = 1;      ///< neighbours in memory that a thread loads at once: elements, in `columns` lists
  int threads = 256;  ///< a block
  std::int64_t blocks = 0;
  std::int64_t run = 1;     ///< rows: tiles a warp; columns: rounds a block. A power of two
  std::int64_t splits = 1;  ///< blocks a list; above 1 the last one to finish merges them

  int warps_per_list = 1;  ///< rows: a power of two
  int rows = kRowsOfTile;  ///< short_rows, columns: elements a lane has at most; 1, 2 or 8
  int group = 1;           ///< short_rows: threads a list, a power of two
  int passes = 1;          ///< short_rows: loads a thread makes for one list

  int across = 1;                  ///< columns: threads side by side, a power of two
  int lane_groups = 1;             ///< columns: threads that share a tile, a power of two
  int together = 1;                ///< columns: tiles a round, a power of two
  std::int64_t column_blocks = 1;  ///< columns: blocks across one row of lists

  std::int64_t partials = 0, tickets = 0;
};

/// Measured choices, apart from `plan` so that tests and measurements can turn them.
struct Limits {
  std::int64_t warps = 16384;  ///< rows: beyond so many warps, parts are no longer made smaller
  std::int64_t blocks = 1024;  ///< columns: the same for blocks
  std::int64_t splits = 2048;  ///< blocks a list
  bool vectors = true, columns = true, short_rows = true;
};
Limits& limits();

Plan plan(const Problem& problem, const Limits& limits);

}  // namespace tally::cuda_loops
