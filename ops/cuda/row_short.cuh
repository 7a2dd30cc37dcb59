// Ops on rows of one tile, most of them short: a group of threads has several of them under way, in registers.
#pragma once

#include <tally/ops/cuda/row_task.cuh>

namespace tally::cuda_loops {

/// A thread's elements of a row: kRows of each of kVector neighbouring lanes, the first of them `lane`.
template <class Op, class T, int kRows> struct ShortRow {
  using C = Compute<T>;
  using Load = gpu::Vector<T, kVector>;
  using Row = typename RowTask<Op, T>::Row;
  Load loads[kRows][Op::inputs];

  /// Of one width all loads are asked for together: with a branch at each, the next ones waited for the one before.
  TALLY_DEVICE void read(const RowTask<Op, T>& task, std::int64_t row, bool exists, int lane) {
    const auto read_all = [&](auto read_one) {
      TALLY_UNROLL
      for (int k = 0; k < Op::inputs; ++k) {
        const T* from = task.input(k, exists ? row : 0) + lane;
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j)
          loads[j][k] = read_one(from + kLanes * j, exists ? static_cast<int>(task.n) - lane - kLanes * j : 0);
      }
    };
    if constexpr (sizeof(T) <= 4)
      if (task.plan.wide)
        return read_all([](const T* from, int left) {
          return left > 0 ? gpu::load_streaming(reinterpret_cast<const Load*>(from)) : Load{};
        });
    read_all([](const T* from, int left) {
      Load load;
      TALLY_UNROLL
      for (int w = 0; w < kVector; ++w) load[w] = w < left ? from[w] : T{};
      return load;
    });
  }

  /// The thread's part of the row's accumulator.
  template <class U>
  TALLY_DEVICE typename U::Value fold(const RowTask<Op, T>& task, const Row& known, int lane, int n, C pivot) const {
    using E = typename Op::template Element<C>;
    E x[kVector][kPerLane] = {};
    TALLY_UNROLL
    for (int j = 0; j < kRows; ++j) {
      const auto columns = task.template columns<kVector>(lane + kLanes * j, n - lane - kLanes * j);
      TALLY_UNROLL
      for (int w = 0; w < kVector; ++w) {
        C in[Op::inputs];
        TALLY_UNROLL
        for (int k = 0; k < Op::inputs; ++k) in[k] = convert<C>(loads[j][k][w]);
        x[w][j] = task.op.template element<T>(in, known, columns.weight[w]);
      }
    }
    // Both inputs' elements leave no registers for two copies of the code.
    const bool full = Op::inputs == 1 && n - lane >= kVector + kLanes * (kRows - 1);
    typename U::Value v[kVector];
    TALLY_UNROLL
    for (int w = 0; w < kVector; ++w)
      v[w] = full ? U::template lane<kRows>(task.reduction, x[w], kRows, lane + w, E(pivot))
                  : U::template lane<kRows>(task.reduction, x[w], lane_length<kRows>(n - lane - w), lane + w, E(pivot));
    merge_within<U, kVector>(task.reduction, v);
    return v[0];
  }

  template <class Map>
  TALLY_DEVICE void write(const RowTask<Op, T>& task, std::int64_t row, int lane, const Map& map) const {
    T* to = task.out + row * task.n + lane;
    TALLY_UNROLL
    for (int j = 0; j < kRows; ++j) {
      const int left = static_cast<int>(task.n) - lane - kLanes * j;
      if (left <= 0) break;
      const Load y = map(loads[j], task.template columns<kVector>(lane + kLanes * j, left));
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
  const int group = task.plan.group, r = static_cast<int>(threadIdx.x) & (group - 1);
  ShortRow<Op, T, kRowsOfTile> held;
  held.read(task, row, exists, lane);
  const C pivot = exists ? convert<C>(*task.input(0, row)) : C(0);
  typename RowTask<Op, T>::Row known{};
  if (exists) known = task.begin(row, pivot);
  auto v = held.template fold<U>(task, known, lane, exists ? static_cast<int>(task.n) : 0, pivot);
  merge_across<U, 1>(task.reduction, &v, 1, group);
  v = gpu::shuffle(v, static_cast<int>(threadIdx.x % kWarp) - r);
  if (!exists) return;
  task.finish(known, row, U::pack(v), pivot, r == 0);
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
  gpu::begin_early();

  // What is to be known of a row, one thread of the group finds out: number u, or with fewer the first for all.
  const bool each = group >= kUnderWay;
  const std::int64_t mine = first + r * groups;
  const bool has = each && r < kUnderWay && exists(r);
  // Asked for before the row, so that one wait is enough.
  typename RowTask<Op, T>::Kept kept_of_mine{};
  if constexpr (RowTask<Op, T>::given)
    if (has) kept_of_mine = task.kept[mine];
  ShortRow<Op, T, kRows> held[kUnderWay];
  TALLY_UNROLL
  for (int u = 0; u < kUnderWay; ++u) held[u].read(task, first + u * groups, exists(u), lane);

  Row known[kUnderWay] = {};
  C pivots[kUnderWay], pivot_of_mine = 0;
  TALLY_UNROLL
  for (int u = 0; u < kUnderWay; ++u) {
    pivots[u] = gpu::shuffle(convert<C>(held[u].loads[0][0][0]), first_thread);
    if (u == r) pivot_of_mine = pivots[u];
  }
  if constexpr (RowTask<Op, T>::given) {
    Row of_mine{};
    if (has) of_mine = task.begin(kept_of_mine, pivot_of_mine);
    TALLY_UNROLL
    for (int u = 0; u < kUnderWay; ++u) {
      if (each)
        known[u] = gpu::shuffle(of_mine, first_thread + u);
      else if (exists(u))
        known[u] = task.begin(first + u * groups, pivots[u]);
    }
  }

  typename U::Value v[kUnderWay];
  TALLY_UNROLL
  for (int u = 0; u < kUnderWay; ++u)
    v[u] = held[u].template fold<U>(task, known[u], lane, exists(u) ? n : 0, pivots[u]);
  if (each) {
    merge_across<U, kUnderWay>(task.reduction, v, 1, group);
  } else {
    TALLY_UNROLL
    for (int u = 0; u < kUnderWay; ++u) {
      merge_across<U, 1>(task.reduction, v + u, 1, group);
      v[u] = gpu::shuffle(v[u], first_thread);
    }
  }
  if constexpr (U::checked) {
    bool holds = !has || U::holds(v[0]);
    TALLY_UNROLL
    for (int u = 0; u < kUnderWay; ++u) holds &= each || !exists(u) || U::holds(v[u]);
    if (!__all_sync(gpu::kAllLanes, holds)) {
      TALLY_ROLLED
      for (int u = 0; u < kUnderWay; ++u) exact_short_row(task, first + u * groups, exists(u), lane);
      return;
    }
  }
  if (each) {
    Row of_mine{};
    TALLY_UNROLL
    for (int u = 0; u < kUnderWay; ++u)
      if (u == r) of_mine = known[u];
    if (has) task.finish(of_mine, mine, U::pack(v[0]), pivot_of_mine, true);
    TALLY_UNROLL
    for (int u = 0; u < kUnderWay; ++u) known[u] = gpu::shuffle(of_mine, first_thread + u);
  } else {
    TALLY_UNROLL
    for (int u = 0; u < kUnderWay; ++u)
      if (exists(u)) task.finish(known[u], first + u * groups, U::pack(v[u]), pivots[u], r == 0);
  }
  TALLY_UNROLL
  for (int u = 0; u < kUnderWay; ++u)
    if (exists(u)) held[u].write(task, first + u * groups, lane, QuickMap<Op, T>{task.op, known[u]});
}

}  // namespace tally::cuda_loops
