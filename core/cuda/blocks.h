// What the blocks of a launch hand each other while they run, and which one this is. Intrinsics too, each beside its
// portable twin.
//
// "A block never waits for another one" (kernel.h) has one exception: the block that a counter showed to be the last to
// begin may look again and again for what the others store, since all of them run.
#pragma once

#include <tally/core/cuda/kernel.h>

#if defined(TALLY_SIMT) || defined(__CUDACC__)
namespace tally::gpu {

#if defined(TALLY_SIMT)
namespace simt {
/// Lets other blocks go on; after very many looks reports that what the block waits for does not come.
void look_again(unsigned looked);
}  // namespace simt
#endif

/// As count_in, but it orders nothing, and nobody waits for it before its result is asked for (atom.relaxed).
__device__ __forceinline__ unsigned count_start(unsigned* counter, unsigned most) {
#if defined(TALLY_SIMT) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 700
  return atomicInc(counter, most);
#else
  unsigned before;
  asm volatile("atom.relaxed.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(most) : "memory");
  return before;
#endif
}

/// Eight bytes that go to another block and come from one whole (st.relaxed, ld.relaxed): who sees one half sees both.
__device__ __forceinline__ void store_whole(std::uint64_t* address, std::uint64_t value) {
#if defined(TALLY_SIMT)
  __atomic_store_n(simt::aligned(address), value, __ATOMIC_RELAXED);
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 700
  *static_cast<volatile std::uint64_t*>(address) = value;
#else
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
#endif
}
__device__ __forceinline__ std::uint64_t load_whole(const std::uint64_t* address) {
#if defined(TALLY_SIMT)
  return __atomic_load_n(simt::aligned(address), __ATOMIC_RELAXED);
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 700
  return *static_cast<const volatile std::uint64_t*>(address);
#else
  std::uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
#endif
}

/// Between two looks at what another block, which has begun, is about to store; `looked` counts them.
__device__ __forceinline__ void look_again(unsigned looked) {
#if defined(TALLY_SIMT)
  simt::look_again(looked);
#else
  (void)looked;
#endif
}

/// blockIdx and threadIdx.x as if asked for anew, so that what follows from them is worked out again and leaves its
/// registers before.
__device__ __forceinline__ dim3 block_index_again() {
#if defined(TALLY_SIMT) || !defined(__CUDA_ARCH__)
  return blockIdx;
#else
  dim3 index(0, 0, 0);
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index.x));
  asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(index.y));
  return index;
#endif
}
__device__ __forceinline__ int thread_index_again() {
#if defined(TALLY_SIMT) || !defined(__CUDA_ARCH__)
  return static_cast<int>(threadIdx.x);
#else
  int index;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
#endif
}

}  // namespace tally::gpu
#endif
