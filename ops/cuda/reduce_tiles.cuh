// The kernel for one list in one piece of which each warp has a tile, as most losses and norms are. Little is done, so
// what counts is the chain: few arguments, values in the quick unit from the first tile to the last block, and one warp
// of the block that began last merges what the others send.
#pragma once

#include <tally/ops/cuda/reduce_row_tile.cuh>

namespace tally::cuda_loops {

template <class Op, class T> struct TilesTask {
  const T* x;
  Results<Op, T> out;
  unsigned* ticket;
  std::uint64_t* mail;  // as many zeros as tiles_mail_size says
  int n;
  Op op;
};

/// As kArrived, of a partial result that lies in memory.
constexpr std::uint64_t kArrivedExactly = std::uint64_t{2} << 32;

/// A value that holds, or the partial result where none does.
template <class U, class Partial> struct Merged {
  typename U::Value value;
  bool exact = false;
  Partial partial;  ///< where exact

  TALLY_DEVICE Partial get() const { return exact ? partial : U::pack(value); }
};

/// The tree over one of each of the first `end` threads of a warp, in its first one.
template <class U, class C, class Op, class Partial>
TALLY_DEVICE void merge_threads(const Op& op, Merged<U, Partial>& mine, int end) {
  typename U::Value value = mine.value;
  if constexpr (has_across<U>)  // of the others there is nothing
    merge_across<U, 1>(op, &value, 1, kWarp);
  else
    merge_group<U>(op, value, end);
  if constexpr (U::checked) {
    const bool first = threadIdx.x % kWarp == 0;
    if (__any_sync(gpu::kAllLanes, mine.exact || (first && !U::holds(value)))) {
      mine.partial = across_exactly<C>(op, mine.get(), end);
      mine.exact = true;
      return;
    }
  }
  mine.value = value;
}

/// All there is of a tile. All threads of a warp call it.
template <class Op, class T>
TALLY_COLD PartialOf<Op, Compute<T>> exact_tile(const Op op, const T* x, int n, Compute<T> pivot, int tile) {
  using E = Rare<Op, Compute<T>>;
  auto value = read_last_tile<E, kTileWidth, false>(op, x, n, pivot, tile).passes[0];
  merge_across<E, 1>(op, &value, 1, kWarp);
  return value;
}

/// The tree over a tile, in the warp's first thread.
template <class U, class Op, class T>
TALLY_DEVICE Merged<U, PartialOf<Op, Compute<T>>> whole_or_last_tile(const Op& op, const T* x, int n, int tile) {
  using S = Share<kTileWidth>;
  using Load = gpu::Vector<T, kTileWidth>;
  static_assert(S::kPasses == 1 && S::kTiles == 1);
  Merged<U, PartialOf<Op, Compute<T>>> mine;
  const int first = tile * kTile;
  const auto pivot = convert<Compute<T>>(*x);
  if (first + kTile <= n) {
    LoadsOfTile<kTileWidth, T> loads;
    TALLY_UNROLL
    for (int i = 0; i < loads.kCount; ++i)
      loads.at[i] = gpu::load_streaming(reinterpret_cast<const Load*>(x + (first + S::lane(0) + i * S::kStep)));
    if constexpr (has_share<U, Op, Compute<T>>) {
      Compute<T> elements[loads.kCount * kTileWidth];
      TALLY_UNROLL
      for (int i = 0; i < loads.kCount * kTileWidth; ++i)
        elements[i] = measured<Compute<T>>(op, gpu::Vector<T, kTileWidth>(loads.at[i / kTileWidth])[i % kTileWidth]);
      mine.value =
          U::template share<kTileWidth, S::kStep, false>(op, elements, U::extreme(elements), first + S::lane(0), 0);
    } else {
      mine.value = share_of_tile<U, true>(op, loads, first, kTile, pivot).passes[0];
    }
    merge_across<U, 1, true>(op, &mine.value, 1, kWarp);
  } else {
    mine.value = U::nothing(op);
    if (first < n) mine.value = read_last_tile<U, kTileWidth, false>(op, x, n, pivot, tile).passes[0];
    merge_across<U, 1>(op, &mine.value, 1, kWarp);
  }
  if constexpr (U::checked)
    if (__any_sync(gpu::kAllLanes, threadIdx.x % kWarp == 0 && !U::holds(mine.value))) {
      mine.partial = exact_tile(op, x, n, pivot, tile);
      mine.exact = true;
    }
  return mine;
}

// What blocks send: a value, or word that it is exact and lies behind the boxes. A thread of the block that merges them
// receives kTileLetters that follow each other. Boxes and what is behind them are zeros, and left so.
static_assert(kTileBlocks == kWarp * kTileLetters);
template <class U> constexpr int kLetterWords = kMailWords<typename U::Value>;

/// Word 0; the others follow kWarp apart.
template <class U> TALLY_DEVICE std::uint64_t* letter_box(std::uint64_t* mail, int number) {
  return mail + number % kTileLetters * kLetterWords<U> * kWarp + number / kTileLetters;
}
template <class U, class Partial> TALLY_DEVICE Partial* exact_letter(std::uint64_t* mail, int number) {
  return reinterpret_cast<Partial*>(mail + kTileBlocks * kLetterWords<U>) + number;
}

template <class U, class Partial>
TALLY_DEVICE void send_letter(std::uint64_t* mail, int number, const Merged<U, Partial>& mine) {
  static_assert(sizeof mine.value % sizeof(std::uint32_t) == 0);
  std::uint32_t words[kLetterWords<U>];
  memcpy(words, static_cast<const void*>(&mine.value), sizeof mine.value);
  std::uint64_t mark = kArrived;
  if (mine.exact) {
    *exact_letter<U, Partial>(mail, number) = mine.partial;
    __threadfence();
    mark = kArrivedExactly;
  }
  std::uint64_t* const to = letter_box<U>(mail, number);
  TALLY_UNROLL
  for (int i = 0; i < kLetterWords<U>; ++i) gpu::store_whole(to + i * kWarp, words[i] | mark);
}
/// By the thread that has sent it, where nobody else looks for it.
template <class U> TALLY_DEVICE void take_letter_back(std::uint64_t* mail, int number) {
  std::uint64_t* const from = letter_box<U>(mail, number);
  TALLY_UNROLL
  for (int i = 0; i < kLetterWords<U>; ++i) gpu::store_whole(from + i * kWarp, 0);
}

/// What a thread has of the blocks.
template <class U> struct Letters {
  typename U::Value values[kTileLetters];
  unsigned exact = 0;  ///< bit k: of the k-th one there is the partial result instead

  /// Waits for those below number `end`, but for `own`.
  template <class Op> TALLY_DEVICE Letters(const Op& op, std::uint64_t* mail, int end, int own) {
    const int first = static_cast<int>(threadIdx.x) * kTileLetters;
    const auto awaited = [&](int k) { return first + k < end && first + k != own; };
    const auto from = [&](int k, int i) { return letter_box<U>(mail, first) + (k * kLetterWords<U> + i) * kWarp; };
    std::uint64_t words[kTileLetters][kLetterWords<U>];
    bool arrived = false;
    for (unsigned looked = 0; !arrived; gpu::look_again(looked++)) {
      arrived = true;
      TALLY_UNROLL
      for (int k = 0; k < kTileLetters; ++k) {
        TALLY_UNROLL
        for (int i = 0; i < kLetterWords<U>; ++i) words[k][i] = awaited(k) ? gpu::load_whole(from(k, i)) : kArrived;
      }
      TALLY_UNROLL
      for (int k = 0; k < kTileLetters; ++k) {
        TALLY_UNROLL
        for (int i = 0; i < kLetterWords<U>; ++i) arrived &= words[k][i] >> 32 != 0;
      }
    }
    TALLY_UNROLL
    for (int k = 0; k < kTileLetters; ++k) {
      values[k] = U::nothing(op);
      if (!awaited(k)) continue;
      std::uint32_t bits[kLetterWords<U>];
      TALLY_UNROLL
      for (int i = 0; i < kLetterWords<U>; ++i) {
        bits[i] = static_cast<std::uint32_t>(words[k][i]);
        gpu::store_whole(from(k, i), 0);
      }
      memcpy(static_cast<void*>(&values[k]), bits, sizeof values[k]);
      if (words[k][0] >= kArrivedExactly) exact |= 1u << k;
    }
  }
};

/// The tree over what a warp has of all blocks, exactly.
template <class U, class C, class Op>
TALLY_COLD PartialOf<Op, C> merge_letters_exactly(const Op& op, std::uint64_t* mail, Letters<U> letters) {
  using Partial = PartialOf<Op, C>;
  __threadfence();
  Several<Partial, kTileLetters> all;
  TALLY_UNROLL
  for (int k = 0; k < kTileLetters; ++k) {
    all.values[k] = U::pack(letters.values[k]);
    if (letters.exact >> k & 1u) {
      Partial* const from = exact_letter<U, Partial>(mail, static_cast<int>(threadIdx.x) * kTileLetters + k);
      all.values[k] = load_partial(from);
      memset(static_cast<void*>(from), 0, sizeof(Partial));
    }
  }
  return across_exactly<C>(op, within_exactly<C, kTileLetters>(op, all), kWarp);
}

/// The block that began last: the tree over what it has, `mine` of its first warp, and the others have sent.
template <class U, class Op, class T>
TALLY_DEVICE PartialOf<Op, Compute<T>> merge_blocks(const TilesTask<Op, T>& task,
                                                    const Merged<U, PartialOf<Op, Compute<T>>>& mine) {
  using C = Compute<T>;
  const int t = static_cast<int>(threadIdx.x), own = static_cast<int>(blockIdx.x), end = static_cast<int>(gridDim.x);
  Letters<U> letters(task.op, task.mail, end, own);
  const auto own_value = gpu::shuffle(mine.value, 0);
  TALLY_UNROLL
  for (int k = 0; k < kTileLetters; ++k)
    if (t * kTileLetters + k == own) letters.values[k] = own_value;
  if constexpr (U::checked)
    if (gpu::shuffle(static_cast<int>(mine.exact), 0) != 0 && own / kTileLetters == t)
      letters.exact |= 1u << own % kTileLetters;
  typename U::Value v[kTileLetters];
  TALLY_UNROLL
  for (int k = 0; k < kTileLetters; ++k) v[k] = letters.values[k];
  const int readers = 1 << (32 - __clz((end - 1) / kTileLetters));
  bool even = false;
  if constexpr (has_merge_even<U, Op>) {
    const int length = gpu::shuffle(U::length(v[0]), 0);
    even = true;
    TALLY_UNROLL
    for (int k = 0; k < kTileLetters; ++k) even &= U::length(v[k]) == length;
    even = __all_sync(gpu::kAllLanes, even || t >= readers);
  }
  if (even) {
    merge_within<U, kTileLetters, true>(task.op, v);
    merge_across<U, 1, true>(task.op, v, 1, readers);
  } else {
    merge_within<U, kTileLetters>(task.op, v);
    merge_across<U, 1>(task.op, v, 1, has_across<U> ? kWarp : readers);
  }
  if constexpr (U::checked)
    if (__any_sync(gpu::kAllLanes, letters.exact != 0 || (t == 0 && !U::holds(v[0]))))
      return merge_letters_exactly<U, C>(task.op, task.mail, letters);
  return U::pack(v[0]);
}

/// Words of 8 bytes that so many blocks need.
template <class Op, class C> std::int64_t tiles_mail_size(std::int64_t blocks) {
  const auto bytes = static_cast<std::int64_t>(sizeof(PartialOf<Op, C>));
  return kTileBlocks * kLetterWords<Unit<Op, C>> + (blocks * bytes + 7) / 8;
}

/// A block takes as many tiles as it has warps; the grid is one list.
template <class Op, class T>
__global__ void __launch_bounds__(256, 2) reduce_tiles(const TALLY_GRID_CONSTANT TilesTask<Op, T> task) {
  using C = Compute<T>;
  using U = Unit<Op, C>;
  using Mine = Merged<U, PartialOf<Op, C>>;
  struct OfWarps {
    alignas(16) unsigned char bytes[kTileWarps * sizeof(Mine)];
  };
  const int t = static_cast<int>(threadIdx.x % kWarp), w = static_cast<int>(threadIdx.x / kWarp);
  const int warps = static_cast<int>(blockDim.x / kWarp), blocks = static_cast<int>(gridDim.x);
  gpu::begin_early();
  // Which block is the last to ask, so that all of them run, takes a while.
  unsigned asked = 0;
  if (blocks > 1 && threadIdx.x == 0) asked = gpu::count_start(task.ticket, static_cast<unsigned>(blocks - 1));
  Mine mine = whole_or_last_tile<U>(task.op, task.x, task.n, static_cast<int>(blockIdx.x) * warps + w);
  if (warps > 1) {
    Mine* const of_warp = reinterpret_cast<Mine*>(gpu::shared<OfWarps>().bytes);
    if (t == 0) of_warp[w] = mine;
    __syncthreads();
    if (w > 0) return;
    mine.value = U::nothing(task.op);
    mine.exact = false;
    if (t < warps) mine = of_warp[t];
    merge_threads<U, C>(task.op, mine, warps);
  }
  PartialOf<Op, C> total = mine.get();
  if (blocks > 1) {
    const int number = static_cast<int>(blockIdx.x);
    if (t == 0) send_letter(task.mail, number, mine);
    if (gpu::shuffle(asked, 0) != static_cast<unsigned>(blocks - 1)) return;
    if (t == 0) take_letter_back<U>(task.mail, number);
    total = merge_blocks(task, mine);
  }
  if (t == 0) task.out.store(task.op, 0, Fold<Op, C>::get(total), task.n, convert<C>(*task.x));
}

}  // namespace tally::cuda_loops
