// The kernel for slabs of lists of more than 128 elements. A thread takes neighbours in memory, of whatever lists, and
// what lies below them in the other rows of the tile: whole lanes, whose values go to shared memory. A step is some
// lanes of a tile, so any aligned power-of-two run of steps can go to one block.
#pragma once

#include <tally/ops/cuda/reduce_slabs_gather.cuh>

namespace tally::cuda_loops {

template <class U, int kWidth, class Op, class T> class Slab {
 public:
  using C = Compute<T>;
  using Value = typename U::Value;

  /// `depth` lane positions are in shared memory at once.
  TALLY_DEVICE Slab(const Task<Op, T>& task, const SlabLists<Op, T>& lists, int depth, unsigned char* shared)
      : task_(task),
        lists_(lists),
        depth_(depth),
        group_(depth > kSlabPositions ? depth / kSlabPositions : 1),
        values_(reinterpret_cast<Value*>(shared)),
        stacks_(values_ + depth * lists.count()) {}

  /// Steps [begin, end). A list's value is left with the first thread of its group, at `total`.
  TALLY_DEVICE void run(std::int64_t begin, std::int64_t end) const {
    const int count = static_cast<int>(end - begin), lists = lists_.count();
    TALLY_ROLLED
    for (int done = 0; done < count; ++done) {
      if (done > 0) __syncthreads();
      const std::int64_t position = (begin + done) * depth_, first = position / kLanes * kTile, left = task_.n - first;
      const int lane0 = static_cast<int>(position % kLanes), of_tile = static_cast<int>(left < kTile ? left : kTile);
      read(first, lane0, of_tile);
      __syncthreads();
      const int here = (of_tile < kLanes ? of_tile : kLanes) - lane0, positions = here < depth_ ? here : depth_;
      for_lists_of_warp(lists, group_, [&](int list, int r) {
        const int slice = lists_.slice(task_, list < 0 ? 0 : list);
        const Value* from = values_ + slice * (depth_ - 1) * lists_.across + list;
        const Value value =
            merge_positions<U>(task_.op, r, kSlabPositions, list < 0 ? 0 : positions, group_, [&](int p, int some) {
              return merge_some<U>(task_.op, some, [&](int k) { return from[(p + k) * lists_.across]; });
            });
        if (r == 0 && list >= 0) push(stacks_ + list, done, value);
      });
    }
    if (U::any_order || count == 1) return;
    for_lists_of_warp(lists, group_, [&](int list, int r) {
      if (r == 0 && list >= 0) finish(stacks_ + list, count);
    });
  }
  TALLY_DEVICE Value& total(int list) const { return stacks_[list]; }
  TALLY_DEVICE int group() const { return group_; }

 private:
  using Load = gpu::Vector<T, kWidth>;

  // The binary counter of a list: level l is l·lists further on.
  TALLY_DEVICE void push(Value* stack, int done, Value value) const {
    if constexpr (U::any_order) {
      *stack = done == 0 ? value : U::merge(task_.op, *stack, value);
    } else {
      TALLY_ROLLED
      for (int m = done; m & 1; m >>= 1, stack += lists_.count()) value = U::merge(task_.op, *stack, value);
      *stack = value;
    }
  }
  // From the smallest part to the largest.
  TALLY_DEVICE void finish(Value* stack, int count) const {
    Value* top = stack;
    int m = count;
    TALLY_ROLLED
    for (; !(m & 1); m >>= 1) top += lists_.count();
    Value value = *top;
    TALLY_ROLLED
    while (m >>= 1) {
      top += lists_.count();
      if (m & 1) value = U::merge(task_.op, *top, value);
    }
    *stack = value;
  }

  // The lanes from number lane0 on of the tile that begins with element `first` and has `count`.
  TALLY_DEVICE void read(std::int64_t first, int lane0, int count) const {
    const bool flat = task_.plan.flat;
    const int across = lists_.across, length = flat ? depth_ * across : across, pieces = flat ? lists_.slices : depth_;
    const int loads = kWidth > 1 ? task_.plan.loads : length, threads = static_cast<int>(blockDim.x);
    const std::int64_t piece_step = flat ? lists_.slice_step : task_.step;
    const T* from = lists_.x + (first + lane0) * task_.step;
    TALLY_ROLLED
    for (int i = static_cast<int>(threadIdx.x); i < pieces * loads; i += threads) {
      const int piece = pieces == 1 ? 0 : i / loads;
      const T* x = from + piece * piece_step;
      const int at = (i - piece * loads) * kWidth - misalignment(x), begin = at < 0 ? 0 : at;
      const int below =
          flat ? static_cast<int>(task_.kept.sizes[0].divide_small(static_cast<std::uint32_t>(begin))) : 0;
      const int lane = lane0 + (flat ? below : piece), rows = lane_length<kRowsOfTile>(count - lane);
      if (at >= length || rows == 0) continue;
      Load loaded[kRowsOfTile];
      read_rows(x + at, rows, loaded);
      const Place place{
          at, length, begin - below * across, lane, first, count, lists_.x + (flat ? piece * piece_step : 0)};
      Value* to = values_ + piece * length + at;
      if (count == kTile)
        fold<true>(loaded, place, to);
      else
        fold<false>(loaded, place, to);
    }
  }
  struct Place {
    int at, length, column, lane;  // in the piece, whose end is at `length`; of the first element that is in it
    std::int64_t first;
    int count;
    const T* pivots;
  };
  TALLY_DEVICE static int misalignment(const T* x) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(x) / sizeof(T)) & (kWidth - 1);
  }
  // Whole vectors, of which parts may belong to others, but none lies outside of the tensor.
  TALLY_DEVICE void read_rows(const T* from, int rows, Load (&to)[kRowsOfTile]) const {
    const std::int64_t step = kLanes * task_.step;
    if constexpr (kWidth > 1) {
      const std::int64_t slices = task_.kept.rank > 1 ? task_.kept.sizes[1].divisor : 1;
      const T* end = task_.x + (slices - 1) * lists_.slice_step + (task_.n - 1) * task_.step + lists_.slice_lists;
      if (from < task_.x || from + (rows - 1) * step + kWidth > end) {
        Load edge[kRowsOfTile];  // local memory
        TALLY_ROLLED
        for (int j = 0; j < rows; ++j) {
          TALLY_ROLLED
          for (int k = 0; k < kWidth; ++k) {
            const T* x = from + j * step + k;
            edge[j][k] = x >= task_.x && x < end ? *x : T{};
          }
        }
        TALLY_UNROLL
        for (int j = 0; j < kRowsOfTile; ++j) to[j] = edge[j];
        return;
      }
    }
    TALLY_UNROLL
    for (int j = 0; j < kRowsOfTile; ++j)
      to[j] = j < rows ? gpu::load_streaming(reinterpret_cast<const Load*>(from + j * step)) : Load{};
  }
  template <bool kFull> TALLY_DEVICE void fold(const Load (&rows)[kRowsOfTile], const Place& place, Value* to) const {
    int column = place.column, lane = place.lane;
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) {
      const bool exists = place.at + k >= 0 && place.at + k < place.length;
      const int length = kFull ? kRowsOfTile : lane_length<kRowsOfTile>(place.count - lane);
      C x[kPerLane];
      TALLY_UNROLL
      for (int j = 0; j < kRowsOfTile; ++j) x[j] = measured<C>(task_.op, rows[j][k]);
      const C pivot = exists ? convert<C>(place.pivots[column]) : C(0);
      if (exists && length > 0) to[k] = U::template lane<kRowsOfTile>(task_.op, x, length, place.first + lane, pivot);
      if (exists && ++column == lists_.across) {
        column = 0;
        ++lane;
      }
    }
  }

  const Task<Op, T>& task_;
  const SlabLists<Op, T>& lists_;
  int depth_, group_;
  Value *values_, *stacks_;
};

/// By how many bits the steps of the exact unit are finer, so that its larger values have room.
template <class U, class Partial> constexpr int finer_steps() {
  int bits = 0;
  while ((sizeof(typename U::Value) << bits) < sizeof(Partial)) ++bits;
  return bits;
}

template <class Op, class T>
TALLY_COLD void exact_slab(const Task<Op, T>& task, const SlabLists<Op, T>& lists, std::int64_t begin, std::int64_t end,
                           unsigned char* shared) {
  using E = Rare<Op, Compute<T>>;
  constexpr int kFiner = finer_steps<Unit<Op, Compute<T>>, typename E::Value>();
  const Slab<E, 1, Op, T> slab(task, lists, task.plan.depth >> kFiner, shared);
  slab.run(begin << kFiner, end << kFiner);
}

template <class Op, class T, int kWidth>
__global__ void __launch_bounds__(256, Unit<Op, Compute<T>>::slab_blocks(kWidth))
    reduce_slabs(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using E = Rare<Op, C>;
  gpu::begin_early();
  const Plan& plan = task.plan;
  const unsigned splits = static_cast<unsigned>(plan.splits), units = gridDim.x / splits;
  const unsigned split = splits == 1 ? 0 : blockIdx.x / units, unit = blockIdx.x - split * units;
  const SlabLists<Op, T> lists(task, unit);
  const std::int64_t begin = split * plan.run, end = begin + plan.run < plan.steps ? begin + plan.run : plan.steps;
  const auto put = [&](int list, const PartialOf<Op, C>& total) {
    if (splits == 1)
      store_seldom(task, lists.number(list), total);
    else
      task.partials[unit * plan.splits * plan.across + split * lists.across + list] = total;
  };
  unsigned char* shared = gpu::shared_memory<unsigned char>();
  const Slab<U, kWidth, Op, T> slab(task, lists, plan.depth, shared);
  slab.run(begin, end);
  bool holds = true;
  if constexpr (U::checked) {
    for_lists_of_warp(lists.count(), slab.group(), [&](int list, int r) {
      if (r == 0 && list >= 0) holds &= U::holds(slab.total(list));
    });
    holds = __syncthreads_and(holds && task.n <= U::longest);
    if (!holds) exact_slab(task, lists, begin, end, shared);
  }
  if (holds) {
    for_lists_of_warp(lists.count(), slab.group(), [&](int list, int r) {
      if (r == 0 && list >= 0) put(list, U::pack(slab.total(list)));
    });
  } else if constexpr (U::checked) {
    const Slab<E, 1, Op, T> exact(task, lists, plan.depth >> finer_steps<U, typename E::Value>(), shared);
    for_lists_of_warp(lists.count(), exact.group(), [&](int list, int r) {
      if (r == 0 && list >= 0) put(list, exact.total(list));
    });
  }
  if (splits > 1) gather_slabs(task, lists, unit, units, split);
}

}  // namespace tally::cuda_loops
