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
  using C = Compute<T>;
  if (!kHeavy<Op, C> && sizeof(PartialOf<Op, C>) <= 8) return sizeof(T) == 8 ? 2 : kVector;
  return sizeof(T) == 2 ? 2 : 1;
}

/// One thread's lanes of one tile, for kWidth lists.
template <class Op, class T, int kWidth> class ColumnReader {
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
    const int count = static_cast<int>(left < kTile ? (left > 0 ? left : 0) : kTile);
    if constexpr (kWidth == kVector) {
      lanes<kLanesHere>(first, lane, count, v);
    } else {
      // One after another, with the next lane's loads under way.
      constexpr int kLevels = 16 / kWidth == 16 ? 4 : 3;
      Partial stack[kLevels][kWidth];
      Load loads[kPerLane], next[kPerLane];
      load(first, lane, count, next);
#if defined(__CUDACC__)
#pragma unroll 1
#endif
      for (int q = 0; q < kLanesHere; ++q) {
        TALLY_UNROLL
        for (int j = 0; j < kPerLane; ++j) loads[j] = next[j];
        if (q + 1 < kLanesHere) load(first, lane + q + 1, count, next);
        fold(loads, first, lane + q, count, v);
        bool carries = true;
        TALLY_UNROLL
        for (int level = 0; level < kLevels; ++level) {
          if (!carries) continue;
          carries = q >> level & 1;
          TALLY_UNROLL
          for (int k = 0; k < kWidth; ++k) {
            if (carries)
              v[k] = F::merge(task_.op, stack[level][k], v[k]);
            else
              stack[level][k] = v[k];
          }
        }
      }
    }
  }

 private:
  using Load = gpu::Vector<T, kWidth>;

  TALLY_DEVICE static Load load_if(bool exists, const T* from) {
    return exists ? gpu::load_streaming(reinterpret_cast<const Load*>(from)) : Load{};
  }
  TALLY_DEVICE void load(std::int64_t first, int lane, int count, Load (&loads)[kPerLane]) const {
    if (lists_ == 0) count = 0;
    const std::int64_t stride = task_.reduced.strides[0][0], at = first + lane;
    if (task_.reduced.rank == 1) {
      const T* from = x_ + at * stride;
      TALLY_UNROLL
      for (int j = 0; j < kPerLane; ++j, from += kLanes * stride) loads[j] = load_if(lane + kLanes * j < count, from);
    } else {  // two dims, below 2^31 elements (reduce_plan.cpp)
      const Divider& inner = task_.reduced.sizes[0];
      TALLY_UNROLL
      for (int j = 0; j < kPerLane; ++j) {
        const std::uint32_t i = static_cast<std::uint32_t>(at) + kLanes * j, outer = inner.divide_small(i);
        const std::int64_t inside = i - outer * static_cast<std::uint32_t>(inner.divisor);
        loads[j] = load_if(lane + kLanes * j < count, x_ + outer * task_.reduced.strides[0][1] + inside * stride);
      }
    }
  }
  TALLY_DEVICE void fold(const Load (&loads)[kPerLane], std::int64_t first, int lane, int count, Partial* v) const {
    const int length = (count - lane + kLanes - 1) / kLanes;
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) {
      C x[kPerLane];
      TALLY_UNROLL
      for (int j = 0; j < kPerLane; ++j) x[j] = convert<C>(loads[j][k]);
      v[k] = length > 0 ? F::some(F::lane(task_.op, x, length, first + lane, pivot_[k])) : F::nothing(task_.op);
    }
  }
  template <int kCount> TALLY_DEVICE void lanes(std::int64_t first, int lane, int count, Partial* v) const {
    if constexpr (kCount == 1) {
      Load loads[kPerLane];
      load(first, lane, count, loads);
      fold(loads, first, lane, count, v);
    } else {
      Partial right[kWidth];
      lanes<kCount / 2>(first, lane, count, v);
      lanes<kCount / 2>(first, lane + kCount / 2, count, right);
      TALLY_UNROLL
      for (int k = 0; k < kWidth; ++k) v[k] = F::merge(task_.op, v[k], right[k]);
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

template <class Op, class T, int kWidth>
__global__ void __launch_bounds__(256, kBlocksAtLeast<Op, T>)
    reduce_columns(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using F = Fold<Op, C>;
  using Partial = typename F::Partial;
  const Plan& plan = task.plan;
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int across = plan.across, columns = across * kWidth;
  const int c = tid & (across - 1), behind = tid / across;
  const int groups = plan.lane_groups * plan.together;  // threads behind each other; a small block has idle ones

  const unsigned splits = static_cast<unsigned>(plan.splits);
  const unsigned split = splits == 1 ? 0 : blockIdx.x % splits;
  const unsigned unit = splits == 1 ? blockIdx.x : blockIdx.x / splits;
  const std::int64_t inner = task.kept.rank > 0 ? task.kept.sizes[0].divisor : 1;
  const unsigned row = unit / static_cast<unsigned>(plan.column_blocks);
  const std::int64_t column0 = (unit - row * plan.column_blocks) * columns;  // of this block
  const std::int64_t list0 = row * inner + column0;
  const int here = static_cast<int>(inner - column0 < columns ? inner - column0 : columns);  // columns that exist

  const int mine = here - c * kWidth, lists = mine < 0 ? 0 : (mine < kWidth ? mine : kWidth);
  const T* x = task.x + (lists > 0 ? offset(task.kept, list0 + c * kWidth) : 0);
  const ColumnReader<Op, T, kWidth> reader(task, x, lists);
  const int lane = (behind & (plan.lane_groups - 1)) * ColumnReader<Op, T, kWidth>::kLanesHere;

  // Warps behind each other, and the columns that one thread of a warp is left with.
  const int in_warp = across < kWarp ? kWarp / across : 1;
  const int layers = across < kWarp ? threads / kWarp : threads / across;
  const int layer = across < kWarp ? tid / kWarp : behind;
  const int sharing = in_warp < kWidth ? in_warp : kWidth;
  const int rank = across < kWarp ? behind & (in_warp - 1) : 0;
  Partial* board = gpu::shared_memory<Partial>();  // [layers][columns], twice

  const std::int64_t tiles = (task.n + kTile - 1) / kTile;
  const std::int64_t rounds = (tiles + plan.together - 1) / plan.together;
  const std::int64_t begin = split * plan.run, end = begin + plan.run < rounds ? begin + plan.run : rounds;
  WarpCounter<Op, C> counter(task.op, layers);
  const auto store = [&](int column, const Partial& total) {
    if (column >= here) return;
    if (splits == 1)
      task.store(list0 + column, total);
    else
      task.partials[(static_cast<std::int64_t>(unit) * splits + split) * columns + column] = total;
  };
  for (std::int64_t round = begin; round < end; ++round) {
    const std::int64_t tile = round * plan.together + behind / plan.lane_groups;
    Partial v[kWidth];
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) v[k] = F::nothing(task.op);
    if (behind < groups && tile < tiles) reader.read(tile, lane, v);
    merge_across<kWidth, C>(task.op, v, across, kWarp);
    Partial* side = board + (round & 1) * layers * columns;
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k)
      if (rank < sharing && k * sharing < kWidth) side[layer * columns + c * kWidth + k * sharing + rank] = v[k];
    __syncthreads();
    // Now `layers` neighbouring threads for a column.
    for (int e = tid; e < (columns * layers + kWarp - 1) / kWarp * kWarp; e += threads) {
      const int column = e / layers;
      Partial total = column < columns ? side[(e & (layers - 1)) * columns + column] : F::nothing(task.op);
      merge_across<1, C>(task.op, &total, 1, layers);
      if (end - begin > 1)
        counter.push(total);  // one pass of this loop, all layers of a full block
      else if (e % layers == 0)
        store(column, total);
    }
  }
  if (end - begin > 1 && tid / kWarp < (columns * layers + kWarp - 1) / kWarp) {
    const Partial total = counter.finish();
    if (tid % layers == 0) store(tid / layers, total);
  }
  struct Shared {
    bool last;
  };
  if (splits == 1 || !is_last_block(task.tickets + unit, splits, gpu::shared<Shared>().last)) return;

  finish_columns(task, unit, list0, columns, here);
}

}  // namespace tally::cuda_loops
