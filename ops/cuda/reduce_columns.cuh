// The kernel for lists that lie side by side in memory: threads next to each other take neighbouring lists.
//
// A block is `across` threads side by side, each with kWidth lists, and behind each of them `lane_groups` threads for
// the lanes of a tile and `together` tiles, lane groups first: the tree over the threads behind each other is the tree
// over lanes, then tiles. A round reduces that many tiles; a block does `run` rounds.
#pragma once

#include <tally/ops/cuda/reduce_task.cuh>

namespace tally::cuda_loops {

/// Lists side by side that a thread of this kernel takes where it can: a load of 16 bytes for small accumulators.
template <class Op, class T> constexpr int column_width() {
  if (!kHeavy<Op, Compute<T>>) return sizeof(T) < 8 ? kVector : 2;
  return sizeof(T) == 2 ? 2 : 1;
}

/// One thread's lanes of one tile, for kWidth lists. kRows: 1 where no list is longer than a row of lanes.
template <class Op, class T, int kWidth, int kRows> class ColumnReader {
 public:
  using C = Compute<T>;
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  static constexpr int kLanesHere = 16 / kWidth;

  /// `lists` of the kWidth lists exist; `x` is the first one's first element.
  TALLY_DEVICE ColumnReader(const Task<Op, T>& task, const T* x, int lists) : task_(task), x_(x), lists_(lists) {
    const Load first = load_if(lists > 0 && task.n > 0, x_);
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) pivot_[k] = convert<C>(first[k]);
  }

  /// Lanes [lane, lane + kLanesHere) of the tile: v[k] for list k.
  TALLY_DEVICE void read(std::int64_t tile, int lane, Partial* v) const {
    const std::int64_t first = tile * kTile, left = task_.n - first;
    const int count = lists_ == 0 ? 0 : static_cast<int>(left < kTile ? left : kTile);
    if (task_.reduced.rank > 1)
      read_scattered_lanes(*this, first, lane, count, v);
    else if constexpr (kRows == 1)
      single_elements(lane, count, v);
    else if constexpr (kWidth == kVector)
      unrolled<kLanesHere>(first, lane, count, v);
    else
      rolled(first, lane, count, v);
  }

 private:
  using Load = gpu::Vector<T, kWidth>;
  static constexpr int kLevels = kWidth == 1 ? 4 : kWidth == 2 ? 3 : 2;

  TALLY_DEVICE static Load load_if(bool exists, const T* from) {
    return exists ? gpu::load_streaming(reinterpret_cast<const Load*>(from)) : Load{};
  }
  TALLY_DEVICE void load(std::int64_t first, int lane, int count, Load (&rows)[kPerLane]) const {
    const std::int64_t stride = task_.reduced.strides[0][0];
    const T* from = x_ + (first + lane) * stride;
    TALLY_UNROLL
    for (int j = 0; j < kPerLane; ++j, from += kLanes * stride) rows[j] = load_if(lane + kLanes * j < count, from);
  }
  TALLY_DEVICE void fold(const Load (&rows)[kPerLane], std::int64_t first, int lane, int count, Partial* v) const {
    const int length = (count - lane + kLanes - 1) / kLanes;
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) {
      C x[kPerLane];
      TALLY_UNROLL
      for (int j = 0; j < kPerLane; ++j) x[j] = convert<C>(rows[j][k]);
      v[k] = length > 0 ? F::some(F::lane(task_.op, x, length, first + lane, pivot_[k])) : F::nothing(task_.op);
    }
  }
  TALLY_DEVICE void merge(const Partial* a, const Partial* b, Partial* v) const {
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) v[k] = F::merge(task_.op, a[k], b[k]);
  }

  // Each lane is one element: all loads first.
  TALLY_DEVICE void single_elements(int lane, int count, Partial* v) const {
    const std::int64_t stride = task_.reduced.strides[0][0];
    const T* from = x_ + lane * stride;
    Load loads[kLanesHere];
    TALLY_UNROLL
    for (int q = 0; q < kLanesHere; ++q, from += stride) loads[q] = load_if(lane + q < count, from);
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) {
      Partial lanes[kLanesHere];
      TALLY_UNROLL
      for (int q = 0; q < kLanesHere; ++q) {
        const C x[kPerLane] = {convert<C>(loads[q][k])};
        lanes[q] = lane + q < count ? F::some(F::lane(task_.op, x, 1, lane + q, pivot_[k])) : F::nothing(task_.op);
      }
      merge_within<kLanesHere, C>(task_.op, lanes);
      v[k] = lanes[0];
    }
  }

  template <int kCount> TALLY_DEVICE void unrolled(std::int64_t first, int lane, int count, Partial* v) const {
    if constexpr (kCount == 1) {
      Load rows[kPerLane];
      load(first, lane, count, rows);
      fold(rows, first, lane, count, v);
    } else {
      Partial right[kWidth];
      unrolled<kCount / 2>(first, lane, count, v);
      unrolled<kCount / 2>(first, lane + kCount / 2, count, right);
      merge(v, right, v);
    }
  }

  // One lane after another, with the next one's loads under way.
  TALLY_DEVICE void rolled(std::int64_t first, int lane, int count, Partial* v) const {
    Partial stack[kLevels][kWidth];
    Load rows[kPerLane], next[kPerLane];
    load(first, lane, count, next);
    TALLY_ROLLED
    for (int q = 0; q < kLanesHere; ++q) {
      TALLY_UNROLL
      for (int j = 0; j < kPerLane; ++j) rows[j] = next[j];
      if (q + 1 < kLanesHere) load(first, lane + q + 1, count, next);
      if constexpr (F::any_order) {
        Partial one[kWidth] = {};
        fold(rows, first, lane + q, count, one);
        TALLY_UNROLL
        for (int k = 0; k < kWidth; ++k) v[k] = q == 0 ? one[k] : F::merge(task_.op, v[k], one[k]);
      } else {
        fold(rows, first, lane + q, count, v);
        push(stack, q, v);
      }
    }
  }
  // The tree over lanes that come one after another, as a binary counter; after the last one the result is in v.
  TALLY_DEVICE void push(Partial (&stack)[kLevels][kWidth], int q, Partial* v) const {
    bool carries = true;
    TALLY_UNROLL
    for (int level = 0; level < kLevels; ++level) {
      if (!carries) continue;
      carries = q >> level & 1;
      if (carries) {
        merge(stack[level], v, v);
      } else {
        TALLY_UNROLL
        for (int k = 0; k < kWidth; ++k) stack[level][k] = v[k];
      }
    }
  }
  // Lists of several dims: one copy of the code.
  TALLY_COLD friend void read_scattered_lanes(const ColumnReader& reader, std::int64_t first, int lane, int count,
                                              Partial* v) {
    Partial stack[kLevels][kWidth];
    TALLY_ROLLED
    for (int q = 0; q < kLanesHere; ++q) {
      Load rows[kPerLane];
      const std::int64_t end = first + (lane + q < count ? count : 0);
      TALLY_ROLLED
      for (int j = 0; j < kPerLane; ++j) {
        const std::int64_t at = first + lane + q + kLanes * j;
        rows[j] = load_if(at < end, reader.x_ + (at < end ? offset(reader.task_.reduced, at) : 0));
      }
      reader.fold(rows, first, lane + q, count, v);
      reader.push(stack, q, v);
    }
  }

  const Task<Op, T>& task_;
  const T* x_;
  int lists_;
  C pivot_[kWidth];
};

/// The last block of some columns: the tree over what all blocks have left of them. At most 32 columns, of which `here`
/// exist: as many threads each as there are, of one warp.
template <class Op, class T>
TALLY_COLD void finish_columns(const Task<Op, T>& task, std::int64_t unit, std::int64_t list0, int columns, int here) {
  using C = Compute<T>;
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int sharers = threads / columns < kWarp ? threads / columns : kWarp, column = tid / sharers;
  const std::int64_t splits = task.plan.splits, chunk = power_of_two_at_least((splits + sharers - 1) / sharers);
  PartialOf<Op, C> total = Fold<Op, C>::nothing(task.op);
  if (column < here)
    total = merge_memory<C>(task.op, task.partials + unit * splits * columns + column, columns,
                            (tid & (sharers - 1)) * chunk, chunk, splits);
  merge_across<1, C>(task.op, &total, 1, sharers);
  if (tid % sharers == 0 && column < here) task.store(list0 + column, total);
}

template <class Op, class T, int kWidth, int kRows>
__global__ void __launch_bounds__(256, 3) reduce_columns(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  using Reader = ColumnReader<Op, T, kWidth, kRows>;
  const Plan& plan = task.plan;
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int across = plan.across, across_bits = 31 - __clz(across), columns = across * kWidth;
  const int c = tid & (across - 1), behind = tid >> across_bits;
  const int groups = plan.lane_groups * plan.together;  // threads behind each other; a small block has idle ones

  const unsigned splits = static_cast<unsigned>(plan.splits);
  const unsigned split = splits == 1 ? 0 : blockIdx.x % splits;
  const unsigned unit = splits == 1 ? blockIdx.x : blockIdx.x / splits;
  const std::int64_t inner = task.kept.sizes[0].divisor;
  const unsigned row = unit / static_cast<unsigned>(plan.column_blocks);
  const std::int64_t column0 = (unit - row * plan.column_blocks) * columns;  // of this block
  const std::int64_t list0 = row * inner + column0;
  const int here = static_cast<int>(inner - column0 < columns ? inner - column0 : columns);  // columns that exist

  const int mine = here - c * kWidth, lists = mine < 0 ? 0 : (mine < kWidth ? mine : kWidth);
  const Reader reader(task, task.x + (lists > 0 ? offset(task.kept, list0 + c * kWidth) : 0), lists);
  const int lane = (behind & (plan.lane_groups - 1)) * Reader::kLanesHere;
  const int tile_bits = 31 - __clz(plan.lane_groups);

  // Warps behind each other, and the columns that one thread of a warp is left with.
  const int in_warp = across < kWarp ? kWarp >> across_bits : 1;
  const int layers = across < kWarp ? threads / kWarp : threads >> across_bits, layer_bits = 31 - __clz(layers);
  const int layer = across < kWarp ? tid / kWarp : behind;
  const int sharing = in_warp < kWidth ? in_warp : kWidth;
  const int rank = across < kWarp ? behind & (in_warp - 1) : 0;
  Partial* board = gpu::shared_memory<Partial>();  // [layers][columns], twice

  const std::int64_t tiles = (task.n + kTile - 1) / kTile;
  const std::int64_t rounds = (tiles + plan.together - 1) / plan.together;
  const std::int64_t begin = split * plan.run, end = begin + plan.run < rounds ? begin + plan.run : rounds;
  const bool counts = !F::any_order && end - begin > 1;
  const int busy = (columns * layers + kWarp - 1) / kWarp * kWarp;  // threads, in whole warps
  WarpCounter<Op, C> counter(task.op, layers);
  const auto store = [&](int column, const Partial& total) {
    if (column >= here) return;
    if (splits == 1)
      store_seldom(task, list0 + column, total);
    else
      task.partials[(static_cast<std::int64_t>(unit) * splits + split) * columns + column] = total;
  };
  Partial v[kWidth];
  TALLY_UNROLL
  for (int k = 0; k < kWidth; ++k) v[k] = F::nothing(task.op);
  for (std::int64_t round = begin; round < end; ++round) {
    const std::int64_t tile = round * plan.together + (behind >> tile_bits);
    const bool reads = behind < groups && tile < tiles;
    if constexpr (F::any_order) {
      Partial one[kWidth] = {};
      if (reads) {
        reader.read(tile, lane, one);
        TALLY_UNROLL
        for (int k = 0; k < kWidth; ++k) v[k] = F::merge(task.op, v[k], one[k]);
      }
      if (round + 1 < end) continue;
    } else {
      TALLY_UNROLL
      for (int k = 0; k < kWidth; ++k) v[k] = F::nothing(task.op);
      if (reads) reader.read(tile, lane, v);
    }
    merge_across<kWidth, C>(task.op, v, across, kWarp);
    Partial* side = board + (round & 1) * layers * columns;
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k)
      if (rank < sharing && k * sharing < kWidth) side[layer * columns + c * kWidth + k * sharing + rank] = v[k];
    __syncthreads();
    // Now `layers` neighbouring threads for a column.
    for (int e = tid; e < busy; e += threads) {
      const int column = e >> layer_bits;
      Partial total = column < columns ? side[(e & (layers - 1)) * columns + column] : F::nothing(task.op);
      merge_across<1, C>(task.op, &total, 1, layers);
      if (counts)
        counter.push(total);  // one pass of this loop, all layers of a full block
      else if ((e & (layers - 1)) == 0)
        store(column, total);
    }
  }
  if (counts && (tid | (kWarp - 1)) < busy) {
    const Partial total = counter.finish();
    if ((tid & (layers - 1)) == 0) store(tid >> layer_bits, total);
  }
  struct Shared {
    bool last;
  };
  if (splits == 1 || !is_last_block(task.tickets + unit, splits, gpu::shared<Shared>().last)) return;
  finish_columns(task, unit, list0, columns, here);
}

}  // namespace tally::cuda_loops
