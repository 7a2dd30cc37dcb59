#include <tally/core/cuda/kernel.h>
#include <tally/examples/support/textbook_kernels.h>

namespace tally::examples {
namespace {

constexpr int kThreads = 256;

// A block of a warp, since kernels of the library come in whole warps; the others leave at once.
__global__ void naive_sum_kernel(const float* x, std::int64_t n, float* y) {
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  *y = sum;
}

struct BlockSums {
  float values[kThreads];
};

__global__ void block_sum_kernel(const float* x, std::int64_t n, float* y) {
  BlockSums& shared = gpu::shared<BlockSums>();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  shared.values[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (unsigned stride = kThreads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) shared.values[threadIdx.x] += shared.values[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(y, shared.values[0]);
}

}  // namespace

void naive_sum(Cuda, const Tensor& x, const Tensor& y) {
  gpu::launch(naive_sum_kernel, {.grid = 1, .block = 32, .name = "naive_sum"}, x.data<float>(), x.numel(),
              y.data<float>());
}

void block_sum(Cuda, const Tensor& x, const Tensor& y) {
  const std::int64_t blocks = (x.numel() + kThreads - 1) / kThreads;
  gpu::launch(block_sum_kernel, {.grid = blocks, .block = kThreads, .name = "block_sum"}, x.data<float>(), x.numel(),
              y.data<float>());
}

}  // namespace tally::examples
