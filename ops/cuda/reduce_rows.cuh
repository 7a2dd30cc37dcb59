// The kernel for long lists whose threads walk along them: a warp takes a run of tiles, the warps of a block and then
// blocks share a list.
#pragma once

#include <tally/ops/cuda/reduce_task.cuh>

namespace tally::cuda_loops {

/// Neighbours that a thread of the kernel for long rows loads at once where it can. Values of 8 bytes fill a warp's
/// access as they are, and heavy ops merge as often either way.
template <class U, class T> constexpr int row_width() {
  return U::heavy || !is_float_type<T> || sizeof(T) == 8 ? 1 : static_cast<int>(16 / sizeof(T));
}

constexpr int kRowWarps = 8;  ///< of a block, at most

/// How threads share tiles: kGroup of them a tile, in pass p thread r of them has lanes (kGroup·p + r)·kWidth + k.
template <int kWidth> struct Share {
  static constexpr int kGroup = kLanes / kWidth < kWarp ? kLanes / kWidth : kWarp, kTiles = kWarp / kGroup;
  static constexpr int kPasses = kLanes / (kWidth * kGroup), kStep = kWidth * kGroup;
  TALLY_DEVICE static int lane(int pass) { return kStep * pass + static_cast<int>(threadIdx.x % kGroup) * kWidth; }
};

/// What a thread reads of a tile: number kPasses·j + p is row j of pass p.
template <int kWidth, class T> struct LoadsOfTile {
  static constexpr int kCount = Share<kWidth>::kPasses * kPerLane;
  gpu::Held<T, kWidth> at[kCount];
};

/// What a thread has of a tile, a value a pass.
template <class U, int kWidth> struct ShareOfTile { typename U::Value passes[Share<kWidth>::kPasses]; };

/// Of the tile that begins with element `first` of its list and has `count`. kFull: it is whole.
template <class U, bool kFull, int kWidth, class Op, class T>
TALLY_DEVICE ShareOfTile<U, kWidth> share_of_tile(const Op& op, const LoadsOfTile<kWidth, T>& loads, std::int64_t first,
                                                  int count, Compute<T> pivot) {
  using S = Share<kWidth>;
  ShareOfTile<U, kWidth> share;
  TALLY_UNROLL
  for (int p = 0; p < S::kPasses; ++p) {
    gpu::Vector<T, kWidth> rows[kPerLane];
    TALLY_UNROLL
    for (int j = 0; j < kPerLane; ++j) rows[j] = loads.at[S::kPasses * j + p];
    share.passes[p] = fold_lanes<U, kFull>(op, rows, first, S::lane(p), count, pivot);
  }
  return share;
}

/// Any tile in any layout: the last one of a list, one in many pieces. One copy of the code.
template <class U, int kWidth, class Op, class T>
TALLY_COLD ShareOfTile<U, kWidth> read_any_tile(const Task<Op, T>& task, const T* x, Compute<T> pivot,
                                                std::int64_t tile) {
  using S = Share<kWidth>;
  const std::int64_t first = tile * kTile, left = task.n - first;
  const int count = static_cast<int>(left < kTile ? left : kTile);
  ShareOfTile<U, kWidth> share;
  TALLY_ROLLED
  for (int p = 0; p < S::kPasses; ++p) {
    gpu::Vector<T, kWidth> rows[kPerLane];
    read_scattered<kPerLane, kWidth>(task.reduced, x, first + S::lane(p), first + count, kLanes, rows);
    share.passes[p] = fold_lanes<U, false>(task.op, rows, first, S::lane(p), count, pivot);
  }
  return share;
}

/// The last tile of a list of n in one piece, of whole vectors: as the others, all loads at once. It has its arguments
/// by value: of a kernel's arguments a function of its own would read each from memory.
template <class U, int kWidth, class Op, class T>
TALLY_COLD ShareOfTile<U, kWidth> read_last_tile(const Op op, const T* x, std::int64_t n, Compute<T> pivot,
                                                 std::int64_t tile) {
  using S = Share<kWidth>;
  using Load = gpu::Vector<T, kWidth>;
  const std::int64_t first = tile * kTile;
  const int count = static_cast<int>(n - first), left = count - S::lane(0);
  const T* from = x + first + S::lane(0);
  LoadsOfTile<kWidth, T> loads;
  TALLY_UNROLL
  for (int i = 0; i < loads.kCount; ++i)
    loads.at[i] = i * S::kStep < left
                      ? gpu::Held<T, kWidth>(gpu::load_streaming(reinterpret_cast<const Load*>(from + i * S::kStep)))
                      : gpu::Held<T, kWidth>{};
  return share_of_tile<U, false>(op, loads, first, count, pivot);
}

/// A whole tile in one piece, or in a few of one stride.
template <int kWidth, class Op, class T>
TALLY_DEVICE LoadsOfTile<kWidth, T> load_whole_tile(const Task<Op, T>& task, const T* x, std::int64_t tile,
                                                    bool dense) {
  using S = Share<kWidth>;
  using Load = gpu::Vector<T, kWidth>;
  const std::int64_t first = tile * kTile + S::lane(0);
  LoadsOfTile<kWidth, T> loads;
  if (dense) {
    const T* from = x + first;
    TALLY_UNROLL
    for (int i = 0; i < loads.kCount; ++i)
      loads.at[i] = gpu::load_streaming(reinterpret_cast<const Load*>(from + i * S::kStep));
  } else {
    TALLY_UNROLL
    for (int i = 0; i < loads.kCount; ++i)
      loads.at[i] =
          gpu::load_streaming(reinterpret_cast<const Load*>(x + near_offset(task.reduced, first + i * S::kStep)));
  }
  return loads;
}

/// Where only the extreme of a list and its like count: adds whole tiles to what the thread has. `bar` is the extreme
/// that the warp has seen; most tiles stay behind it, and need no more than a look at their own.
template <class U, int kWidth, class Op, class T>
TALLY_DEVICE void add_to_extreme(const Op& op, const LoadsOfTile<kWidth, T>& loads, std::int64_t first,
                                 typename U::Value& mine, Compute<T>& bar) {
  using S = Share<kWidth>;
  Compute<T> x[loads.kCount * kWidth];
  TALLY_UNROLL
  for (int i = 0; i < loads.kCount * kWidth; ++i)
    x[i] = convert<Compute<T>>(gpu::Vector<T, kWidth>(loads.at[i / kWidth])[i % kWidth]);
  const Compute<T> extreme = U::extreme(x);
  if (__all_sync(gpu::kAllLanes, U::loses(extreme, bar))) return;
  mine = U::merge(op, mine, U::template share<kWidth, S::kStep>(op, x, extreme, first + S::lane(0)));
  bar = mine.value;
  TALLY_UNROLL
  for (int offset = 1; offset < kWarp; offset *= 2) bar = U::extreme(bar, gpu::shuffle_xor(bar, offset));
}

/// Whether two groups of tiles merge side by side, half of a warp's threads each, so that no merge is done twice: where
/// a merge is more than an addition.
template <class U, int kWidth> constexpr bool merges_pairs() {
  return Share<kWidth>::kPasses == 1 && !U::any_order && !U::heavy && sizeof(typename U::Value) > 4 && !has_across<U>;
}

/// The values of a block's groups of tiles, which its warps leave each other to have them in order.
template <class U, int kWidth> struct Board {
  static constexpr bool pays =  // measured
      !U::any_order && !U::heavy && (sizeof(typename U::Value) <= 8 || (kWidth > 1 && has_across<U>));
  static constexpr int kSize = 1024;
  alignas(16) unsigned char bytes[kSize * sizeof(typename U::Value)];

  TALLY_DEVICE static typename U::Value* values() {
    return reinterpret_cast<typename U::Value*>(gpu::shared<Board>().bytes);
  }
};

/// The groups of Share::kTiles tiles of a list that begin at `begin`, `begin` + stride, ... before `end`. Of a run, the
/// result is in the warp's first thread. If `board` is not negative, that thread leaves each group's result on the
/// block's board, from there on and kRowWarps apart.
template <class U, int kWidth, class Op, class T>
TALLY_DEVICE typename U::Value run_of_tiles(const Task<Op, T>& task, std::int64_t list, std::int64_t begin,
                                            std::int64_t end, std::int64_t stride = Share<kWidth>::kTiles,
                                            int board = -1) {
  using S = Share<kWidth>;
  const T* x = task.list(list);
  const Compute<T> pivot = task.pivot(list);
  const bool dense = task.step == 1;
  const std::int64_t whole = dense || task.reduced.is_near(task.n) ? task.n / kTile : 0;
  const bool at_once = end - begin <= S::kTiles;
  WarpCounter<U, Op> counter(task.op);
  typename U::Value mine = U::nothing(task.op);
  const auto keep = [&](const typename U::Value& total) {  // of a group, in the warp's first thread
    mine = total;
    if constexpr (Board<U, kWidth>::pays)
      if (board >= 0) {
        if (threadIdx.x % kWarp == 0) Board<U, kWidth>::values()[board] = mine;
        board += kRowWarps;
        return;
      }
    if (!at_once) counter.push(mine);
  };
  const auto add = [&](ShareOfTile<U, kWidth>& share, auto whole_tiles) {
    constexpr bool kEven = whole_tiles();
    auto* v = share.passes;
    if constexpr (U::any_order) {
      merge_within<U, S::kPasses>(task.op, v);
      mine = U::merge(task.op, mine, v[0]);
    } else {
      merge_across<U, S::kPasses, kEven>(task.op, v, 1, S::kPasses);  // thread t now has pass t % kPasses
      merge_across<U, 1, kEven>(task.op, v, S::kPasses, kWarp);       // the other lanes of a pass, then the tiles
      merge_across<U, 1, kEven>(task.op, v, 1, S::kPasses);           // the passes
      keep(v[0]);
    }
  };
  // Two loops, so that the first one has no call in it, around which values would have to leave their registers.
  const std::int64_t last_whole = (end < whole ? end : whole) - S::kTiles;
  const int mine_of_group = static_cast<int>(threadIdx.x % kWarp) / S::kGroup;
  std::int64_t group = begin;
  if constexpr (has_share<U, Op, Compute<T>>) {
    Compute<T> bar = mine.value;
    for (; group <= last_whole; group += stride) {
      const std::int64_t tile = group + mine_of_group;
      add_to_extreme<U>(task.op, load_whole_tile<kWidth>(task, x, tile, dense), tile * kTile, mine, bar);
    }
  } else {
    const auto share_of = [&](std::int64_t group) {
      const std::int64_t tile = group + mine_of_group;
      return share_of_tile<U, true>(task.op, load_whole_tile<kWidth>(task, x, tile, dense), tile * kTile, kTile, pivot);
    };
    if constexpr (merges_pairs<U, kWidth>()) {
      for (; group + stride <= last_whole; group += 2 * stride) {
        typename U::Value v[2] = {share_of(group).passes[0], share_of(group + stride).passes[0]};
        merge_across<U, 2, true>(task.op, v, 1, 2);
        merge_across<U, 1, true>(task.op, v, 2, kWarp);
        if (board >= 0) {
          keep(v[0]);
          keep(gpu::shuffle(v[0], 1));
        } else {
          merge_across<U, 1, true>(task.op, v, 1, 2);
          counter.push(v[0], 1);
        }
      }
    }
    for (; group <= last_whole; group += stride) {
      auto share = share_of(group);
      add(share, std::true_type());
    }
  }
  TALLY_ROLLED
  for (; group < end; group += stride) {
    ShareOfTile<U, kWidth> share;
    TALLY_UNROLL
    for (int p = 0; p < S::kPasses; ++p) share.passes[p] = U::nothing(task.op);
    const std::int64_t tile = group + mine_of_group;
    if (tile < end) {
      if constexpr (U::heavy)
        share = read_any_tile<U, kWidth>(task, x, pivot, tile);
      else if (dense && (tile + 1) * kTile > task.n && task.n % kWidth == 0)
        share = read_last_tile<U, kWidth>(task.op, x, task.n, pivot, tile);
      else
        share = read_any_tile<U, kWidth>(task, x, pivot, tile);
    }
    add(share, std::false_type());
  }
  if constexpr (U::any_order) merge_across<U, 1>(task.op, &mine, 1, kWarp);
  return U::any_order || at_once || board >= 0 ? mine : counter.finish();
}

template <class Op, class T>
TALLY_COLD PartialOf<Op, Compute<T>> exact_run_of_tiles(const Task<Op, T>& task, std::int64_t list, std::int64_t begin,
                                                        std::int64_t end) {
  return run_of_tiles<Exact<Op, Compute<T>>, 1>(task, list, begin, end);
}

/// The tree over values [begin, begin + size) of which only the first `filled` of all are there; size is a power of
/// two.
template <class U, class Op>
TALLY_DEVICE typename U::Value merge_board(const Op& op, const typename U::Value* board, int begin, int size,
                                           int filled) {
  WarpCounter<U, Op> counter(op);
  typename U::Value value = U::nothing(op);
  const int end = begin + size < filled ? begin + size : filled;
  int at = begin + static_cast<int>(threadIdx.x % kWarp);
  TALLY_ROLLED
  for (int i = 0; i < size; i += kWarp, at += kWarp) {
    value = at < end ? board[at] : U::nothing(op);
    merge_across<U, 1>(op, &value, 1, size < kWarp ? size : kWarp);
    if (size > kWarp) counter.push(value);
  }
  return size > kWarp ? counter.finish() : value;
}

/// The tree over the threads of a block; in its first thread.
template <class Op, class T>
TALLY_DEVICE PartialOf<Op, Compute<T>> across_block(const Op& op, PartialOf<Op, Compute<T>> total,
                                                    PartialOf<Op, Compute<T>>* of_warp) {
  using C = Compute<T>;
  const int t = static_cast<int>(threadIdx.x % kWarp), w = static_cast<int>(threadIdx.x / kWarp);
  const int warps = static_cast<int>(blockDim.x / kWarp);
  total = across_partials<C>(op, total, kWarp);
  if (t == 0) of_warp[w] = total;
  __syncthreads();
  if (w > 0) return total;
  return across_partials<C>(op, t < warps ? of_warp[t] : Fold<Op, C>::nothing(op), warps);
}

/// The last block of a list: the tree over what all its blocks have left in memory, in the list's order.
template <class Op, class T>
TALLY_COLD void finish_rows(const Task<Op, T>& task, std::int64_t list, PartialOf<Op, Compute<T>>* of_warp) {
  using C = Compute<T>;
  const int threads = static_cast<int>(blockDim.x);
  const std::int64_t splits = task.plan.splits;
  const PartialOf<Op, C>* partials = task.partials + list * splits;
  PartialOf<Op, C> total = Fold<Op, C>::nothing(task.op);
  if (splits <= threads) {
    if (static_cast<int>(threadIdx.x) < splits) total = load_partial(partials + threadIdx.x);
  } else {
    const std::int64_t chunk = power_of_two_at_least((splits + threads - 1) / threads);
    total = merge_memory<C>(task.op, partials, 1, threadIdx.x * chunk, chunk, splits);
  }
  total = across_block<Op, T>(task.op, total, of_warp);
  if (threadIdx.x == 0) task.store(list, total);
}

/// The same over what they send, as it arrives; in the first thread.
template <class Op, class T>
TALLY_DEVICE PartialOf<Op, Compute<T>> receive_rows(const Task<Op, T>& task, std::int64_t list,
                                                    PartialOf<Op, Compute<T>>* of_warp) {
  using C = Compute<T>;
  const int splits = static_cast<int>(task.plan.splits), mine = static_cast<int>(threadIdx.x);
  const Mail mail = task.mail(list);
  PartialOf<Op, C> total[1] = {Fold<Op, C>::nothing(task.op)};
  if (mail.each_bits == 0)
    receive_partials<1>(mail, 0, mine < splits ? 1 : 0, total);
  else
    total[0] = merge_mail<C>(task.op, mail, splits);
  if (splits > kWarp) return across_block<Op, T>(task.op, total[0], of_warp);
  return mine < kWarp ? across_partials<C>(task.op, total[0], kWarp) : total[0];
}

/// What a warp of a block is to do: block.y is the list, block.x the part of it, or several lists have a block.
struct PartOfRow {
  int split;  ///< number of the block among those of its list
  std::int64_t first_list, list, begin, end;

  template <class Op, class T> TALLY_DEVICE PartOfRow(const Task<Op, T>& task, const dim3& block) {
    const Plan& plan = task.plan;
    const int w = static_cast<int>(threadIdx.x / kWarp), warps = static_cast<int>(blockDim.x / kWarp);
    const int shared_by = plan.warps_per_list, shared_bits = 31 - __clz(shared_by);
    const bool alone = plan.splits == 1;
    split = alone ? 0 : static_cast<int>(block.x);
    first_list = alone ? std::int64_t{block.x} * (warps >> shared_bits) : block.y;
    list = first_list + (w >> shared_bits);
    begin = (static_cast<std::int64_t>(split) * shared_by + (w & (shared_by - 1))) * plan.run;
    const std::int64_t tiles = (task.n + kTile - 1) / kTile, past = begin + plan.run;
    end = past < tiles ? past : tiles;
  }
};

template <class Op, class T, int kWidth>
__global__ void __launch_bounds__(256, Unit<Op, Compute<T>>::row_blocks(kWidth))
    reduce_rows(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using Partial = PartialOf<Op, C>;
  const int t = static_cast<int>(threadIdx.x % kWarp), w = static_cast<int>(threadIdx.x / kWarp);
  const std::int64_t run = task.plan.run;
  const PartOfRow part(task, blockIdx);
  gpu::begin_early();
  // Which block begins last is asked for now and needed at the end.
  unsigned begun = 0;
  if (task.plan.splits > 1 && threadIdx.x == 0)
    begun = gpu::count_start(task.tickets + part.list, static_cast<unsigned>(task.plan.splits - 1));

  // A block that has one list reads its warps' parts together, group by group, so that it walks through memory in one
  // piece. From the board each warp then takes what its part is worth.
  constexpr int kTiles = Share<kWidth>::kTiles;
  const bool together = Board<U, kWidth>::pays && task.plan.warps_per_list == kRowWarps && run > kTiles &&
                        run * kRowWarps <= Board<U, kWidth>::kSize;
  std::int64_t begin = part.begin, end = part.end;
  if (together) {
    const std::int64_t tiles = (task.n + kTile - 1) / kTile, past = begin + (kRowWarps - w) * run;
    begin -= w * (run - kTiles);
    end = past < tiles ? past : tiles;
  }
  auto value = U::nothing(task.op);
  if (part.list < task.lists && begin < end)
    value =
        run_of_tiles<U, kWidth>(task, part.list, begin, end, together ? kRowWarps * kTiles : kTiles, together ? w : -1);
  if (together) {
    const PartOfRow mine(task, gpu::block_index_again());
    __syncthreads();
    const int size = static_cast<int>(run) / kTiles;
    const std::int64_t left = (task.n + kTile - 1) / kTile - (mine.begin - w * run), most = kRowWarps * run;
    const int filled = static_cast<int>((left < most ? left : most) + kTiles - 1) / kTiles;
    value = merge_board<U>(task.op, Board<U, kWidth>::values(), w * size, size, filled);
  }
  Partial total = U::pack(value);
  if constexpr (U::checked) {
    if (task.n > U::longest || __any_sync(gpu::kAllLanes, t == 0 && !U::holds(value))) {
      const PartOfRow mine(task, gpu::block_index_again());
      total = Fold<Op, C>::nothing(task.op);
      if (mine.list < task.lists && mine.begin < mine.end)
        total = exact_run_of_tiles(task, mine.list, mine.begin, mine.end);
    }
  }
  const PartOfRow mine(task, gpu::block_index_again());
  const int shared_by = task.plan.warps_per_list, shared_bits = 31 - __clz(shared_by);
  const std::int64_t splits = task.plan.splits;
  // Of the list that this thread may have to store: asked for now, needed last.
  const std::int64_t list = shared_by == 1 ? mine.list : mine.first_list + (t >> shared_bits);
  const C pivot = list < task.lists ? task.pivot(list) : C(0);
  bool stores = t == 0 && list < task.lists;
  if (shared_by > 1) {
    struct Shared {
      alignas(16) unsigned char warps[kRowWarps * sizeof(Partial)];
      bool last;
    };
    Shared& shared = gpu::shared<Shared>();
    Partial* of_warp = reinterpret_cast<Partial*>(shared.warps);
    if (t == 0) of_warp[w] = total;
    if (threadIdx.x == 0) shared.last = splits > 1 && begun == static_cast<unsigned>(splits - 1);
    __syncthreads();
    if (w == 0) {
      const int warps = static_cast<int>(blockDim.x / kWarp);
      total = across_partials<C>(task.op, t < warps ? of_warp[t] : Fold<Op, C>::nothing(task.op), shared_by);
      if (splits > 1 && t == 0) send_partial(task.mail(list), mine.split, total);
      stores = t < warps && (t & (shared_by - 1)) == 0 && list < task.lists;
    } else {
      stores = false;
    }
    if (splits > 1) {
      if (!shared.last) return;
      __syncthreads();  // its own partial result is sent, too
      total = receive_rows(task, mine.first_list, of_warp);
      stores = threadIdx.x == 0;
    }
  }
  if (stores) task.store(list, total, pivot);
}

}  // namespace tally::cuda_loops
