#include <tally/core/cuda/kernel.h>
#include <tally/ops/cuda/index_places.h>
#include <tally/ops/sort_key.h>

// All lists are sorted at once by their elements, and the places then by their list: both sorts keep the order of what
// is equal.

namespace tally::detail {
namespace {

constexpr int kThreads = 256;

__device__ std::int64_t thread_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

template <class T> __global__ void key_kernel(Place* places, const T* x, std::int64_t count, Order order) {
  const std::int64_t i = thread_index();
  if (i < count) places[i] = {static_cast<std::int64_t>(sort_key(x[i], order)), i};
}

__global__ void list_kernel(Place* places, std::int64_t count, std::int64_t length) {
  const std::int64_t i = thread_index();
  if (i < count) places[i].slot = places[i].source / length;
}

__global__ void position_kernel(std::int64_t* positions, const Place* places, std::int64_t count, std::int64_t length) {
  const std::int64_t i = thread_index();
  if (i < count) positions[i] = places[i].source % length;
}

}  // namespace

void argsort(Cuda, const Tensor& positions, const Tensor& x, Order order) {
  const std::int64_t count = x.numel(), lists = x.shape()[0], length = x.shape()[1];
  const gpu::Grid grid{{(count + kThreads - 1) / kThreads}, {kThreads}, 0, "argsort"};
  PlaceList places(count);
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    gpu::launch(key_kernel<T>, grid, places.data(), static_cast<const T*>(x.raw()), count, order);
    places.sort_by_slot(sizeof(SortKey<T>) == 4 ? std::int64_t{0xffffffff} : std::int64_t{-1});  // of all bits
  });
  if (lists > 1) {
    gpu::launch(list_kernel, grid, places.data(), count, length);
    places.sort_by_slot(lists - 1);
  }
  gpu::launch(position_kernel, grid, static_cast<std::int64_t*>(positions.raw()), places.data(), count, length);
}

}  // namespace tally::detail
