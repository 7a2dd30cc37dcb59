// Which kernel maps which rows, and how threads share them: plain arithmetic, so that it is tested without a device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::cuda_loops {

/// What there is to map, and what the op and type at hand need.
struct RowProblem {
  std::int64_t rows = 0, n = 0;
  int inputs = 1;
  std::size_t element_bytes = 4;
  std::size_t partial_bytes = 8;  ///< of the largest value that goes through shared memory
  bool aligned = true;            ///< all arrays and rows begin at a multiple of kVector elements
  bool alike = true;              ///< a row begins as many elements past such a multiple in all arrays
};

/// What the device has.
struct RowDevice {
  int multiprocessors = 132;
  std::size_t shared_bytes = 227 * 1024;  ///< of a block at most
};
/// This machine's.
const RowDevice& row_device();

struct RowPlan {
  enum class Mapping : std::uint8_t {
    none,        ///< the rows are too long, or too few
    short_rows,  ///< rows of one tile: a group of threads has several of them under way
    long_rows,   ///< a block a row, a warp a tile at a time
  };
  Mapping mapping = Mapping::none;
  bool wide = false;     ///< threads load and store kVector neighbours at once
  bool shifted = false;  ///< long_rows: so they do, and rows may begin anywhere
  int threads = 0;       ///< a block
  std::int64_t blocks = 0;
  int lane_rows = 0;     ///< short_rows: elements a lane has at most: 1, 2 or 8
  int group = 1;         ///< short_rows: threads a row, a power of two
  int tiles = 1;         ///< long_rows: of a row
  int rounds = 1;        ///< long_rows: tiles of a warp
  int board = 0;         ///< long_rows: values that the warps leave each other, a power of two
  bool in_turn = false;  ///< long_rows: a block has several rows, and asks for the next while it writes one
  bool keeps = false;    ///< long_rows: elements wait in shared memory for the row's result, else they are read again
  std::size_t kept_bytes = 0, shared_bytes = 0;
};

/// Rows that a thread of the kernel for short rows has under way at once.
constexpr int short_rows_under_way(int lane_rows) { return lane_rows == 8 ? 1 : 4 / lane_rows; }
/// Threads that a block of the kernel for long rows has at most: two inputs take twice the registers, and
/// doubles four times.
constexpr int most_row_threads(int inputs, std::size_t element_bytes) {
  return element_bytes > 4 ? 256 : inputs > 1 ? 512 : 1024;
}

RowPlan plan_map(const RowProblem& problem, const RowDevice& device);

}  // namespace tally::cuda_loops
