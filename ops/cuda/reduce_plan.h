// Which kernel reduces which lists, and how the work is cut: plain arithmetic on shapes, so that it is tested without a
// device. Whatever it decides, the bits are the same: parts of a list are aligned power-of-two runs of tiles.
#pragma once

#include <cstdint>

#include <tally/ops/reduce_plan.h>

namespace tally::cuda_loops {

constexpr int kVector = 4;  ///< neighbouring lanes of a thread of the kernel for short rows

/// Elements of a lane in a whole tile.
constexpr int kRowsOfTile = 8;

/// Of a block of the kernel for short rows. Small blocks leave sooner when they are done, and others come.
constexpr int kShortRowThreads = 128;
/// Lists that a thread of the kernel for short rows has under way at once; twice as many of `twice_from` rows or more.
constexpr int lists_under_way(int rows, int twice_from) { return (rows < twice_from ? 1 : 2) * kRowsOfTile / rows; }
constexpr int kNeverTwice = 2 * kRowsOfTile;
/// Neighbouring lanes that a thread of the column kernel takes at once.
constexpr int column_lanes(int rows) { return kRowsOfTile / rows; }
/// Lists, of the `width` that a thread of the column kernel loads at once, that it is left with after the exchange.
constexpr int column_values(int width) { return width == 8 ? 2 : 1; }

/// Neighbouring lane positions that a thread of the kernels for slabs merges.
constexpr int kSlabPositions = 8;

/// Lists of at most kFewElements that a thread of the kernel for straight lists has under way at once.
constexpr int kFewElements = 4, kFewLists = 4;
/// Threads that share a list of the kernel for upright lists, of as many half warps, each with kSlabPositions lanes.
constexpr int kUprightGroups = 16;

/// The kernel for tiles: neighbours that a thread loads at once, warps of a block, blocks, and how many of these send
/// their values to one thread, at most.
constexpr int kTileWidth = 4, kTileWarps = 8, kTileBlocks = 128, kTileLetters = 4;

/// What there is to reduce, and what the kernels of the op and type at hand can do.
struct Problem {
  Lists lists;
  std::size_t element_bytes = 4;
  std::uintptr_t address = 0;    ///< of the first element
  int row_width = 4;             ///< neighbours that a thread of the kernel for long rows loads at once where it can
  int column_width = 4;          ///< lists that a thread of the column kernel takes side by side where it can
  int column_blocks = 3;         ///< that a multiprocessor holds of the column kernel
  std::size_t value_bytes = 4;   ///< of a lane's value
  bool together = false;         ///< the warps of a block walk along a list side by side where it is theirs alone
  bool alone = true;             ///< the op has kernels for lists side by side that threads read on their own
  bool tiles = true;             ///< the op has the kernel for tiles
  bool apart = true;             ///< the kernel for short rows can load a thread's single elements a warp apart
  bool heavy = false;            ///< the op has no kernels for lengths between a row of lanes and a tile
  int twice_from = kNeverTwice;  ///< rows of two-byte elements from which a thread has room for more lists
};

struct Plan {
  enum class Mapping : std::uint8_t {
    rows,         ///< a warp takes a run of tiles; the warps of a block, then blocks, share a list
    tiles,        ///< one list in one piece, a tile a warp: the warps of a block, then blocks, share it
    short_rows,   ///< lists of one tile (or of nothing): up to a warp takes several lists
    columns,      ///< a warp takes a strip of lists side by side
    small_slabs,  ///< lists of at most 128 side by side, few or badly aligned: a block takes several slices of them
    slabs,        ///< longer ones: the same, or a part of a slice
    straight,     ///< lists of at most 128 side by side, many of them: a thread takes whole lists
    upright,      ///< longer ones side by side: a block takes a tile of some, each of its warps some lanes
  };
  Mapping mapping = Mapping::rows;
  int width = 1;      ///< neighbours in memory that a thread loads at once: elements, in `columns` lists
  int threads = 256;  ///< a block
  std::int64_t blocks = 0;
  std::int64_t run = 1;     ///< rows: tiles a warp; columns: steps a warp. A power of two
  std::int64_t splits = 1;  ///< blocks a list or strip; above 1 the last one to finish merges them

  bool shifted = false;    ///< rows: lists begin anywhere in a vector
  int warps_per_list = 1;  ///< rows, columns (a strip): of a block, a power of two
  int readers = 1;         ///< rows: threads that read what the blocks of a list send, a power of two,
  int each_bits = 0;       ///< and each of them that of 2^each_bits blocks
  int rows = kRowsOfTile;  ///< short_rows, columns: elements a lane has at most; 1, 2, 4 or 8
  int at_once = 1;         ///< straight: lists a thread
  int group = 1;           ///< short_rows, slabs: threads a list, a power of two

  int across = 1;                  ///< columns: threads side by side, a power of two
  int step_bits = 0;               ///< columns: a tile has 2^step_bits steps
  std::int64_t steps = 1;          ///< columns: of a list
  std::int64_t column_blocks = 1;  ///< columns: strips across one row of lists
  int levels = 1;                  ///< columns: of a warp's binary counter
  int board = 0;                   ///< columns: partial results that a block's warps leave each other

  int depth = 1;      ///< slabs: lane positions of a list that a block has at once
  int slices = 1;     ///< slabs: runs of `across` lists, now any number, that a block has at once
  bool flat = false;  ///< slabs: nothing lies between the lists, so that memory is read from one end to the other
  int loads = 1;      ///< slabs: of a piece of memory: all of it if flat (of a slice), else those of one lane position
  int pitch = 1;      ///< small_slabs: from element to element of a list in shared memory
  int shared = 0;     ///< small_slabs: elements in shared memory
  int own = kSlabPositions;  ///< small_slabs: lane positions a thread merges
  int gather = 1;            ///< slabs: blocks whose partial results come together first, a power of two

  std::int64_t partials = 0, tickets = 0;
};

/// Measured choices, apart from `plan` so that tests and measurements can turn them.
struct Limits {
  std::int64_t few = 4096;          ///< fewer warps than this make parts smaller than four tiles or steps
  std::int64_t warps = 65536;       ///< rows: beyond so many warps, parts are no longer made smaller
  std::int64_t blocks = 1024;       ///< columns: the same for blocks
  std::int64_t splits = 2048;       ///< blocks a list; of a row four times as many
  std::int64_t straight = 1 << 14;  ///< straight: fewer lists are not worth a thread each; upright: an eighth
  bool vectors = true, tiles = true, columns = true, short_rows = true, slabs = true;
};
Limits& limits();

Plan plan(const Problem& problem, const Limits& limits);

}  // namespace tally::cuda_loops
