// The kernel for long lists whose threads walk along them: a warp takes a run of tiles, the warps of a block and then
// blocks share a list.
#pragma once

#include <tally/ops/cuda/reduce_row_tile.cuh>

namespace tally::cuda_loops {

constexpr int kRowWarps = 8;  ///< of a block, at most

/// Where only the extreme of a list and its like count: adds whole tiles to what the thread has. `bar` is the extreme
/// that the warp has seen; most tiles stay behind it, and need no more than a look at their own. Of the last tiles
/// nobody asks for it. `shift` as in share_of_shifted_tile.
template <class U, bool kShifted, int kWidth, class Op, class T>
TALLY_DEVICE void add_to_extreme(const Op& op, const LoadsOfTile<kWidth, T>& loads, std::int64_t first, int shift,
                                 bool last, typename U::Value& mine, Compute<T>& bar) {
  using S = Share<kWidth>;
  Compute<T> x[loads.kCount * kWidth];
  TALLY_UNROLL
  for (int i = 0; i < loads.kCount * kWidth; ++i)
    x[i] = measured<Compute<T>>(op, gpu::Vector<T, kWidth>(loads.at[i / kWidth])[i % kWidth]);
  const Compute<T> extreme = U::extreme(x);
  if (__all_sync(gpu::kAllLanes, U::loses(extreme, bar))) return;
  mine = U::merge(op, mine,
                  U::template share<kWidth, S::kStep, kShifted>(op, x, extreme, first + (S::lane(0) - shift),
                                                                S::lane(0) == 0 ? shift : 0));
  if (last) return;
  bar = mine.value;
  TALLY_UNROLL
  for (int offset = 1; offset < kWarp; offset *= 2) bar = U::extreme(bar, gpu::shuffle_xor(bar, offset));
}

/// Whether two groups of tiles merge side by side, half of a warp's threads each, so that no merge is done twice: where
/// a merge is more than an addition.
template <class U, int kWidth> constexpr bool merges_pairs() {
  return Share<kWidth>::kPasses == 1 && !U::any_order && !U::heavy && sizeof(typename U::Value) > 8 && !has_across<U>;
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

/// Of a list's `count` tiles from number `begin` on the groups of Share::kTiles that begin `stride` apart. Of a run,
/// the result is in the warp's first thread. If `board` is not negative, that thread leaves each group's result on the
/// block's board, from there on and kRowWarps apart.
template <class U, int kWidth, bool kShifted, class Op, class T>
TALLY_DEVICE typename U::Value run_of_tiles(const Task<Op, T>& task, std::int64_t list, std::int64_t begin, int count,
                                            int stride = Share<kWidth>::kTiles, int board = -1) {
  using S = Share<kWidth>;
  const T* x = task.list(list);
  const Compute<T> pivot = task.pivot(list);
  const bool dense = task.step == 1;
  const int shift = kShifted ? elements_past_vector<kWidth>(x) : 0;
  // Whole tiles; a shifted one is where the vector in which it ends is the list's own to its end, too.
  const std::int64_t there = task.n - (shift > 0 ? kWidth - shift : 0);
  const std::int64_t whole = (dense || task.reduced.is_near(task.n) ? there / kTile : 0) - begin;
  const bool at_once = count <= S::kTiles;
  WarpCounter<U, Op> counter(task.op);
  typename U::Value mine = U::nothing(task.op);                       // where the order is free
  const auto keep = [&](const typename U::Value& total, auto even) {  // of a group, in the warp's first thread
    if constexpr (Board<U, kWidth>::pays)
      if (board >= 0) {
        if (threadIdx.x % kWarp == 0) Board<U, kWidth>::values()[board] = total;
        board += kRowWarps;
        return;
      }
    if (at_once)
      counter.set(total);
    else
      counter.template push<even()>(total);
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
      keep(v[0], whole_tiles);
    }
  };
  // Two loops, so that the first one has no call in it, around which values would have to leave their registers.
  const int last_whole = (count < whole ? count : static_cast<int>(whole)) - S::kTiles;
  const int mine_of_group = static_cast<int>(threadIdx.x % kWarp) / S::kGroup;
  int group = 0;
  const auto load_whole_tile = [&](std::int64_t tile) {
    if constexpr (kShifted)
      return load_shifted_tile<kWidth>(x, tile, shift);
    else
      return load_aligned_tile<kWidth>(task, x, tile, dense);
  };
  if constexpr (has_share<U, Op, Compute<T>>) {
    Compute<T> bar = mine.value;
    for (; group <= last_whole; group += stride) {
      const std::int64_t tile = begin + (group + mine_of_group);
      add_to_extreme<U, kShifted>(task.op, load_whole_tile(tile), tile * kTile, shift, group + stride > last_whole,
                                  mine, bar);
    }
  } else {
    const auto share_of = [&](int group) {
      const std::int64_t tile = begin + (group + mine_of_group);
      if constexpr (kShifted)
        return share_of_shifted_tile<U>(task.op, load_whole_tile(tile), tile * kTile, shift, pivot);
      else
        return share_of_tile<U, true>(task.op, load_whole_tile(tile), tile * kTile, kTile, pivot);
    };
    if constexpr (merges_pairs<U, kWidth>()) {
      for (; group + stride <= last_whole; group += 2 * stride) {
        typename U::Value v[2] = {share_of(group).passes[0], share_of(group + stride).passes[0]};
        merge_across<U, 2, true>(task.op, v, 1, 2);
        merge_across<U, 1, true>(task.op, v, 2, kWarp);
        merge_across<U, 1, true>(task.op, v, 1, 2);
        counter.template push<true>(v[0], 1);
      }
    }
    for (; group <= last_whole; group += stride) {
      auto share = share_of(group);
      add(share, std::true_type());
    }
  }
  TALLY_ROLLED
  for (; group < count; group += stride) {
    ShareOfTile<U, kWidth> share;
    TALLY_UNROLL
    for (int p = 0; p < S::kPasses; ++p) share.passes[p] = U::nothing(task.op);
    if (group + mine_of_group < count) {
      const std::int64_t tile = begin + (group + mine_of_group);
      if constexpr (kShifted)
        share = read_last_tile<U, kWidth, false>(task.op, x, task.n, pivot, tile);
      else if (!U::heavy && dense && task.n % kWidth == 0)
        share = read_last_tile<U, kWidth, true>(task.op, x, task.n, pivot, tile);
      else
        share = read_any_tile<U, kWidth>(task, x, pivot, tile);
    }
    add(share, std::false_type());
  }
  if constexpr (U::any_order) {
    merge_across<U, 1>(task.op, &mine, 1, kWarp);
    return mine;
  }
  return at_once ? counter.only() : counter.finish();
}

template <class Op, class T>
TALLY_COLD PartialOf<Op, Compute<T>> exact_run_of_tiles(const Task<Op, T>& task, std::int64_t list, std::int64_t begin,
                                                        int count) {
  return run_of_tiles<Exact<Op, Compute<T>>, 1, false>(task, list, begin, count);
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
    merge_group<U>(op, value, size < kWarp ? size : kWarp);
    if (size > kWarp) counter.push(value);
  }
  return size > kWarp ? counter.finish() : value;
}

/// Where a block's warps leave what they have.
template <class Partial> struct OfWarps {
  alignas(16) unsigned char bytes[kRowWarps * sizeof(Partial)];

  TALLY_DEVICE static Partial* values() { return reinterpret_cast<Partial*>(gpu::shared<OfWarps>().bytes); }
};

/// The tree over the threads of a block; in its first thread.
template <class Op, class C> TALLY_DEVICE PartialOf<Op, C> across_block(const Op& op, PartialOf<Op, C> total) {
  PartialOf<Op, C>* const of_warp = OfWarps<PartialOf<Op, C>>::values();
  const int thread = gpu::thread_index_again(), t = thread % kWarp, w = thread / kWarp;
  const int warps = static_cast<int>(blockDim.x / kWarp);
  total = across_partials<C>(op, total, kWarp);
  if (t == 0) of_warp[w] = total;
  __syncthreads();
  if (w > 0) return total;
  return across_partials<C>(op, t < warps ? of_warp[t] : Fold<Op, C>::nothing(op), warps);
}

/// The tree over what the `splits` blocks of a list send, as it arrives; in the first thread.
template <class Op, class C> TALLY_DEVICE PartialOf<Op, C> receive_rows(const Op& op, const Mail& mail, int splits) {
  const int mine = static_cast<int>(threadIdx.x);
  PartialOf<Op, C> total[1] = {Fold<Op, C>::nothing(op)};
  if (mail.each_bits == 0)
    receive_partials<1>(mail, 0, mine < splits ? 1 : 0, total);
  else
    total[0] = merge_mail<C>(op, mail, splits);
  if (splits > kWarp) return across_block<Op, C>(op, total[0]);
  return mine < kWarp ? across_partials<C>(op, total[0], kWarp) : total[0];
}

/// How many tiles of a list of n there are from number `begin` on, of at most `most`.
TALLY_DEVICE int tiles_from(std::int64_t n, std::int64_t begin, std::int64_t most) {
  const std::int64_t left = (n + kTile - 1) / kTile - begin;
  return static_cast<int>(left < most ? left : most);
}

/// What a warp of a block is to do: block.y is the list, block.x the part of it, or several lists have a block.
struct PartOfRow {
  int split, count;  ///< number of the block among those of its list; tiles
  std::int64_t first_list, list, begin;

  template <class Op, class T> TALLY_DEVICE PartOfRow(const Task<Op, T>& task, const dim3& block, int thread) {
    const Plan& plan = task.plan;
    const int w = thread / kWarp, warps = static_cast<int>(blockDim.x / kWarp);
    const int shared_by = plan.warps_per_list, shared_bits = 31 - __clz(shared_by);
    const bool alone = plan.splits == 1;
    split = alone ? 0 : static_cast<int>(block.x);
    first_list = alone ? std::int64_t{block.x} * (warps >> shared_bits) : block.y;
    list = first_list + (w >> shared_bits);
    begin = (static_cast<std::int64_t>(split) * shared_by + (w & (shared_by - 1))) * plan.run;
    count = tiles_from(task.n, begin, plan.run);
  }
};

/// Blocks that a multiprocessor is to hold.
template <class U, int kWidth, bool kShifted> constexpr int row_blocks() {
  if (kShifted && kWidth == 8 && U::any_order && U::checked) return 1;
  return kShifted && sizeof(typename U::Value) > 8 ? 2 : U::row_blocks(kWidth);
}

/// Where registers are scarce they are asked for anew, so that nothing that follows from them is kept.
template <bool kScarce> TALLY_DEVICE dim3 block_index() {
  if constexpr (kScarce)
    return gpu::block_index_again();
  else
    return blockIdx;
}
template <bool kScarce> TALLY_DEVICE int thread_index() {
  if constexpr (kScarce)
    return gpu::thread_index_again();
  else
    return static_cast<int>(threadIdx.x);
}

template <class Op, class T, int kWidth, bool kShifted>
__global__ void __launch_bounds__(256, row_blocks<Unit<Op, Compute<T>>, kWidth, kShifted>())
    reduce_rows(const TALLY_GRID_CONSTANT Task<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using Partial = PartialOf<Op, C>;
  const int t = static_cast<int>(threadIdx.x % kWarp), w = static_cast<int>(threadIdx.x / kWarp);
  const std::int64_t run = task.plan.run;
  const PartOfRow part(task, blockIdx, static_cast<int>(threadIdx.x));
  gpu::begin_early();
  // Which block is the last to ask, so that all of them run, is needed at the end and takes a while. Where registers
  // are short the answer would leave them, and so be waited for: there it is asked for behind the tiles.
  constexpr bool kScarce = row_blocks<U, kWidth, kShifted>() > 2, kAsksLate = kScarce && sizeof(typename U::Value) > 8;
  unsigned asked = 0;
  const auto ask = [&](std::int64_t list) {
    if (task.plan.splits > 1 && threadIdx.x == 0)
      asked = gpu::count_start(task.tickets + list, static_cast<unsigned>(task.plan.splits - 1));
  };
  if constexpr (!kAsksLate) ask(part.list);

  // A block that has one list reads its warps' parts together, group by group, so that it walks through memory in one
  // piece. From the board each warp then takes what its part is worth.
  constexpr int kTiles = Share<kWidth>::kTiles;
  const bool together = Board<U, kWidth>::pays && task.plan.warps_per_list == kRowWarps && run > kTiles &&
                        run * kRowWarps <= Board<U, kWidth>::kSize;
  std::int64_t begin = part.begin;
  int count = part.list < task.lists ? part.count : 0;
  if (together) {
    begin -= w * (run - kTiles);
    count = tiles_from(task.n, begin, kRowWarps * run - w * kTiles);
  }
  auto value = U::nothing(task.op);
  if (count > 0)
    value = run_of_tiles<U, kWidth, kShifted>(task, part.list, begin, count, together ? kRowWarps * kTiles : kTiles,
                                              together ? w : -1);
  if (together) {
    const PartOfRow mine(task, block_index<kScarce>(), thread_index<kScarce>());
    __syncthreads();
    const int size = static_cast<int>(run) / kTiles, filled = tiles_from(task.n, mine.begin - w * run, kRowWarps * run);
    value = merge_board<U>(task.op, Board<U, kWidth>::values(), w * size, size, (filled + kTiles - 1) / kTiles);
  }
  Partial total = U::pack(value);
  if constexpr (U::checked) {
    if (task.n > U::longest || __any_sync(gpu::kAllLanes, t == 0 && !U::holds(value))) {
      const PartOfRow mine(task, block_index<kScarce>(), thread_index<kScarce>());
      total = Fold<Op, C>::nothing(task.op);
      if (mine.list < task.lists && mine.count > 0) total = exact_run_of_tiles(task, mine.list, mine.begin, mine.count);
    }
  }
  const int shared_by = task.plan.warps_per_list, shared_bits = 31 - __clz(shared_by);
  const int splits = static_cast<int>(task.plan.splits);
  const auto list_to_store = [&] {  // of this thread; worked out anew each time
    const dim3 block = block_index<kScarce>();
    if (splits > 1) return std::int64_t{block.y};
    const int thread = thread_index<kScarce>();
    const PartOfRow mine(task, block, thread);
    return shared_by == 1 ? mine.list : mine.first_list + (thread % kWarp >> shared_bits);
  };
  const std::int64_t list = list_to_store();
  const bool exists = list < task.lists;
  const C pivot = exists ? task.pivot(list) : C(0);  // asked for now, needed last
  bool stores = t == 0 && exists;
  if (shared_by > 1) {
    struct Ticket {
      bool last;
    };
    bool& last = gpu::shared<Ticket>().last;
    Partial* const of_warp = OfWarps<Partial>::values();
    if constexpr (kAsksLate) ask(block_index<kScarce>().y);
    if (t == 0) of_warp[w] = total;
    __syncthreads();
    if (w == 0) {
      const int warps = static_cast<int>(blockDim.x / kWarp);
      total = across_partials<C>(task.op, t < warps ? of_warp[t] : Fold<Op, C>::nothing(task.op), shared_by);
      const dim3 block = block_index<kScarce>();
      if (splits > 1 && t == 0) {
        send_partial(task.mail(block.y), static_cast<int>(block.x), total);
        last = asked == static_cast<unsigned>(splits - 1);
      }
      stores = t < warps && (t & (shared_by - 1)) == 0 && exists;
    } else {
      stores = false;
    }
    if (splits > 1) {
      __syncthreads();
      if (!last) return;
      total = receive_rows<Op, C>(task.op, task.mail(block_index<kScarce>().y), splits);
      stores = threadIdx.x == 0;
    }
  }
  if (stores) task.store(list_to_store(), total, pivot);
}

}  // namespace tally::cuda_loops
