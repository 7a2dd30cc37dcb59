// For files with kernels. Kernel code is CUDA C++ that also runs on the CPU (simt/README.md), under these rules:
//
//  1. Kernels start through `launch`, never through <<<>>>.
//  2. Shared memory is `shared<T>()` (its size known to the compiler) or `shared_memory<T>()` (given at the launch).
//     Plain `__shared__` works for types without constructors, but the emulation cannot poison it.
//  3. Blocks are whole warps: the thread count is a multiple of 32, and no lane that a mask names has returned.
//  4. A block never waits for another one. "Last block finishes" by a ticket is fine, a spin on a flag is not.
//  5. Inline PTX and vendor intrinsics live in intrinsics.h, each beside its portable twin; loops unroll by
//     TALLY_UNROLL. No CUDA library, no CUDA type in a host header.
//  6. Kernels keep no state: what must survive a launch is passed in.
//  7. A kernel that calls begin_early() before it looks at global memory may be launched early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <tally/core/cuda/intrinsics.h>
#include <tally/core/cuda/runtime.h>

namespace tally::gpu {

/// Blocks of a grid or threads of a block. 64 bits, so that a size too large for the device is an error, not a wrap.
struct Extent {
  std::int64_t x, y, z;
  constexpr Extent(std::int64_t x = 1, std::int64_t y = 1, std::int64_t z = 1) : x(x), y(y), z(z) {}
  Extent(const dim3& size) : x(size.x), y(size.y), z(size.z) {}
  bool empty() const { return x == 0 || y == 0 || z == 0; }  ///< no block, or no thread
};
/// What `launch` starts: blocks, threads a block, and shared memory beside what the kernel declares.
struct Grid {
  Extent grid;
  Extent block;
  std::size_t shared_bytes = 0;
  const char* name = "kernel";  ///< for errors
  bool early = false;           ///< begins while kernels before it still run: it calls begin_early()
};

namespace detail {
/// Throws CudaError where the device cannot have such a grid.
void check_grid(const Grid& grid);
/// Whether the code that this device runs of `kernel` awaits earlier kernels.
bool can_begin_early(const void* kernel);
constexpr std::size_t kSharedWithoutAsking = 40 * 1024;  // of 48 KB, which hold the kernel's own variables too
}  // namespace detail

/// Starts `kernel` on the current stream; an empty grid starts nothing. Throws CudaError with the grid's name.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const Grid& grid, Arguments&&... arguments) {
  if (grid.grid.empty() || grid.block.empty()) return;
  detail::check_grid(grid);
  if (grid.shared_bytes > detail::kSharedWithoutAsking)
    check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared_bytes)),
        grid.name);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid.grid.x, grid.grid.y, grid.grid.z);
  config.blockDim = dim3(grid.block.x, grid.block.y, grid.block.z);
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = current_stream();
  cudaLaunchAttribute early = {};
  if (grid.early && detail::can_begin_early(reinterpret_cast<const void*>(kernel))) {
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = 1;
  }
#if defined(TALLY_SIMT)
  simt::kernel_name = grid.name;
#endif
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), grid.name);
}

#if defined(TALLY_SIMT)

/// The block's dynamic shared memory, aligned to 16.
template <class T> T* shared_memory() { return static_cast<T*>(simt::dynamic_shared()); }

/// The block's one T: a struct of the kernel's shared variables, without constructors. Two uses of one type in a kernel
/// are the same memory, which the emulation reports unless they stand on one line.
template <class T> T& shared(Where where = Where::here()) {
  static char kind;
  return *static_cast<T*>(simt::static_shared(&kind, sizeof(T), alignof(T), where));
}

#elif defined(__CUDACC__)

template <class T> __device__ __forceinline__ T* shared_memory() {
  extern __shared__ __align__(16) unsigned char tally_shared_memory[];
  return reinterpret_cast<T*>(tally_shared_memory);
}

template <class T> __device__ __forceinline__ T& shared() {
  __shared__ T memory;
  return memory;
}

#endif

}  // namespace tally::gpu
