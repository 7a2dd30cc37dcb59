// The kernel for lists of one tile, most of them short: a group of threads has several of them under way.
#pragma once

#include <type_traits>

#include <tally/ops/reductions.h>
#include <tally/ops/cuda/reduce_task.cuh>

namespace tally::cuda_loops {

/// Whether a thread has room for twice as many lists, and enough bytes under way only then.
template <class U, class T> constexpr bool is_slight() {
  return sizeof(T) == 2 && sizeof(typename U::Value) <= 4 && !U::checked && !U::heavy;
}

/// Whether it is known that the op can fold zeros that nobody has put there: the library's own can.
template <class Op, class... Ops> constexpr bool is_one_of(const std::variant<Ops...>*) {
  return (std::is_same_v<Op, Ops> || ...);
}
template <class Op> inline constexpr bool bears_zeros = is_one_of<Op>(static_cast<const Reduction*>(nullptr));

/// A thread's elements of a list: kRows of each of kVector neighbouring lanes.
template <class T, int kRows> using ShortShare = gpu::Held<T, kVector>[kRows];

/// The tree over them.
template <class U, bool kFull, int kRows, class Op, class T>
TALLY_DEVICE typename U::Value fold_share(const Task<Op, T>& task, const ShortShare<T, kRows>& share, int lane, int n,
                                          Compute<T> pivot) {
  gpu::Vector<T, kVector> rows[kRows];
  TALLY_UNROLL
  for (int j = 0; j < kRows; ++j) rows[j] = share[j];
  return fold_lanes<U, kFull>(task.op, rows, 0, lane, n, pivot);
}

/// What there is of them, for a list anywhere in memory; `x` is null where there is none.
template <int kRows, class Op, class T>
TALLY_COLD void read_short_row(const Task<Op, T>& task, const T* x, int lane, gpu::Vector<T, kVector>* rows) {
  const int left = x ? static_cast<int>(task.n) - lane : 0;
  TALLY_ROLLED
  for (int j = 0; j < kRows; ++j) {
    rows[j] = {};
    TALLY_ROLLED
    for (int k = 0; k < kVector; ++k)
      if (kLanes * j + k < left) rows[j][k] = x[offset(task.reduced, lane + kLanes * j + k)];
  }
}

/// One list with all the op's care. All threads of a warp call it.
template <class Op, class T>
TALLY_COLD PartialOf<Op, Compute<T>> exact_short_row(const Task<Op, T>& task, const T* x, int lane) {
  using E = Exact<Op, Compute<T>>;
  gpu::Vector<T, kVector> rows[kRowsOfTile];
  read_short_row<kRowsOfTile>(task, x, lane, rows);
  const Compute<T> pivot = x ? convert<Compute<T>>(*x) : 0;
  auto value = fold_lanes<E, false>(task.op, rows, 0, lane, x ? static_cast<int>(task.n) : 0, pivot);
  merge_across<E, 1>(task.op, &value, 1, task.plan.group);
  return value;
}

/// Of lists whose lanes are dealt to the threads of a warp one by one: thread u < kLists is left with list u in v[0].
template <class U, class T, class Op, int kRows, int kLists, class Exists>
TALLY_DEVICE void fold_apart(const Op& op, const ShortShare<T, kRows> (&loads)[kLists], int n, const Exists& exists,
                             typename U::Value (&v)[kLists]) {
  using C = Compute<T>;
  const int r = static_cast<int>(threadIdx.x % kWarp);
  TALLY_UNROLL
  for (int u = 0; u < kLists; ++u) {
    const gpu::Vector<T, kVector> first = loads[u][0];
    const C pivot = gpu::shuffle(convert<C>(first[0]), 0);
    typename U::Value lanes[kVector];
    TALLY_UNROLL
    for (int k = 0; k < kVector; ++k) {
      C x[kPerLane] = {};
      TALLY_UNROLL
      for (int j = 0; j < kRows; ++j) x[j] = convert<C>(gpu::Vector<T, kVector>(loads[u][j])[k]);
      const int lane = r + kWarp * k;
      if (exists(u) && n >= kLanes * (kRows - 1) + kWarp * (k + 1))
        lanes[k] = U::template lane<kRows>(op, x, kRows, lane, pivot);
      else
        lanes[k] = U::template lane<kRows>(op, x, exists(u) ? lane_length<kRows>(n - lane) : 0, lane, pivot);
    }
    merge_across<U, kVector>(op, lanes, 1, kVector);  // thread r has lanes r / 4 * 4 + 32 * (r % 4) and three more
    v[u] = lanes[0];
  }
  merge_across<U, kLists>(op, v, kVector, kWarp);
  merge_across<U, 1>(op, v, 1, kVector);
  v[0] = gpu::shuffle(v[0], kVector * r % kWarp);
}

/// Blocks that a multiprocessor is to hold.
template <class U> constexpr int short_row_blocks() {
  if constexpr (requires { U::short_row_blocks; })
    return U::short_row_blocks;
  else
    return 3;
}

/// Lists of at most kRows·128 elements. One of at most 128 may lie in memory in any way and be nothing; its group is as
/// small as it can be.
template <class Op, class T, int kRows>
__global__ void __launch_bounds__(256, short_row_blocks<Unit<Op, Compute<T>>>())
    reduce_short_rows(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using Load = gpu::Vector<T, kVector>;
  constexpr int kLists = lists_under_way(kRows, is_slight<U, T>());
  gpu::begin_early();
  const int group = task.plan.group, group_bits = 31 - __clz(group);
  const int r = static_cast<int>(threadIdx.x) & (group - 1), groups = static_cast<int>(blockDim.x) >> group_bits;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (groups * kLists) + (threadIdx.x >> group_bits);
  const std::int64_t ahead = task.lists - first;  // list u of this thread is number first + u·groups
  const int lane = r * kVector, n = static_cast<int>(task.n);
  // Single loads of long rows: a thread's lanes are a warp apart, so that what a warp loads at once is in one piece.
  constexpr bool kMayBeApart = kRows > 1 && U::checked;
  const auto exists = [&](int u) { return u * groups < ahead && n > 0; };
  ShortShare<T, kRows> loads[kLists];
  const bool even = (task.list_step != 0 || task.lists == 1) && (task.step != 0 || n == 1);
  const bool wide = sizeof(T) <= 4 && task.plan.width == kVector && task.step == 1 && n % kVector == 0;
  const bool apart = kMayBeApart && even && !wide && 4 * n > 3 * kLanes * kRows;
  const int left = n - lane;
  const bool full = left >= kVector + kLanes * (kRows - 1);
  if (even) {
    const T* from = task.x + first * task.list_step + lane * task.step;
    const std::int64_t next_list = groups * task.list_step;
    if (wide) {
      TALLY_UNROLL
      for (int u = 0; u < kLists; ++u, from += next_list) {
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j)
          if constexpr (sizeof(T) <= 4)
            loads[u][j] =
                exists(u) && kLanes * j < left
                    ? gpu::Held<T, kVector>(gpu::load_streaming(reinterpret_cast<const Load*>(from + kLanes * j)))
                    : gpu::Held<T, kVector>{};
      }
    } else if (apart) {
      from = task.x + first * task.list_step + r * task.step;
      TALLY_UNROLL
      for (int u = 0; u < kLists; ++u, from += next_list) {
        const int here = exists(u) ? n - r : 0;
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j) {
          Load load;
          TALLY_UNROLL
          for (int k = 0; k < kVector; ++k)
            load[k] =
                kLanes * j + kWarp * k < here ? gpu::load_streaming(from + (kLanes * j + kWarp * k) * task.step) : T{};
          loads[u][j] = load;
        }
      }
    } else {
      TALLY_UNROLL
      for (int u = 0; u < kLists; ++u, from += next_list) {
        const int here = exists(u) ? left : 0;
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j) {
          Load load;
          TALLY_UNROLL
          for (int k = 0; k < kVector; ++k) load[k] = kLanes * j + k < here ? from[(kLanes * j + k) * task.step] : T{};
          loads[u][j] = load;
        }
      }
    }
  } else {
    Load far[kLists * kRows];  // local memory
    TALLY_ROLLED
    for (int u = 0; u < kLists; ++u)
      read_short_row<kRows>(task, exists(u) ? task.list(first + u * groups) : nullptr, lane, far + u * kRows);
    TALLY_UNROLL
    for (int u = 0; u < kLists; ++u) {
      TALLY_UNROLL
      for (int j = 0; j < kRows; ++j) loads[u][j] = far[u * kRows + j];
    }
  }
  // Of the list that this thread will store, where it is one: needed last, so asked for now.
  const std::int64_t mine = first + r * groups;
  const C pivot_of_mine = even && r < kLists && exists(r) ? convert<C>(task.x[mine * task.list_step]) : C(0);
  typename U::Value v[kLists];
  if constexpr (kMayBeApart) {
    if (apart) fold_apart<U, T>(task.op, loads, n, exists, v);
  }
  if (!apart) {
    C pivots[kLists];  // the group's first thread has the list's first element
    TALLY_UNROLL
    for (int u = 0; u < kLists; ++u)
      pivots[u] = gpu::shuffle(convert<C>(gpu::Vector<T, kVector>(loads[u][0])[0]),
                               static_cast<int>(threadIdx.x % kWarp) & ~(group - 1));
    // Of a list that is not there the values are zeros, and nobody asks for its result. A user's op may not bear them.
    const auto fold = [&](auto whole) {
      TALLY_UNROLL
      for (int u = 0; u < kLists; ++u) {
        if constexpr (!bears_zeros<Op>) {
          v[u] = U::nothing(task.op);
          if (!exists(u)) continue;
        }
        v[u] = fold_share<U, whole(), kRows>(task, loads[u], lane, n, pivots[u]);
      }
    };
    if (has_merge_even<U, Op> && n == group * kVector * kRows) {
      fold(std::true_type());
      merge_across<U, kLists, true>(task.op, v, 1, group);
    } else {
      if (full)
        fold(std::true_type());
      else
        fold(std::false_type());
      merge_across<U, kLists>(task.op, v, 1, group);
    }
  }

  bool holds = true;
  if constexpr (U::checked) {
    TALLY_UNROLL
    for (int k = 0; k < kLists; ++k) holds &= U::holds(v[k]);
    holds = __all_sync(gpu::kAllLanes, holds);
  }
  if (!holds) {
    TALLY_ROLLED
    for (int u = 0; u < kLists; ++u) {
      const auto total = exact_short_row(task, exists(u) ? task.list(first + u * groups) : nullptr, lane);
      if (r == 0 && u * groups < ahead) store_seldom(task, first + u * groups, total);
    }
    return;
  }
  if (group >= kLists) {
    if (r >= kLists || r * groups >= ahead) return;
    if (even)
      task.store(mine, U::pack(v[0]), pivot_of_mine);
    else
      store_seldom(task, mine, U::pack(v[0]));
    return;
  }
  typename U::Value totals[kLists];  // indexed in a loop, so in local memory
  TALLY_UNROLL
  for (int k = 0; k < kLists; ++k) totals[k] = v[k];
  TALLY_ROLLED
  for (int k = 0, u = r; u < kLists; ++k, u += group)
    if (u * groups < ahead) task.store(first + u * groups, U::pack(totals[k]));
}

}  // namespace tally::cuda_loops
