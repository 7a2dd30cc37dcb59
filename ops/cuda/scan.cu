#include <tally/core/cuda/kernel.h>
#include <tally/ops/scan_ops.h>

namespace tally {
namespace {

constexpr int kThreads = kTile / kChunk;  // a thread has a chunk
constexpr std::int64_t kMaxBlocks = 1 << 30;

/// The chunks' ends, as bytes: shared memory runs no constructors.
template <class Acc> struct Ends { alignas(16) unsigned char bytes[kThreads * sizeof(Acc)]; };

/// Steps 1 to 3 of the order in ops/scan.h for the block's tile: `acc` is the thread's chunk, of which `count` elements
/// are there.
template <class Op, class Acc> __device__ void scan_tile(const Op& op, Acc (&acc)[kChunk], int count) {
  Acc* ends = reinterpret_cast<Acc*>(gpu::shared<Ends<Acc>>().bytes);
  const int thread = static_cast<int>(threadIdx.x);
  Acc end = acc[0];
  TALLY_UNROLL
  for (int j = 1; j < kChunk; ++j)
    if (j < count) end = acc[j] = op.combine(acc[j - 1], acc[j]);
  __syncthreads();  // of the tile before: its ends were read
  ends[thread] = end;
  __syncthreads();
  for (int d = 1; d < kThreads; d *= 2) {
    if (thread >= d && count > 0) end = op.combine(ends[thread - d], end);
    __syncthreads();
    ends[thread] = end;
    __syncthreads();
  }
  if (thread == 0) return;
  const Acc before = ends[thread - 1];
  TALLY_UNROLL
  for (int j = 0; j < kChunk; ++j)
    if (j < count) acc[j] = op.combine(before, acc[j]);
}

/// How many of a thread's chunk, which begins at element `first` of its list, are there.
__device__ int chunk_size(std::int64_t first, std::int64_t length) {
  return first >= length ? 0 : static_cast<int>(length - first < kChunk ? length - first : kChunk);
}

template <class C> struct Operands {
  C* y;
  const C *x, *b;
};

/// One tile a block. Without `y`, its total goes to `totals`; with it, the results, combined with the scanned total of
/// the tile before.
template <class Op, class C, class Acc>
__global__ void tile_kernel(Op op, ScanLists lists, Operands<C> operands, Acc* totals) {
  const std::int64_t tiles = lists.tiles(), n = lists.length;
  for (std::int64_t i = blockIdx.x; i < lists.kept.count * tiles; i += gridDim.x) {
    std::int64_t list[3];
    lists.kept.offsets(i / tiles, list);
    const std::int64_t first = i % tiles * kTile + static_cast<std::int64_t>(threadIdx.x) * kChunk;
    const int count = chunk_size(first, n);
    Acc acc[kChunk] = {};
    TALLY_UNROLL
    for (int j = 0; j < kChunk; ++j) {
      if (j >= count) continue;
      const C x = operands.x[lists.at(list, 1, first + j)];
      if constexpr (Op::inputs == 2)
        acc[j] = op.lift(x, operands.b[lists.at(list, 2, first + j)]);
      else
        acc[j] = op.lift(x);
    }
    scan_tile(op, acc, count);
    const bool is_first = i % tiles == 0;
    TALLY_UNROLL
    for (int j = 0; j < kChunk; ++j) {
      if (j >= count) continue;
      if (!operands.y) {
        if (first + j + 1 == n || (first + j + 1) % kTile == 0) totals[i] = acc[j];
      } else {
        if (!is_first) acc[j] = op.combine(totals[i - 1], acc[j]);
        operands.y[lists.at(list, 0, first + j)] = op.project(acc[j], first + j + 1, C(0));
      }
    }
  }
}

/// Lists of `length` accumulators, one after another. A tile a block, in place, its total to `totals` if there is one;
/// or, in the second pass, all combined with the scanned total of the tile before.
template <class Op, class Acc>
__global__ void total_kernel(Op op, Acc* values, Acc* totals, std::int64_t lists, std::int64_t length, bool second) {
  const std::int64_t tiles = (length + kTile - 1) / kTile;
  for (std::int64_t i = blockIdx.x; i < lists * tiles; i += gridDim.x) {
    const std::int64_t first = i % tiles * kTile + static_cast<std::int64_t>(threadIdx.x) * kChunk;
    Acc* chunk = values + i / tiles * length + first;
    const int count = chunk_size(first, length);
    Acc acc[kChunk] = {};
    TALLY_UNROLL
    for (int j = 0; j < kChunk; ++j)
      if (j < count) acc[j] = chunk[j];
    if (!second) scan_tile(op, acc, count);
    TALLY_UNROLL
    for (int j = 0; j < kChunk; ++j) {
      if (j >= count) continue;
      if (second && i % tiles > 0) acc[j] = op.combine(totals[i - 1], acc[j]);
      chunk[j] = acc[j];
      if (!second && totals && (first + j + 1 == length || (first + j + 1) % kTile == 0)) totals[i] = acc[j];
    }
  }
}

gpu::Grid grid_for(std::int64_t tiles, const char* name) {
  return {{tiles < kMaxBlocks ? tiles : kMaxBlocks}, {kThreads}, 0, name};
}

template <class Acc> Tensor room_for(std::int64_t count) {
  return empty({count * static_cast<std::int64_t>(sizeof(Acc))}, {.dtype = uint8, .device = Device::cuda});
}

/// Step 4.
template <class Op, class Acc> void scan_totals(const Op& op, Acc* values, std::int64_t lists, std::int64_t length) {
  const std::int64_t tiles = (length + kTile - 1) / kTile;
  const gpu::Grid grid = grid_for(lists * tiles, op.name);
  const Tensor room = tiles > 1 ? room_for<Acc>(lists * tiles) : Tensor();
  Acc* totals = room.defined() ? static_cast<Acc*>(room.raw()) : nullptr;
  gpu::launch(total_kernel<Op, Acc>, grid, op, values, totals, lists, length, false);
  if (!totals) return;
  scan_totals(op, totals, lists, tiles);
  gpu::launch(total_kernel<Op, Acc>, grid, op, values, totals, lists, length, true);
}

template <class C, class Op> void run(const Op& op, const ScanCall& call) {
  using Acc = typename Op::template Acc<C>;
  const ScanLists lists(call);
  const std::int64_t tiles = lists.tiles(), count = lists.kept.count * tiles;
  const gpu::Grid grid = grid_for(count, op.name);
  Operands<C> operands{nullptr, static_cast<const C*>(call.x.raw()),
                       call.b.defined() ? static_cast<const C*>(call.b.raw()) : nullptr};
  const Tensor room = tiles > 1 ? room_for<Acc>(count) : Tensor();
  Acc* totals = room.defined() ? static_cast<Acc*>(room.raw()) : nullptr;
  if (totals) {
    gpu::launch(tile_kernel<Op, C, Acc>, grid, op, lists, operands, totals);
    scan_totals(op, totals, lists.kept.count, tiles);
  }
  operands.y = static_cast<C*>(call.y.raw());
  gpu::launch(tile_kernel<Op, C, Acc>, grid, op, lists, operands, totals);
}

}  // namespace

void scan(Cuda, const Scan& op, const ScanCall& call) {
  std::visit(
      [&](const auto& one) {
        using Op = std::decay_t<decltype(one)>;
        if (call.y.dtype() == float32) return run<float>(one, call);
        if (call.y.dtype() == float64) return run<double>(one, call);
        if constexpr (op_accepts<Op, std::int64_t>()) run<std::int64_t>(one, call);
      },
      op);
}

}  // namespace tally
