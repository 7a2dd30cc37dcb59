// Ops on long rows: a block a row, a warp a tile at a time. Its threads leave what they read in shared memory until the
// row's result is there, each where only it looks, or read it again. Where a multiprocessor has room for one row alone,
// a block has several rows in turn and asks for the next one's elements as the places of this one's become free.
//
// Rows of odd length begin off the alignment of vectors, each differently. They are shifted: a thread's vectors lie as
// memory wants them, `shift` elements before where they would in an aligned row, and the lanes' values move on by as
// many lanes before they merge.
#pragma once

#include <tally/ops/cuda/row_task.cuh>

namespace tally::cuda_loops {

/// How the threads of a warp share a tile: in pass p thread t has kWidth lanes from lane(p) on.
template <int kWidth> struct RowShare {
  static constexpr int kPasses = kVector / kWidth;
  TALLY_DEVICE static int lane(int pass) { return (kWarp * pass + static_cast<int>(threadIdx.x % kWarp)) * kWidth; }
};

/// The tile's values merged within small groups of threads: then each has number `place` of 32.
template <class U, int kWidth, class Op> TALLY_DEVICE typename U::Value narrowed(const Op& op, typename U::Value* v) {
  constexpr int kPasses = RowShare<kWidth>::kPasses;
  merge_across<U, kPasses, false, false>(op, v, 1, kPasses);
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
  merge_across<U, 1, false, false>(op, &v, kPasses, kWarp);
  merge_across<U, 1, false, false>(op, &v, 1, kPasses);
  return v;
}

/// The tree over board[0..size), a power of two, of a block; `board` has room for twice as many. All threads get it.
template <class U, class Op>
TALLY_DEVICE typename U::Value across_board(const Op& op, typename U::Value* board, int size) {
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  TALLY_ROLLED
  while (size > kWarp) {
    typename U::Value* next = board + size;
    size /= 2;
    TALLY_ROLLED
    for (int i = thread; i < size; i += threads) next[i] = U::merge(op, board[2 * i], board[2 * i + 1]);
    board = next;
    __syncthreads();
  }
  typename U::Value* result = board + size;
  if (thread < kWarp) {
    typename U::Value v = thread < size ? board[thread] : U::nothing(op);
    merge_across<U, 1, false, false>(op, &v, 1, size);
    if (thread == 0) *result = v;
  }
  __syncthreads();
  return *result;
}

/// v[0..kWidth) of a warp's threads, one after another in a circle, moved on by `shift` < kWidth places.
template <int kWidth, class Value> TALLY_DEVICE void move_on(Value (&v)[kWidth], int shift) {
  TALLY_ROLLED
  for (int i = 0; i < shift; ++i) {
    const Value next = gpu::shuffle(v[0], (static_cast<int>(threadIdx.x) + 1) % kWarp);
    TALLY_UNROLL
    for (int w = 0; w + 1 < kWidth; ++w) v[w] = v[w + 1];
    v[kWidth - 1] = next;
  }
}

/// One row as its block's threads see it.
template <class Op, class T, int kWidth, bool kShifted> struct LongRow {
  using C = Compute<T>;
  using Load = gpu::Vector<T, kWidth>;
  using Row = typename RowTask<Op, T>::Row;
  using Share = RowShare<kWidth>;
  static constexpr int kPasses = Share::kPasses, kInputs = Op::inputs;

  const RowTask<Op, T>& task;
  std::int64_t row;

  /// Elements from the last whole vector to the row.
  TALLY_DEVICE int shift() const {
    if (!kShifted) return 0;
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(task.input(0, row)) / sizeof(T)) & (kWidth - 1);
  }
  TALLY_DEVICE static int tile(int round) {
    return round * static_cast<int>(blockDim.x / kWarp) + static_cast<int>(threadIdx.x / kWarp);
  }
  /// The first element of a thread's lanes of a pass; before the row in the first thread of a shifted one.
  TALLY_DEVICE int from(int round, int pass) const { return tile(round) * kTile + Share::lane(pass) - shift(); }
  /// In a shifted row the first thread's vectors begin with the last lanes of the 128 before: so of a tile it has one
  /// vector more.
  TALLY_DEVICE bool has_another() const { return kShifted && shift() > 0 && threadIdx.x % kWarp == 0; }
  TALLY_DEVICE bool is_inside(int at) const { return !kShifted || (at >= 0 && at + kWidth <= task.n); }

  /// Of elements [at, at + kWidth) of an input those that exist, asked for or read.
  TALLY_DEVICE void fetch(Load* to, int input, int at) const {
    const T* x = task.input(input, row) + at;
    if (is_inside(at)) return gpu::copy_async(to, reinterpret_cast<const Load*>(x));
    TALLY_ROLLED
    for (int w = 0; w < kWidth; ++w)
      if (at + w >= 0 && at + w < task.n) gpu::copy_async(reinterpret_cast<T*>(to) + w, x + w);
  }
  TALLY_DEVICE Load read(int input, int at) const {
    const T* x = task.input(input, row) + at;
    if (is_inside(at)) return gpu::load_streaming(reinterpret_cast<const Load*>(x));
    Load some = {};
    TALLY_UNROLL
    for (int w = 0; w < kWidth; ++w)
      if (at + w >= 0 && at + w < task.n) some[w] = x[w];
    return some;
  }
  TALLY_DEVICE void store(int at, const Load& y) const {
    T* to = task.out + row * task.n + at;
    if (is_inside(at)) return gpu::store_streaming(reinterpret_cast<Load*>(to), y);
    TALLY_UNROLL
    for (int w = 0; w < kWidth; ++w)
      if (at + w >= 0 && at + w < task.n) to[w] = y[w];
  }
  /// Where a warp's elements of a round wait: number (input · kPasses + pass) · kPerLane + j of a thread, the next one
  /// kWarp places further.
  TALLY_DEVICE Load* place_of(int round) const {
    Load* all = reinterpret_cast<Load*>(gpu::shared_memory<unsigned char>());
    return all + tile(round) * (kInputs * (kPasses * kPerLane * kWarp + kShifted)) + threadIdx.x % kWarp;
  }
  TALLY_DEVICE static constexpr int number(int input, int pass, int j) {
    return (pass * kPerLane + j) * kWarp + input * (kPasses * kPerLane * kWarp + kShifted);
  }
  template <class F> TALLY_DEVICE void each_round(F&& f) const {
    TALLY_ROLLED
    for (int round = 0; round < task.plan.rounds && tile(round) < task.plan.tiles; ++round) f(round);
  }
  /// Asks for all elements, into where they wait.
  TALLY_DEVICE void fetch() const {
    each_round([&](int round) {
      TALLY_ROLLED
      for (int p = 0; p < kPasses; ++p) {
        const int first = from(round, p), left = static_cast<int>(task.n) - first;
        TALLY_UNROLL
        for (int k = 0; k < kInputs; ++k) {
          Load* place = place_of(round) + number(k, p, 0);
          TALLY_UNROLL
          for (int j = 0; j < kPerLane; ++j)
            if (kLanes * j < left) fetch(place + number(0, 0, j), k, first + kLanes * j);
          if (has_another() && kTile < left) fetch(place + number(0, 0, kPerLane), k, first + kTile);
        }
      }
    });
  }

  /// The thread's part of a tile in U. `waits`: its elements are in shared memory, else they are read and, as planned,
  /// left there.
  template <class U> TALLY_DEVICE typename U::Value fold_tile(int round, const Row& known, C pivot, bool waits) const {
    using E = typename Op::template Element<C>;
    const int n = static_cast<int>(task.n);
    const bool whole = n - tile(round) * kTile >= kTile;
    Load loads[kPasses][kInputs][kPerLane], another[kInputs] = {};
    Load* place = place_of(round);
    if (waits) {
      TALLY_UNROLL
      for (int p = 0; p < kPasses; ++p) {
        TALLY_UNROLL
        for (int k = 0; k < kInputs; ++k) {
          TALLY_UNROLL
          for (int j = 0; j < kPerLane; ++j) loads[p][k][j] = place[number(k, p, j)];
          if (has_another()) another[k] = place[number(k, 0, kPerLane)];
        }
      }
    } else {
      TALLY_UNROLL
      for (int p = 0; p < kPasses; ++p) {
        const int first = from(round, p), left = n - first;
        TALLY_UNROLL
        for (int k = 0; k < kInputs; ++k) {
          TALLY_UNROLL
          for (int j = 0; j < kPerLane; ++j) loads[p][k][j] = kLanes * j < left ? read(k, first + kLanes * j) : Load{};
          if (has_another() && kTile < left) another[k] = read(k, first + kTile);
        }
      }
      if (task.plan.keeps) {
        TALLY_UNROLL
        for (int p = 0; p < kPasses; ++p) {
          TALLY_UNROLL
          for (int k = 0; k < kInputs; ++k) {
            TALLY_UNROLL
            for (int j = 0; j < kPerLane; ++j) place[number(k, p, j)] = loads[p][k][j];
            if (has_another()) place[number(k, 0, kPerLane)] = another[k];
          }
        }
      }
    }
    typename U::Value v[kPasses];
    TALLY_UNROLL
    for (int p = 0; p < kPasses; ++p) {
      const int first = from(round, p), left = n - first;
      E x[kWidth][kPerLane], last[kWidth] = {};
      TALLY_UNROLL
      for (int j = 0; j < kPerLane; ++j) {
        const auto columns = task.template columns<kWidth>(first + kLanes * j, left - kLanes * j);
        TALLY_UNROLL
        for (int w = 0; w < kWidth; ++w) {
          C in[kInputs];
          TALLY_UNROLL
          for (int k = 0; k < kInputs; ++k) in[k] = convert<C>(loads[p][k][j][w]);
          x[w][j] = task.op.template element<T>(in, known, columns.weight[w]);
        }
      }
      if (has_another()) {
        const auto columns = task.template columns<kWidth>(first + kTile, left - kTile);
        TALLY_UNROLL
        for (int w = 0; w < kWidth; ++w) {
          C in[kInputs];
          TALLY_UNROLL
          for (int k = 0; k < kInputs; ++k) in[k] = convert<C>(another[k][w]);
          last[w] = task.op.template element<T>(in, known, columns.weight[w]);
        }
      }
      typename U::Value lanes[kWidth];
      TALLY_UNROLL
      for (int w = 0; w < kWidth; ++w) {
        int lane = w;
        if (has_another() && w < shift()) {
          lane += kLanes;
          TALLY_UNROLL
          for (int j = 0; j + 1 < kPerLane; ++j) x[w][j] = x[w][j + 1];
          x[w][kPerLane - 1] = last[w];
        }
        lanes[w] = whole ? U::template lane<kPerLane>(task.reduction, x[w], kPerLane, first + lane, E(pivot))
                         : U::template lane<kPerLane>(task.reduction, x[w], lane_length<kPerLane>(left - lane),
                                                      first + lane, E(pivot));
      }
      if constexpr (kShifted) move_on(lanes, shift());
      merge_within<U, kWidth>(task.reduction, lanes);
      v[p] = lanes[0];
    }
    return narrowed<U, kWidth>(task.reduction, v);
  }

  /// The row's accumulator in U. `spread`: each thread has one value for the board, else each tile.
  template <class U>
  TALLY_DEVICE typename U::Value reduce(const Row& known, C pivot, bool waits, bool spread,
                                        typename U::Value* board) const {
    const int threads = static_cast<int>(blockDim.x), tiles = task.plan.tiles;
    const int size = spread ? task.plan.board : static_cast<int>(power_of_two_at_least(tiles));
    for (int i = (spread ? threads : tiles) + static_cast<int>(threadIdx.x); i < size; i += threads)
      board[i] = U::nothing(task.reduction);
    each_round([&](int round) {
      const auto mine = fold_tile<U>(round, known, pivot, waits);
      if (spread) {
        board[tile(round) * kWarp + place<kWidth>()] = mine;
      } else {
        const auto whole = of_tile<U, kWidth>(task.reduction, mine);
        if (threadIdx.x % kWarp == 0) board[tile(round)] = whole;
      }
    });
    return across_board<U>(task.reduction, board, size);
  }

  /// Writes the results. Into places that are free then come the elements of `next`, where it is a row.
  template <class Map> TALLY_DEVICE void write(const Map& map, const LongRow& next) const {
    const bool fetches = next.row < task.rows, keeps = task.plan.keeps;
    const int n = static_cast<int>(task.n);
    each_round([&](int round) {
      TALLY_ROLLED
      for (int p = 0; p < kPasses; ++p) {
        const int first = from(round, p), left = n - first, count = lane_length<kPerLane>(left);
        const int ahead = next.from(round, p), count_ahead = fetches ? lane_length<kPerLane>(n - ahead) : 0;
        Load* place = place_of(round) + number(0, p, 0);
#if defined(__CUDACC__)
#pragma unroll(kWidth == 1 ? 4 : 2)
#endif
        for (int j = 0; j < count; ++j) {
          Load loads[kInputs];
          TALLY_UNROLL
          for (int k = 0; k < kInputs; ++k) {
            if constexpr (kShifted)
              loads[k] = keeps ? place[number(k, 0, j)] : read(k, first + kLanes * j);
            else
              loads[k] =
                  keeps ? place[number(k, 0, j)]
                        : gpu::load_streaming(reinterpret_cast<const Load*>(task.input(k, row) + first + kLanes * j));
          }
          if (j < count_ahead) {
            TALLY_UNROLL
            for (int k = 0; k < kInputs; ++k) next.fetch(place + number(k, 0, j), k, ahead + kLanes * j);
          }
          const auto columns = task.template columns<kWidth>(first + kLanes * j, left - kLanes * j);
          store(first + kLanes * j, map(loads, columns));
        }
        if constexpr (kShifted) {  // the next row may have a vector more
          TALLY_UNROLL
          for (int k = 0; k < kInputs; ++k) {
            if (count < count_ahead) next.fetch(place + number(k, 0, count), k, ahead + kLanes * count);
            if (fetches && next.has_another() && ahead + kTile < n)
              next.fetch(place + number(k, 0, kPerLane), k, ahead + kTile);
          }
        }
      }
    });
  }
};

/// A row with all the op's care.
template <class Op, class T, int kWidth, bool kShifted>
TALLY_COLD void exact_long_row(const LongRow<Op, T, kWidth, kShifted>& here, typename RowTask<Op, T>::Row known,
                               Compute<T> pivot, void* board, const LongRow<Op, T, kWidth, kShifted>& next) {
  using U = Exact<typename Op::Reduction, typename Op::template Element<Compute<T>>>;
  __syncthreads();
  const auto total =
      here.template reduce<U>(known, pivot, here.task.plan.keeps, false, static_cast<typename U::Value*>(board));
  here.task.finish(known, here.row, U::pack(total), pivot, threadIdx.x == 0);
  here.write(ExactMap<Op, T>{here.task.op, known}, next);
}

template <class Op, class T, int kWidth, bool kShifted>
__global__ void __launch_bounds__(most_row_threads(Op::inputs, sizeof(T)))
    map_long_rows(const TALLY_GRID_CONSTANT RowTask<Op, T> task) {
  using U = RowUnit<Op, Compute<T>>;
  using Row = LongRow<Op, T, kWidth, kShifted>;
  void* board = gpu::shared_memory<unsigned char>() + task.plan.kept_bytes;
  const bool in_turn = task.plan.in_turn;
  gpu::begin_early();
  if (in_turn) Row{task, blockIdx.x}.fetch();
  TALLY_ROLLED
  for (std::int64_t row = blockIdx.x; row < task.rows; row += gridDim.x) {
    const Row here{task, row}, next{task, in_turn ? row + gridDim.x : task.rows};
    const Compute<T> pivot = convert<Compute<T>>(*task.input(0, row));
    typename RowTask<Op, T>::Row known = task.begin(row, pivot);
    if (in_turn) gpu::wait_for_copies();
    const auto total =
        here.template reduce<U>(known, pivot, in_turn, task.plan.rounds == 1, static_cast<typename U::Value*>(board));
    if constexpr (U::checked)
      if (!U::holds(total)) {
        exact_long_row(here, known, pivot, board, next);
        __syncthreads();
        continue;
      }
    task.finish(known, row, U::pack(total), pivot, threadIdx.x == 0);
    here.write(QuickMap<Op, T>{task.op, known}, next);
    if (in_turn) __syncthreads();  // the board
  }
}

}  // namespace tally::cuda_loops
