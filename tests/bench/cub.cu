// CUB's reductions, for comparison. Only with nvcc, and only where TALLY_BENCH asks for them: CUB takes a minute to
// compile.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include <tally/core/cuda/runtime.h>
#include <tally/tests/bench/peers.h>

namespace tally::bench {
namespace {

struct Square {
  __device__ float operator()(float x) const { return x * x; }
};

/// Asks for the scratch's size where `scratch` is null.
void run(Cub what, const float* x, std::int64_t n, void* result, void* scratch, std::size_t& bytes) {
  const cudaStream_t stream = gpu::current_stream();
  float* value = static_cast<float*>(result);
  cudaError_t status = cudaSuccess;
  switch (what) {
    case Cub::sum:
      status = cub::DeviceReduce::Sum(scratch, bytes, x, value, n, stream);
      break;
    case Cub::max:
      status = cub::DeviceReduce::Max(scratch, bytes, x, value, n, stream);
      break;
    case Cub::argmax:
      status =
          cub::DeviceReduce::ArgMax(scratch, bytes, x, value, reinterpret_cast<std::int64_t*>(value + 2), n, stream);
      break;
    case Cub::squares:
      status =
          cub::DeviceReduce::TransformReduce(scratch, bytes, x, value, n, cuda::std::plus<>{}, Square{}, 0.0f, stream);
      break;
  }
  gpu::check(status, "CUB");
}

struct Begin {
  std::int64_t columns;
  __host__ __device__ std::int64_t operator()(std::int64_t row) const { return row * columns; }
};
void run_rows(const float* x, std::int64_t rows, std::int64_t columns, float* result, void* scratch,
              std::size_t& bytes) {
  const thrust::counting_iterator<std::int64_t> row(0);
  const auto begin = thrust::make_transform_iterator(row, Begin{columns});
  gpu::check(cub::DeviceSegmentedReduce::Sum(scratch, bytes, x, result, rows, begin, begin + 1, gpu::current_stream()),
             "CUB");
}

}  // namespace

std::size_t cub_scratch(Cub what, std::int64_t n) {
  std::size_t bytes = 0;
  run(what, nullptr, n, nullptr, nullptr, bytes);
  return bytes + 1;
}
void cub(Cub what, const Tensor& x, const Tensor& result, const Tensor& scratch) {
  std::size_t bytes = static_cast<std::size_t>(scratch.numel());
  run(what, x.data<float>(), x.numel(), result.raw(), scratch.raw(), bytes);
}
std::size_t cub_rows_scratch(std::int64_t rows, std::int64_t columns) {
  std::size_t bytes = 0;
  run_rows(nullptr, rows, columns, nullptr, nullptr, bytes);
  return bytes + 1;
}
void cub_rows(const Tensor& x, const Tensor& result, const Tensor& scratch) {
  std::size_t bytes = static_cast<std::size_t>(scratch.numel());
  run_rows(x.data<float>(), x.size(0), x.size(1), result.data<float>(), scratch.raw(), bytes);
}

}  // namespace tally::bench
