#include <tally/core/cuda/kernel.h>

#include <string>
#include <unordered_map>

#include <tally/core/error.h>

namespace tally::gpu::detail {

namespace {

std::string text(const Extent& e) {
  return std::to_string(e.x) + " x " + std::to_string(e.y) + " x " + std::to_string(e.z);
}

bool within(const Extent& e, std::int64_t x, std::int64_t y, std::int64_t z) {
  return e.x > 0 && e.y > 0 && e.z > 0 && e.x <= x && e.y <= y && e.z <= z;
}

std::size_t most_shared() {
  static const std::size_t most = [] {
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0), "launch");
    return device.sharedMemPerBlockOptin;
  }();
  return most;
}

}  // namespace

void check_grid(const Grid& grid) {
  const Extent& block = grid.block;
  if (!within(grid.grid, 2147483647, 65535, 65535))
    throw CudaError(grid.name, "a grid has at most 2147483647 x 65535 x 65535 blocks, not " + text(grid.grid), Where{});
  if (!within(block, 1024, 1024, 64) || block.x * block.y * block.z > 1024)
    throw CudaError(grid.name, "a block has at most 1024 threads (1024 x 1024 x 64), not " + text(block), Where{});
  if (grid.shared_bytes > most_shared())
    throw CudaError(grid.name,
                    "a block has at most " + std::to_string(most_shared()) + " bytes of shared memory, not " +
                        std::to_string(grid.shared_bytes),
                    Where{});
}

bool can_begin_early(const void* kernel) {
  // Asked of the code itself: what is compiled for older devices, and for this one only when it is loaded, cannot.
  thread_local std::unordered_map<const void*, bool> known;
  const auto found = known.find(kernel);
  if (found != known.end()) return found->second;
  cudaFuncAttributes code;
  check(cudaFuncGetAttributes(&code, kernel), "launch");
  return known[kernel] = code.ptxVersion >= 90;
}

}  // namespace tally::gpu::detail
