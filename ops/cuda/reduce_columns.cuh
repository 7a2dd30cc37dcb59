// The kernel for lists that lie side by side in memory.
//
// A warp takes a strip of them: `across` threads side by side, each with kWidth lists, and behind them 32 / across
// groups of threads, each with some neighbouring lanes. A step is what the warp reads at once; the steps of a tile,
// then the tiles, come one after another, so any aligned power-of-two run of steps can go to one warp. The warps of a
// block, then blocks, share a strip.
#pragma once

#include <tally/ops/cuda/reduce_task.cuh>

namespace tally::cuda_loops {

/// Lists side by side that a thread takes where it can: a load of 16 bytes.
template <class U, class T> constexpr int column_width() {
  if (U::heavy) return 1;
  return sizeof(T) == 1 ? 4 : static_cast<int>(16 / sizeof(T));
}

/// Whether the next step's loads are under way while this one's values merge, for which there are registers where two
/// blocks share a multiprocessor.
template <class U> constexpr bool reads_ahead() { return !U::heavy; }
/// Blocks that a multiprocessor is to hold: as Exact says, as the units that hold less need no more registers.
template <class U> constexpr int strip_blocks() {
  if constexpr (U::heavy)
    return U::strip_blocks;
  else
    return 2;
}

/// A thread's part of a strip. kRows: elements a lane has at most.
template <class U, int kWidth, int kRows, class Op, class T> class Strip {
 public:
  using C = Compute<T>;
  using Value = typename U::Value;
  static constexpr bool kAnywhere = kWidth == 1 && kRows == kRowsOfTile;  // for lists of several dims too
  static constexpr int kAdjacent = kPerLane / kRows;                      // lanes
  static constexpr int kKept = column_values(kWidth);                     // lists a thread is left with
  static constexpr int kLoads = kAdjacent * kRows;
  static constexpr bool kAhead = reads_ahead<U>();

  TALLY_DEVICE static int power_bits(int power) { return 31 - __clz(power); }

  /// `x` is the first element of the thread's first list, or of any list where it has none.
  TALLY_DEVICE Strip(const Task<Op, T>& task, const T* x, int step_bits) : task_(task), x_(x), step_bits_(step_bits) {
    const Load first = gpu::load_streaming(reinterpret_cast<const Load*>(x));
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) pivot_[k] = convert<C>(first[k]);
  }

  /// Steps [begin, end): of the groups behind each other, number g is left with lists g, g + groups, ... in v. `stack`
  /// is this thread's, in shared memory, 32 apart.
  TALLY_DEVICE void run(std::int64_t begin, std::int64_t end, Value* stack, Value (&v)[kWidth]) const {
    const int across = task_.plan.across, count = static_cast<int>(end - begin);
    if constexpr (U::any_order) {
      TALLY_UNROLL
      for (int k = 0; k < kWidth; ++k) v[k] = U::nothing(task_.op);
    }
    Rows ahead;
    if constexpr (kAhead) load(begin, ahead);
    for (int done = 0; done < count; ++done) {
      Value one[kWidth];
      bool even;
      if constexpr (kAhead) {
        const Rows rows = ahead;
        if (done + 1 < count) load(begin + done + 1, ahead);
        even = fold(begin + done, rows, one);
      } else {
        even = read(begin + done, one);
      }
      if constexpr (U::any_order) {
        TALLY_UNROLL
        for (int k = 0; k < kWidth; ++k) v[k] = U::merge(task_.op, v[k], one[k]);
      } else {
        Value* top = stack;
        const auto merge_step = [&](auto evenly) {
          merge_across<U, kWidth, evenly()>(task_.op, one, across, kWarp);
          TALLY_ROLLED
          for (int m = done; m & 1; m >>= 1, top += kKept * kWarp) merge_stacked<evenly()>(top, one);
        };
        if (has_merge_even<U, Op> && even)
          merge_step(std::true_type());
        else
          merge_step(std::false_type());
        TALLY_UNROLL
        for (int i = 0; i < kKept; ++i) top[i * kWarp] = v[i] = one[i];
      }
    }
    if constexpr (U::any_order) {
      merge_across<U, kWidth>(task_.op, v, across, kWarp);
    } else {
      if ((count & (count - 1)) == 0) return;
      // A run that the list's end has cut: from the smallest part to the largest.
      int m = count;
      Value* top = stack;
      for (; !(m & 1); m >>= 1) top += kKept * kWarp;
      TALLY_UNROLL
      for (int i = 0; i < kKept; ++i) v[i] = top[i * kWarp];
      TALLY_ROLLED
      while (m >>= 1) {
        top += kKept * kWarp;
        if (m & 1) merge_stacked(top, v);
      }
    }
  }

 private:
  using Load = gpu::Vector<T, kWidth>;
  using Held = gpu::Held<T, kWidth>;

  template <bool kEven = false> TALLY_DEVICE void merge_stacked(const Value* top, Value* v) const {
    TALLY_UNROLL
    for (int i = 0; i < kKept; ++i) v[i] = merge<U, kEven>(task_.op, top[i * kWarp], v[i]);
  }

  /// Where a step lies.
  struct Place {
    std::int64_t first;  // element of the tile, which has `count`
    int lane, count;     // this thread's first lane in it
    bool full, even;     // whether all of this thread's lanes are whole, and all of the warp's
    TALLY_DEVICE Place(const Strip& strip, std::int64_t step) {
      const int across_bits = power_bits(strip.task_.plan.across);
      const int group = static_cast<int>(threadIdx.x % kWarp) >> across_bits, lanes = kWarp * kAdjacent >> across_bits;
      const std::int64_t tile = step >> strip.step_bits_;
      first = tile * kTile;
      const std::int64_t left = strip.task_.n - first;
      const int chunk = static_cast<int>(step) & ((1 << strip.step_bits_) - 1);
      lane = chunk * lanes + group * kAdjacent;
      count = static_cast<int>(left < kTile ? left : kTile);
      full = count == kLanes * kRows && lane + kAdjacent <= kLanes;
      even = count == kLanes * kRows && lanes <= kLanes;
    }
  };
  struct Rows {
    Held at[kLoads];
  };

  /// Number u·kRows + j is row j of lane u.
  template <bool kFull> TALLY_DEVICE void load(const Place& place, Held (&rows)[kLoads]) const {
    const std::int64_t stride = task_.step;
    const T* from = x_ + (place.first + place.lane) * stride;
    TALLY_UNROLL
    for (int u = 0; u < kAdjacent; ++u) {
      TALLY_UNROLL
      for (int j = 0; j < kRows; ++j) {
        const int i = u + kLanes * j;
        rows[u * kRows + j] = kFull || place.lane + i < place.count
                                  ? Held(gpu::load_streaming(reinterpret_cast<const Load*>(from + i * stride)))
                                  : Held{};
      }
    }
  }
  TALLY_DEVICE bool in_many_pieces() const { return kAnywhere && task_.reduced.rank > 1; }

  TALLY_DEVICE void load(std::int64_t step, Rows& rows) const {
    const Place place(*this, step);
    if (kAnywhere && in_many_pieces())
      read_scattered(place.first + place.lane, place.first + place.count, rows.at);
    else if (place.full)
      load<true>(place, rows.at);
    else
      load<false>(place, rows.at);
  }
  /// Whether the warp's lanes were all whole.
  TALLY_DEVICE bool fold(std::int64_t step, const Rows& rows, Value (&v)[kWidth]) const {
    const Place place(*this, step);
    if (place.full && !in_many_pieces())
      fold<true>(rows.at, place.first, place.lane, place.count, v);
    else
      fold<false>(rows.at, place.first, place.lane, place.count, v);
    return place.even;
  }
  /// Both.
  TALLY_DEVICE bool read(std::int64_t step, Value (&v)[kWidth]) const {
    Rows rows;
    load(step, rows);
    return fold(step, rows, v);
  }
  // Lists of several dims.
  TALLY_DEVICE void read_scattered(std::int64_t at, std::int64_t end, Held (&rows)[kLoads]) const {
    const bool near = task_.reduced.is_near(task_.n);
    TALLY_UNROLL
    for (int j = 0; j < kPerLane; ++j) {
      rows[j] = {};
      const std::int64_t i = at + kLanes * j;
      if (i >= end) continue;
      const std::int64_t from = near ? near_offset(task_.reduced, i) : far_offset(task_.reduced, i);
      rows[j] = gpu::load_streaming(reinterpret_cast<const Load*>(x_ + from));
    }
  }
  template <bool kFull>
  TALLY_DEVICE void fold(const Held (&rows)[kLoads], std::int64_t first, int lane, int count,
                         Value (&v)[kWidth]) const {
    TALLY_UNROLL
    for (int k = 0; k < kWidth; ++k) {
      Value lanes[kAdjacent];
      TALLY_UNROLL
      for (int u = 0; u < kAdjacent; ++u) {
        C x[kPerLane] = {};
        TALLY_UNROLL
        for (int j = 0; j < kRows; ++j) x[j] = measured<C>(task_.op, Load(rows[u * kRows + j])[k]);
        const int length = kFull ? kRows : lane_length<kRows>(count - lane - u);
        lanes[u] = U::template lane<kRows>(task_.op, x, length, first + lane + u, pivot_[k]);
      }
      merge_within<U, kAdjacent, kFull>(task_.op, lanes);
      v[k] = lanes[0];
    }
  }

  const Task<Op, T>& task_;
  const T* x_;
  int step_bits_;
  C pivot_[kWidth];
};

/// Steps [begin, end), of 1 / kRowsOfTile of the plan's rows, of the lists that start at `x`, one for each thread
/// across, with all the op's care.
template <class Op, class T>
TALLY_COLD PartialOf<Op, Compute<T>> exact_strip(const Task<Op, T>& task, const T* x, std::int64_t begin,
                                                 std::int64_t end, PartialOf<Op, Compute<T>>* stack) {
  const int finer = __ffs(kRowsOfTile / task.plan.rows) - 1;
  PartialOf<Op, Compute<T>> v[1];
  Strip<Exact<Op, Compute<T>>, 1, kRowsOfTile, Op, T>(task, x, task.plan.step_bits + finer)
      .run(begin << finer, end << finer, stack, v);
  return v[0];
}

/// The last block of a strip: the tree over what all blocks have left of it. At most 32·kKept lists, of which `here`
/// exist: as many threads each as there are, of one warp.
template <class Op, class T>
TALLY_DEVICE void finish_columns(const Task<Op, T>& task, std::int64_t strip, std::int64_t list0, int columns,
                                 int here) {
  using C = Compute<T>;
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int sharers = threads / columns < kWarp ? threads / columns : kWarp, column = tid / sharers;
  const std::int64_t splits = task.plan.splits, chunk = power_of_two_at_least((splits + sharers - 1) / sharers);
  PartialOf<Op, C> total = Fold<Op, C>::nothing(task.op);
  if (column < here)
    total = merge_memory<C>(task.op, task.partials + strip * splits * columns + column, columns,
                            (tid & (sharers - 1)) * chunk, chunk, splits);
  total = across_partials<C>(task.op, total, sharers);
  if (tid % sharers == 0 && column < here) task.store(list0 + column, total);
}

template <class Op, class T, int kWidth, int kRows>
__global__ void __launch_bounds__(256, strip_blocks<Unit<Op, Compute<T>>>())
    reduce_columns(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using Value = typename U::Value;
  using Partial = PartialOf<Op, C>;
  using Mine = Strip<U, kWidth, kRows, Op, T>;
  gpu::begin_early();
  const Plan& plan = task.plan;
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x), w = tid / kWarp;
  const int across = plan.across, across_bits = Mine::power_bits(across);
  const int groups = kWarp >> across_bits, columns = across * kWidth;
  const int c = tid & (across - 1), group = tid % kWarp >> across_bits;
  const int shared_by = plan.warps_per_list, strips_here = threads / kWarp / shared_by;

  const unsigned splits = static_cast<unsigned>(plan.splits), units = gridDim.x / splits;
  const unsigned split = splits == 1 ? 0 : blockIdx.x / units, unit = blockIdx.x - split * units;
  const std::int64_t inner = task.kept.sizes[0].divisor, strips = task.lists / inner * plan.column_blocks;
  // Of strip number s of this block: its first list, and how many of its lists exist.
  const auto lists_of = [&](int s, std::int64_t& list0) {
    const std::int64_t strip = static_cast<std::int64_t>(unit) * strips_here + s;
    if (strip >= strips) return 0;
    const std::int64_t row =
        plan.column_blocks == 1 ? strip : static_cast<unsigned>(strip) / static_cast<unsigned>(plan.column_blocks);
    const std::int64_t column0 = (strip - row * plan.column_blocks) * columns;
    list0 = row * inner + column0;
    return static_cast<int>(inner - column0 < columns ? inner - column0 : columns);
  };
  const auto store = [&](int s, std::int64_t list0, int column, const Partial& total) {
    if (splits == 1)
      store_seldom(task, list0 + column, total);
    else
      task.partials[((static_cast<std::int64_t>(unit) * strips_here + s) * splits + split) * columns + column] = total;
  };

  unsigned char* memory = gpu::shared_memory<unsigned char>();
  Partial* board = reinterpret_cast<Partial*>(memory);  // [warps][columns]
  // Each warp's stacks are apart: a warp that turns exact has larger values in them.
  constexpr int kLevel =
      kWarp *
      static_cast<int>(sizeof(Value) * Mine::kKept > sizeof(Partial) ? sizeof(Value) * Mine::kKept : sizeof(Partial));
  unsigned char* stacks = memory + plan.board * static_cast<int>(sizeof(Partial)) + w * plan.levels * kLevel;
  std::int64_t list0 = 0;
  const int here = lists_of(w / shared_by, list0);
  const std::int64_t part = static_cast<std::int64_t>(split) * shared_by + (w & (shared_by - 1));
  const std::int64_t begin = part * plan.run, end = begin + plan.run < plan.steps ? begin + plan.run : plan.steps;
  const auto put = [&](int column, const Partial& total) {
    if (column >= here) return;
    if (shared_by > 1)
      board[w * columns + column] = total;
    else
      store(w, list0, column, total);
  };
  if (here > 0 && begin < end) {
    const bool exists = c * kWidth < here;
    const T* x = task.x + offset(task.kept, list0 + (exists ? c * kWidth : 0));
    Value v[kWidth];
    Mine(task, x, plan.step_bits).run(begin, end, reinterpret_cast<Value*>(stacks) + tid % kWarp, v);
    bool holds = true;
    if constexpr (U::checked) {
      TALLY_UNROLL
      for (int i = 0; i < Mine::kKept; ++i) holds &= U::holds(v[i]);
      holds = task.n <= U::longest && __all_sync(gpu::kAllLanes, holds);
    }
    if (holds) {
      TALLY_UNROLL
      for (int i = 0; i < Mine::kKept; ++i)
        if (group + i * groups < kWidth && (i == 0 || groups < kWidth))
          put(c * kWidth + group + i * groups, U::pack(v[i]));
    } else {
      TALLY_ROLLED
      for (int k = 0; k < kWidth; ++k) {
        const Partial total =
            exact_strip(task, x + (exists ? k : 0), begin, end, reinterpret_cast<Partial*>(stacks) + tid % kWarp);
        if (group == 0) put(c * kWidth + k, total);
      }
    }
  } else if (shared_by > 1 && group == 0) {
    for (int k = 0; k < kWidth; ++k) put(c * kWidth + k, Fold<Op, C>::nothing(task.op));
  }
  if (shared_by == 1) return;
  __syncthreads();
  TALLY_ROLLED
  for (int e = tid; e < strips_here * columns; e += threads) {
    const int s = e / columns, column = e - s * columns;
    if (column >= lists_of(s, list0)) continue;
    Several<Partial, 8> parts;
    TALLY_UNROLL
    for (int i = 0; i < 8; ++i)
      parts.values[i] = i < shared_by ? board[(s * shared_by + i) * columns + column] : Fold<Op, C>::nothing(task.op);
    store(s, list0, column, within_partials<C, 8>(task.op, parts));
  }
  struct Shared {
    bool last;
  };
  if (splits == 1) return;
  __syncthreads();
  if (!is_last_block(task.tickets + unit, splits, gpu::shared<Shared>().last)) return;
  const int lists = lists_of(0, list0);
  finish_columns(task, unit, list0, columns, lists);
}

}  // namespace tally::cuda_loops
