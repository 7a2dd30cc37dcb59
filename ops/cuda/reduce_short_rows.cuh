// The kernel for lists of one tile, most of them short: a group of threads has several of them under way.
#pragma once

#include <type_traits>

#include <tally/ops/reductions.h>
#include <tally/ops/cuda/reduce_task.cuh>

namespace tally::cuda_loops {

/// Elements of a lane from which a thread has room for twice as many lists, and enough bytes under way only then.
template <class U, class T> constexpr int twice_from() {
  if (sizeof(T) > 2 || U::heavy || is_scarce<U>) return kNeverTwice;
  return U::checked ? kRowsOfTile : sizeof(typename U::Value) <= 4 ? 2 : kNeverTwice;
}

/// Whether it is known that the op can fold zeros that nobody has put there: the library's own can.
template <class Op, class... Ops> constexpr bool is_one_of(const std::variant<Ops...>*) {
  return (std::is_same_v<Op, Ops> || ...);
}
template <class Op> inline constexpr bool bears_zeros = is_one_of<Op>(static_cast<const Reduction*>(nullptr));

/// A thread's elements of a list: kRows of each of kVector neighbouring lanes.
template <class T, int kRows> using ShortShare = gpu::Held<T, kVector>[kRows];

/// Single elements of two bytes take a register each until they are put together: not all lists' at once.
template <int kLists, class T, int kRows> TALLY_DEVICE void settle(ShortShare<T, kRows>& share) {
  if constexpr (sizeof(T) == 2 && kLists * kRows > kRowsOfTile) {
    TALLY_UNROLL
    for (int j = 0; j < kRows; ++j) share[j].settle();
  }
}

/// The tree over them.
template <class U, bool kFull, int kRows, class Op, class T>
TALLY_DEVICE typename U::Value fold_share(const Task<Op, T>& task, const ShortShare<T, kRows>& share, int lane, int n,
                                          Compute<T> pivot) {
  return fold_lanes<U, kFull, kVector>(task.op, share, 0, lane, n, pivot);
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
  auto value = fold_lanes<E, false, kVector>(task.op, rows, 0, lane, x ? static_cast<int>(task.n) : 0, pivot);
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
      for (int j = 0; j < kRows; ++j) x[j] = measured<C>(op, gpu::Vector<T, kVector>(loads[u][j])[k]);
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

/// Where a block's groups leave what they have.
template <class Partial, int kLists> struct OfShortRows {
  alignas(16) unsigned char bytes[kShortRowThreads / kWarp * kLists * sizeof(Partial)];

  TALLY_DEVICE static Partial* values() { return reinterpret_cast<Partial*>(gpu::shared<OfShortRows>().bytes); }
};

/// Blocks that a multiprocessor is to hold: with seven a thread has 72 registers.
template <class U> constexpr int short_row_blocks(int rows) {
  if constexpr (requires { U::short_row_blocks(rows); })
    return U::short_row_blocks(rows);
  else
    return 7;
}

/// Lists of at most kRows·128 elements. One of at most 128 may lie in memory in any way and be nothing; its group is as
/// small as it can be.
template <class Op, class T, int kRows>
__global__ void __launch_bounds__(kShortRowThreads, short_row_blocks<Unit<Op, Compute<T>>>(kRows))
    reduce_short_rows(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using Load = gpu::Vector<T, kVector>;
  using Partial = PartialOf<Op, C>;
  constexpr int kLists = lists_under_way(kRows, twice_from<U, T>());
  gpu::begin_early();
  const int group = kRows > 1 ? kWarp : task.plan.group, group_bits = 31 - __clz(group);
  const int r = static_cast<int>(threadIdx.x) & (group - 1), groups = static_cast<int>(blockDim.x) >> group_bits;
  const int g = static_cast<int>(threadIdx.x) >> group_bits;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (groups * kLists), ahead = task.lists - first;
  const int here = ahead < groups * kLists ? static_cast<int>(ahead) : groups * kLists;
  const auto list = [&](int u) { return first + (g + u * groups); };  // a thread's, of which some may not be there
  const int lane = r * kVector, n = static_cast<int>(task.n);
  // A result can cost as much as its list's elements, and a warp as much for one as for 32: those of a block's lists
  // are stored side by side, where a warp has few.
  const bool together = U::checked && group == kWarp;
  // Single loads of long rows: a thread's lanes are a warp apart, so that what a warp loads at once is in one piece.
  constexpr bool kMayBeApart = kRows > 1 && U::checked;
  const auto exists = [&](int u) { return g + u * groups < here && n > 0; };
  ShortShare<T, kRows> loads[kLists];
  // Of more than a row of lanes there may be some side by side, in slices: no long list feels the division.
  constexpr bool kInSlices = kRows > 1;
  const auto begin = [&](std::int64_t list) {
    return task.x + (kInSlices ? near_offset(task.kept, list) : list * task.list_step);
  };
  const bool evenly = kInSlices ? task.kept.rank <= 2 && task.kept.sizes[0].is_small(task.lists)
                                : task.list_step != 0 || task.lists == 1;
  const bool even = evenly && (task.step != 0 || n == 1);
  const bool wide = sizeof(T) <= 4 && task.plan.width == kVector && task.step == 1 && n % kVector == 0;
  const bool apart = kMayBeApart && even && !wide && (task.step != 1 || 4 * n > 3 * kLanes * kRows);
  const int left = n - lane;
  if (even) {
    const T* from = begin(list(0)) + lane * task.step;
    const std::int64_t next_list = groups * task.list_step;
    const auto go_to = [&](int u) { from = kInSlices ? begin(list(u)) + lane * task.step : from + next_list; };
    if (wide) {
      from = gpu::settled(from);
      TALLY_UNROLL
      for (int u = 0; u < kLists; go_to(++u)) {
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j)
          if constexpr (sizeof(T) <= 4)
            loads[u][j] =
                exists(u) && kLanes * j < left
                    ? gpu::Held<T, kVector>(gpu::load_streaming(reinterpret_cast<const Load*>(from + kLanes * j)))
                    : gpu::Held<T, kVector>{};
      }
    } else if (apart) {
      TALLY_UNROLL
      for (int u = 0; u < kLists; ++u) {
        const int count = exists(u) ? n - r : 0;
        const T* at = begin(list(u)) + r * task.step;
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j) {
          Load load;
          TALLY_UNROLL
          for (int k = 0; k < kVector; ++k) {
            load[k] = kLanes * j + kWarp * k < count ? gpu::load_streaming(at) : T{};
            at = gpu::settled(at + kWarp * task.step);
          }
          loads[u][j] = load;
        }
        settle<kLists, T, kRows>(loads[u]);
      }
    } else {
      TALLY_UNROLL
      for (int u = 0; u < kLists; go_to(++u)) {
        const int count = exists(u) ? left : 0;
        const T* at = from;
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j, at = gpu::settled(at + kLanes * task.step)) {
          Load load;
          TALLY_UNROLL
          for (int k = 0; k < kVector; ++k) load[k] = kLanes * j + k < count ? at[k * task.step] : T{};
          loads[u][j] = load;
        }
        settle<kLists, T, kRows>(loads[u]);
      }
    }
  } else {
    Load far[kLists * kRows];  // local memory
    TALLY_ROLLED
    for (int u = 0; u < kLists; ++u)
      read_short_row<kRows>(task, exists(u) ? task.list(list(u)) : nullptr, lane, far + u * kRows);
    TALLY_UNROLL
    for (int u = 0; u < kLists; ++u) {
      TALLY_UNROLL
      for (int j = 0; j < kRows; ++j) loads[u][j] = far[u * kRows + j];
    }
  }
  // The list that this thread stores, if it does one: what is needed of it is asked for now.
  const int mine = together ? static_cast<int>(threadIdx.x) : r < kLists ? g + r * groups : here;
  const T first_of_mine = even && n > 0 && mine < here ? *begin(first + mine) : T{};
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
    const bool whole = n == group * kVector * kRows;
    if constexpr (has_merge_even<U, Op>) {
      if (whole) {
        fold(std::true_type());
        merge_across<U, kLists, true>(task.op, v, 1, group);
      } else {
        fold(std::false_type());
        merge_across<U, kLists>(task.op, v, 1, group);
      }
    } else {
      if (whole)
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
  Partial total;
  if (U::checked && together) {
    Partial* const totals = OfShortRows<Partial, kLists>::values() + g;
    if (holds) {
      if (r < kLists) totals[r * groups] = U::pack(v[0]);
    } else {
      TALLY_ROLLED
      for (int u = 0; u < kLists; ++u) {
        const auto exact = exact_short_row(task, exists(u) ? task.list(list(u)) : nullptr, lane);
        if (r == 0) totals[u * groups] = exact;
      }
    }
    __syncthreads();
    if (mine >= here) return;
    total = OfShortRows<Partial, kLists>::values()[mine];
  } else if (!holds) {
    TALLY_ROLLED
    for (int u = 0; u < kLists; ++u) {
      const auto exact = exact_short_row(task, exists(u) ? task.list(list(u)) : nullptr, lane);
      if (r == 0 && g + u * groups < here) store_seldom(task, list(u), exact);
    }
    return;
  } else if (group >= kLists) {
    if (mine >= here) return;
    total = U::pack(v[0]);
  } else {
    typename U::Value totals[kLists];  // indexed in a loop, so in local memory
    TALLY_UNROLL
    for (int k = 0; k < kLists; ++k) totals[k] = v[k];
    TALLY_ROLLED
    for (int k = 0, u = r; u < kLists; ++k, u += group)
      if (g + u * groups < here) task.store(list(u), U::pack(totals[k]));
    return;
  }
  if (even)
    task.store(first + mine, total, convert<C>(first_of_mine));
  else
    store_seldom(task, first + mine, total);
}

}  // namespace tally::cuda_loops
