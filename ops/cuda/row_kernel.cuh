// Ops on rows: each row is read, reduced in the documented order and mapped by one kernel. Short rows have a group of
// threads that keep them in registers; a long row has a block, whose threads leave what they read in shared memory
// until the result is there (or read it again).
#pragma once

#include <tally/ops/cuda/row_plan.h>
#include <tally/ops/cuda/row_task.cuh>

namespace tally::cuda_loops {

/// How the threads of a warp share a tile: in pass p thread t has kWidth lanes from lane(p) on.
template <int kWidth> struct RowShare {
  static constexpr int kPasses = kVector / kWidth;
  TALLY_DEVICE static int lane(int pass) { return (kWarp * pass + static_cast<int>(threadIdx.x % kWarp)) * kWidth; }
};

/// The tile's values merged within threads and small groups of them: each thread has the number `place` of 32.
template <class U, int kWidth, class Op> TALLY_DEVICE typename U::Value narrowed(const Op& op, typename U::Value* v) {
  constexpr int kPasses = RowShare<kWidth>::kPasses;
  merge_across<U, kPasses>(op, v, 1, kPasses);
  return v[0];
}
template <int kWidth> TALLY_DEVICE int place() {
  constexpr int kPasses = RowShare<kWidth>::kPasses;
  const int t = static_cast<int>(threadIdx.x % kWarp);
  return t % kPasses * (kWarp / kPasses) + t / kPasses;
}
/// The tree over those 32, left in the warp's first thread.
template <class U, int kWidth, class Op> TALLY_DEVICE typename U::Value of_tile(const Op& op, typename U::Value v) {
  constexpr int kPasses = RowShare<kWidth>::kPasses;
  merge_across<U, 1>(op, &v, kPasses, kWarp);
  merge_across<U, 1>(op, &v, 1, kPasses);
  return v;
}

/// The tree over board[0..size), a power of two, of a block; `board` has room for twice as many. All threads get it.
template <class U, class Op>
TALLY_DEVICE typename U::Value across_board(const Op& op, typename U::Value* board, int size) {
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  while (size > kWarp) {
    typename U::Value* next = board + size;
    size /= 2;
    for (int i = thread; i < size; i += threads) next[i] = U::merge(op, board[2 * i], board[2 * i + 1]);
    board = next;
    __syncthreads();
  }
  typename U::Value* result = board + size;
  if (thread < kWarp) {
    typename U::Value v = thread < size ? board[thread] : U::nothing(op);
    merge_across<U, 1>(op, &v, 1, size);
    if (thread == 0) *result = v;
  }
  __syncthreads();
  return *result;
}

/// What a thread of the kernel for long rows holds: a tile's elements of its lanes, in shared memory between the
/// passes.
template <class Op, class T, int kWidth> struct LongRow {
  using C = Compute<T>;
  using Load = gpu::Vector<T, kWidth>;
  static constexpr int kLoads = kPerLane * RowShare<kWidth>::kPasses;  // of an input and a tile

  const RowTask<Op, T>& task;
  std::int64_t row;

  TALLY_DEVICE Load* kept(int round, int input, int i) const {
    Load* all = reinterpret_cast<Load*>(gpu::shared_memory<unsigned char>());
    return all + ((round * Op::inputs + input) * kLoads + i) * static_cast<int>(blockDim.x) + threadIdx.x;
  }
  TALLY_DEVICE int tile(int round) const {
    return round * static_cast<int>(blockDim.x / kWarp) + static_cast<int>(threadIdx.x / kWarp);
  }
  /// Number i of a tile's loads: lane i / kPerLane of the passes, element i % kPerLane of the lane.
  TALLY_DEVICE std::int64_t at(int tile, int i) const {
    return static_cast<std::int64_t>(tile) * kTile + RowShare<kWidth>::lane(i / kPerLane) + kLanes * (i % kPerLane);
  }
};

/// The row's accumulator, in U. kFirst: elements are read from memory, and kept where the plan says so.
template <class U, int kWidth, class Op, class T, class Row>
TALLY_DEVICE typename U::Value reduce_long_row(const RowTask<Op, T>& task, std::int64_t row, const Row& known,
                                               Compute<T> pivot, bool spread, typename U::Value* board) {
  using C = Compute<T>;
  using E = typename Op::template Element<C>;
  using Long = LongRow<Op, T, kWidth>;
  using Load = typename Long::Load;
  constexpr int kPasses = RowShare<kWidth>::kPasses;
  const typename Op::Reduction& reduction = task.reduction;
  const Long held{task, row};
  const int size = spread ? task.plan.board : static_cast<int>(power_of_two_at_least(task.plan.tiles));
  const int used = spread ? static_cast<int>(blockDim.x) : task.plan.tiles;
  for (int i = used + static_cast<int>(threadIdx.x); i < size; i += static_cast<int>(blockDim.x))
    board[i] = U::nothing(reduction);
  TALLY_ROLLED
  for (int round = 0; round < task.plan.rounds; ++round) {
    const int tile = held.tile(round);
    if (tile >= task.plan.tiles) break;
    const std::int64_t first = static_cast<std::int64_t>(tile) * kTile, left = task.n - first;
    const int count = static_cast<int>(left < kTile ? left : kTile);
    Load loads[Op::inputs][Long::kLoads];
    TALLY_UNROLL
    for (int k = 0; k < Op::inputs; ++k) {
      const T* from = task.input(k, row);
      TALLY_UNROLL
      for (int i = 0; i < Long::kLoads; ++i) {
        const std::int64_t at = held.at(tile, i);
        loads[k][i] = at < task.n ? gpu::load_streaming(reinterpret_cast<const Load*>(from + at)) : Load{};
      }
    }
    if (task.plan.keeps) {
      TALLY_UNROLL
      for (int k = 0; k < Op::inputs; ++k) {
        TALLY_UNROLL
        for (int i = 0; i < Long::kLoads; ++i) *held.kept(round, k, i) = loads[k][i];
      }
    }
    typename U::Value v[kPasses];
    TALLY_UNROLL
    for (int p = 0; p < kPasses; ++p) {
      typename U::Value lanes[kWidth];
      TALLY_UNROLL
      for (int w = 0; w < kWidth; ++w) {
        const int lane = RowShare<kWidth>::lane(p) + w;
        E x[kPerLane];
        TALLY_UNROLL
        for (int j = 0; j < kPerLane; ++j) {
          C in[Op::inputs];
          TALLY_UNROLL
          for (int k = 0; k < Op::inputs; ++k) in[k] = convert<C>(loads[k][kPerLane * p + j][w]);
          const std::int64_t at = first + lane + kLanes * j;
          x[j] = task.op.template element<T>(in, known, at < task.n ? task.weight_at(at) : C(0));
        }
        lanes[w] = count == kTile ? U::template lane<kPerLane>(reduction, x, kPerLane, first + lane, E(pivot))
                                  : U::template lane<kPerLane>(reduction, x, lane_length<kPerLane>(count - lane),
                                                               first + lane, E(pivot));
      }
      merge_within<U, kWidth>(reduction, lanes);
      v[p] = lanes[0];
    }
    const typename U::Value one = narrowed<U, kWidth>(reduction, v);
    if (spread) {
      board[tile * kWarp + place<kWidth>()] = one;
    } else {
      const typename U::Value whole = of_tile<U, kWidth>(reduction, one);
      if (threadIdx.x % kWarp == 0) board[tile] = whole;
    }
  }
  return across_board<U>(reduction, board, size);
}

template <int kWidth, class Op, class T, class Map>
TALLY_DEVICE void map_long_row(const RowTask<Op, T>& task, std::int64_t row, const Map& map) {
  using C = Compute<T>;
  using Long = LongRow<Op, T, kWidth>;
  using Load = typename Long::Load;
  const Long held{task, row};
  T* to = task.out + row * task.n;
  TALLY_ROLLED
  for (int round = 0; round < task.plan.rounds; ++round) {
    const int tile = held.tile(round);
    if (tile >= task.plan.tiles) break;
#if defined(__CUDACC__)
#pragma unroll 2
#endif
    for (int i = 0; i < Long::kLoads; ++i) {
      const std::int64_t at = held.at(tile, i);
      if (at >= task.n) continue;
      Load loads[Op::inputs], y;
      TALLY_UNROLL
      for (int k = 0; k < Op::inputs; ++k)
        loads[k] = task.plan.keeps ? *held.kept(round, k, i)
                                   : gpu::load_streaming(reinterpret_cast<const Load*>(task.input(k, row) + at));
      TALLY_UNROLL
      for (int w = 0; w < kWidth; ++w) {
        C in[Op::inputs];
        TALLY_UNROLL
        for (int k = 0; k < Op::inputs; ++k) in[k] = convert<C>(loads[k][w]);
        y[w] = convert<T>(map(in, task.weight_at(at + w), task.bias_at(at + w)));
      }
      gpu::store_streaming(reinterpret_cast<Load*>(to + at), y);
    }
  }
}

/// A row with all the op's care.
template <class Op, class T, int kWidth>
TALLY_COLD void exact_long_row(const RowTask<Op, T>& task, std::int64_t row, typename RowTask<Op, T>::Row known,
                               Compute<T> pivot, void* board) {
  using U = Exact<typename Op::Reduction, typename Op::template Element<Compute<T>>>;
  __syncthreads();
  const auto total = reduce_long_row<U, kWidth>(task, row, known, pivot, false, static_cast<typename U::Value*>(board));
  task.finish(known, row, U::pack(total), pivot);
  map_long_row<kWidth>(task, row, ExactMap<Op, T>{task.op, known});
}

template <class Op, class T, int kWidth>
__global__ void __launch_bounds__(most_row_threads(Op::inputs, sizeof(T)))
    map_long_rows(const TALLY_GRID_CONSTANT RowTask<Op, T> task) {
  using U = RowUnit<Op, Compute<T>>;
  const std::int64_t row = blockIdx.x;
  const Compute<T> pivot = convert<Compute<T>>(*task.input(0, row));
  void* board = gpu::shared_memory<unsigned char>() + task.plan.kept_bytes;
  typename RowTask<Op, T>::Row known = task.begin(row, pivot);
  const auto total = reduce_long_row<U, kWidth>(task, row, known, pivot, task.plan.rounds == 1,
                                                static_cast<typename U::Value*>(board));
  if constexpr (U::checked)
    if (!U::holds(total)) return exact_long_row<Op, T, kWidth>(task, row, known, pivot, board);
  task.finish(known, row, U::pack(total), pivot);
  map_long_row<kWidth>(task, row, QuickMap<Op, T>{task.op, known});
}

/// A thread's elements of a row of one tile: kRows of each of kVector neighbouring lanes.
template <class Op, class T, int kRows> struct ShortRow {
  using C = Compute<T>;
  using Load = gpu::Vector<T, kVector>;
  Load loads[Op::inputs][kRows];

  TALLY_DEVICE void read(const RowTask<Op, T>& task, std::int64_t row, bool exists, int lane) {
    TALLY_UNROLL
    for (int k = 0; k < Op::inputs; ++k) {
      const T* from = task.input(k, exists ? row : 0) + lane;
      TALLY_UNROLL
      for (int j = 0; j < kRows; ++j) {
        const int left = exists ? static_cast<int>(task.n) - lane - kLanes * j : 0;
        if (sizeof(T) <= 4 && task.plan.wide) {
          if constexpr (sizeof(T) <= 4)
            loads[k][j] = left > 0 ? gpu::load_streaming(reinterpret_cast<const Load*>(from + kLanes * j)) : Load{};
        } else {
          TALLY_UNROLL
          for (int w = 0; w < kVector; ++w) loads[k][j][w] = w < left ? from[kLanes * j + w] : T{};
        }
      }
    }
  }
  TALLY_DEVICE void inputs(int j, int w, C (&in)[Op::inputs]) const {
    TALLY_UNROLL
    for (int k = 0; k < Op::inputs; ++k) in[k] = convert<C>(loads[k][j][w]);
  }

  /// The thread's part of the row's accumulator.
  template <class U>
  TALLY_DEVICE typename U::Value folded(const RowTask<Op, T>& task, const typename RowTask<Op, T>::Row& known, int lane,
                                        int n, C pivot) const {
    using E = typename Op::template Element<C>;
    typename U::Value v[kVector];
    TALLY_UNROLL
    for (int w = 0; w < kVector; ++w) {
      E x[kPerLane] = {};
      TALLY_UNROLL
      for (int j = 0; j < kRows; ++j) {
        C in[Op::inputs];
        inputs(j, w, in);
        const int at = lane + w + kLanes * j;
        x[j] = task.op.template element<T>(in, known, at < n ? task.weight_at(at) : C(0));
      }
      v[w] = U::template lane<kRows>(task.reduction, x, lane_length<kRows>(n - lane - w), lane + w, E(pivot));
    }
    merge_within<U, kVector>(task.reduction, v);
    return v[0];
  }

  template <class Map> TALLY_DEVICE void write(const RowTask<Op, T>& task, std::int64_t row, int lane, const Map& map) {
    T* to = task.out + row * task.n + lane;
    TALLY_UNROLL
    for (int j = 0; j < kRows; ++j) {
      const int left = static_cast<int>(task.n) - lane - kLanes * j;
      if (left <= 0) break;
      Load y;
      TALLY_UNROLL
      for (int w = 0; w < kVector; ++w) {
        C in[Op::inputs];
        inputs(j, w, in);
        const int at = w < left ? lane + w + kLanes * j : 0;
        y[w] = convert<T>(map(in, task.weight_at(at), task.bias_at(at)));
      }
      if (sizeof(T) <= 4 && task.plan.wide) {
        if constexpr (sizeof(T) <= 4) gpu::store_streaming(reinterpret_cast<Load*>(to + kLanes * j), y);
      } else {
        TALLY_UNROLL
        for (int w = 0; w < kVector; ++w)
          if (w < left) to[kLanes * j + w] = y[w];
      }
    }
  }
};

/// One row of each group with all the op's care. All threads of a warp call it.
template <class Op, class T>
TALLY_COLD void exact_short_row(const RowTask<Op, T>& task, std::int64_t row, bool exists, int lane) {
  using C = Compute<T>;
  using U = Exact<typename Op::Reduction, typename Op::template Element<C>>;
  const int group = task.plan.group, first_thread = static_cast<int>(threadIdx.x % kWarp) & ~(group - 1);
  ShortRow<Op, T, kRowsOfTile> held;
  held.read(task, row, exists, lane);
  const C pivot = exists ? convert<C>(*task.input(0, row)) : C(0);
  typename RowTask<Op, T>::Row known = exists ? task.begin(row, pivot) : typename RowTask<Op, T>::Row{};
  auto v = held.template folded<U>(task, known, lane, exists ? static_cast<int>(task.n) : 0, pivot);
  merge_across<U, 1>(task.reduction, &v, 1, group);
  v = gpu::shuffle(v, first_thread);
  if (!exists) return;
  task.finish(known, row, U::pack(v), pivot);
  held.write(task, row, lane, ExactMap<Op, T>{task.op, known});
}

template <class Op, class T, int kRows>
__global__ void __launch_bounds__(256) map_short_rows(const TALLY_GRID_CONSTANT RowTask<Op, T> task) {
  using C = Compute<T>;
  using U = RowUnit<Op, C>;
  using Row = typename RowTask<Op, T>::Row;
  constexpr int kUnderWay = short_rows_under_way(kRows);
  const int group = task.plan.group, group_bits = 31 - __clz(group);
  const int r = static_cast<int>(threadIdx.x) & (group - 1), groups = static_cast<int>(blockDim.x) >> group_bits;
  const int first_thread = static_cast<int>(threadIdx.x % kWarp) & ~(group - 1);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (groups * kUnderWay) + (threadIdx.x >> group_bits);
  const std::int64_t ahead = task.rows - first;  // row u of this thread is number first + u·groups
  const int lane = r * kVector, n = static_cast<int>(task.n);
  const auto exists = [&](int u) { return u * groups < ahead; };

  ShortRow<Op, T, kRows> held[kUnderWay];
  TALLY_UNROLL
  for (int u = 0; u < kUnderWay; ++u) held[u].read(task, first + u * groups, exists(u), lane);
  typename U::Value v[kUnderWay];
  C pivots[kUnderWay];
  TALLY_UNROLL
  for (int u = 0; u < kUnderWay; ++u) {
    // The group's first thread has the row's first element.
    pivots[u] = gpu::shuffle(convert<C>(held[u].loads[0][0][0]), first_thread);
    const Row known = exists(u) ? task.begin(first + u * groups, pivots[u]) : Row{};
    v[u] = held[u].template folded<U>(task, known, lane, exists(u) ? n : 0, pivots[u]);
  }
  if (group >= kUnderWay) {
    merge_across<U, kUnderWay>(task.reduction, v, 1, group);
    const typename U::Value mine = v[0];
    TALLY_UNROLL
    for (int u = 0; u < kUnderWay; ++u) v[u] = gpu::shuffle(mine, first_thread + u);
  } else {
    TALLY_UNROLL
    for (int u = 0; u < kUnderWay; ++u) {
      merge_across<U, 1>(task.reduction, v + u, 1, group);
      v[u] = gpu::shuffle(v[u], first_thread);
    }
  }
  if constexpr (U::checked) {
    bool holds = true;
    TALLY_UNROLL
    for (int u = 0; u < kUnderWay; ++u) holds &= !exists(u) || U::holds(v[u]);
    if (!__all_sync(gpu::kAllLanes, holds)) {
      TALLY_ROLLED
      for (int u = 0; u < kUnderWay; ++u) exact_short_row(task, first + u * groups, exists(u), lane);
      return;
    }
  }
  TALLY_UNROLL
  for (int u = 0; u < kUnderWay; ++u) {
    if (!exists(u)) break;
    Row known = task.begin(first + u * groups, pivots[u]);
    task.finish(known, first + u * groups, U::pack(v[u]), pivots[u]);
    held[u].write(task, first + u * groups, lane, QuickMap<Op, T>{task.op, known});
  }
}

template <class Op, class T> bool map_rows(const RowTask<Op, T>& unplanned, bool aligned) {
  using E = typename Op::template Element<Compute<T>>;
  using U = RowUnit<Op, Compute<T>>;
  RowTask<Op, T> task = unplanned;
  task.plan = plan_map(
      {.rows = task.rows,
       .n = task.n,
       .inputs = Op::inputs,
       .element_bytes = sizeof(T),
       .partial_bytes = std::max(sizeof(typename U::Value), sizeof(typename Exact<typename Op::Reduction, E>::Value)),
       .aligned = aligned});
  const RowPlan& plan = task.plan;
  const gpu::Grid grid{plan.blocks, plan.threads, plan.shared_bytes, Op::name};
  switch (plan.mapping) {
    case RowPlan::Mapping::none:
      return false;
    case RowPlan::Mapping::short_rows:
      if (plan.lane_rows == 1)
        gpu::launch(map_short_rows<Op, T, 1>, grid, task);
      else if (plan.lane_rows == 2)
        gpu::launch(map_short_rows<Op, T, 2>, grid, task);
      else
        gpu::launch(map_short_rows<Op, T, 8>, grid, task);
      return true;
    case RowPlan::Mapping::long_rows:
      if constexpr (sizeof(T) <= 4)
        if (plan.wide) {
          gpu::launch(map_long_rows<Op, T, kVector>, grid, task);
          return true;
        }
      gpu::launch(map_long_rows<Op, T, 1>, grid, task);
      return true;
  }
  return false;
}

}  // namespace tally::cuda_loops
