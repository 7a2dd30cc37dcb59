#include <tally/core/cuda/runtime.h>
#include <tally/ops/cuda/row_plan.h>
#include <tally/ops/row_backend.h>

namespace tally {
namespace cuda_loops {

template <class Op> bool map_rows_of(const Op& op, const RowCall& call);

const RowDevice& row_device() {
  static const RowDevice one = [] {
    cudaDeviceProp device;
    gpu::check(cudaGetDeviceProperties(&device, 0), "map_rows");
    return RowDevice{device.multiProcessorCount, device.sharedMemPerBlockOptin};
  }();
  return one;
}

}  // namespace cuda_loops

bool map_rows(Cuda, const RowOp& op, const RowCall& call) {
  return std::visit([&](const auto& one) { return cuda_loops::map_rows_of(one, call); }, op);
}

}  // namespace tally
