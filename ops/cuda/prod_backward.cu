// The gradient of prod on the CUDA device: the sweeps of ops/prod_gradient.h, a tile by a block.
#include <bit>

#include <tally/core/convert.h>
#include <tally/ops/cuda/reduce_scratch.h>
#include <tally/ops/cuda/reduce_walk.h>
#include <tally/ops/prod_gradient.h>
#include <tally/ops/reduce_backend.h>
#include <tally/ops/cuda/reduce_fold.cuh>

namespace tally {
namespace {

using namespace prod_gradient;
using cuda_loops::Walk;

template <class T> struct Task {
  using C = Compute<T>;
  Walk<2> kept, reduced;
  std::int64_t outputs, n, tiles;
  int group;  // threads, a power of two, that share a tile: fewer than a block's 128 where lists are short
  const T *x, *grad;
  T* gx;
  Factors<C>* heaps;  // a list's tree over tiles, [2·leaves]; null where a list is one tile
  std::int64_t leaves;
};

// The block's part of one tile. Without kGradient only the tile's product is found, the leaf of the tree over tiles.
template <class T, bool kGradient>
__global__ void __launch_bounds__(kLanes) sweep_tiles(const TALLY_GRID_CONSTANT Task<T> task) {
  using C = Compute<T>;
  struct Shared {
    alignas(16) unsigned char heap[2 * kLanes * sizeof(Factors<C>)];
  };
  const int group = task.group, in_block = static_cast<int>(threadIdx.x) / group,
            t = static_cast<int>(threadIdx.x) % group;
  Factors<C>* heap = reinterpret_cast<Factors<C>*>(gpu::shared<Shared>().heap) + 2 * group * in_block;
  const std::int64_t which = static_cast<std::int64_t>(blockIdx.x) * (kLanes / group) + in_block;
  const std::int64_t list = which / task.tiles, tile = which % task.tiles, first = tile * kTile;
  const std::int64_t left = list < task.outputs ? task.n - first : 0;
  const int count = static_cast<int>(left < kTile ? left : kTile), length = (count - t + kLanes - 1) / kLanes;

  C x[kPerLane];
  std::int64_t start[2] = {}, to[kPerLane];
  if (length > 0) {
    task.kept.offsets(list, start);
    TALLY_UNROLL
    for (int j = 0; j < kPerLane; ++j) {
      if (j >= length) continue;
      std::int64_t at[2];
      task.reduced.offsets(first + t + j * kLanes, at);
      x[j] = convert<C>(task.x[start[0] + at[0]]);
      to[j] = start[1] + at[1];
    }
    heap[group + t] = of_lane(x, length);
  }
  for (int level = group / 2, below = 1; level > 0; level /= 2, below *= 2) {
    __syncthreads();
    if (t < level && t * 2 * below < count) up(heap, level + t, has_right(level + t, level, below, count));
  }
  Factors<C>* leaf = task.heaps ? task.heaps + list * 2 * task.leaves + task.leaves + tile : nullptr;
  __syncthreads();
  if constexpr (!kGradient) {
    if (t == 0) *leaf = heap[1];
    return;
  }
  if (t == 0) heap[1] = leaf ? *leaf : one<C>();
  for (int level = 1, below = group / 2; level < group; level *= 2, below /= 2) {
    __syncthreads();
    if (t < level && t * 2 * below < count) down(heap, level + t, has_right(level + t, level, below, count));
  }
  __syncthreads();
  if (length <= 0) return;
  sweep_lane(x, length, heap[group + t], convert<C>(task.grad[list]));
  TALLY_UNROLL
  for (int j = 0; j < kPerLane; ++j)
    if (j < length) task.gx[to[j]] = convert<T>(x[j]);
}

// A block sweeps one list's tree over tiles up and down.
template <class C> __global__ void sweep_tree(Factors<C>* heaps, std::int64_t leaves, std::int64_t tiles) {
  Factors<C>* heap = heaps + static_cast<std::int64_t>(blockIdx.x) * 2 * leaves;
  for (std::int64_t level = leaves / 2, below = 1; level > 0; level /= 2, below *= 2) {
    for (std::int64_t k = threadIdx.x; k < level && k * 2 * below < tiles; k += blockDim.x)
      up(heap, level + k, has_right(level + k, level, below, tiles));
    __syncthreads();
  }
  if (threadIdx.x == 0) heap[1] = one<C>();
  __syncthreads();
  for (std::int64_t level = 1, below = leaves / 2; level < leaves; level *= 2, below /= 2) {
    for (std::int64_t k = threadIdx.x; k < level && k * 2 * below < tiles; k += blockDim.x)
      down(heap, level + k, has_right(level + k, level, below, tiles));
    __syncthreads();
  }
}

std::int64_t power_of_two(std::int64_t at_least) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(at_least)));
}

template <class T> void run(const ReduceBackwardCall& call) {
  using C = Compute<T>;
  const Places places = prod_gradient::places(call.walk);
  const std::int64_t n = places.length(), tiles = (n + kTile - 1) / kTile, leaves = power_of_two(tiles);
  const std::int64_t lists = places.outputs(), group = power_of_two(n < kLanes ? n : kLanes);
  const cuda_loops::Scratch heaps(tiles > 1 ? static_cast<std::size_t>(lists * 2 * leaves) * sizeof(Factors<C>) : 0);
  const Task<T> task{Walk<2>(places.kept),
                     Walk<2>(places.reduced),
                     lists,
                     n,
                     tiles,
                     static_cast<int>(group),
                     static_cast<const T*>(call.x.raw()),
                     static_cast<const T*>(call.grad.raw()),
                     static_cast<T*>(call.gx.raw()),
                     heaps.template as<Factors<C>>(),
                     leaves};
  const std::int64_t in_block = kLanes / group;
  const gpu::Grid grid{(lists * tiles + in_block - 1) / in_block, kLanes, 0, "prod_backward"};
  if (tiles > 1) {
    gpu::launch(sweep_tiles<T, false>, grid, task);
    gpu::launch(sweep_tree<C>, {lists, 256, 0, "prod_backward"}, task.heaps, leaves, tiles);
  }
  gpu::launch(sweep_tiles<T, true>, grid, task);
}

}  // namespace

void prod_backward(Cuda, const ReduceBackwardCall& call, const Lists&) {
  if (call.gx.numel() == 0) return;
  visit(call.gx.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float_type<T>) run<T>(call);
  });
}

}  // namespace tally
