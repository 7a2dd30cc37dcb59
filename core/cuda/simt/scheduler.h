// Runs a grid on the CPU: blocks one after another on a few threads, each CUDA thread of a block a fiber that leaves
// the processor where it must wait for others. What it reports is thrown as CudaError by the launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <tally/core/cuda/simt/vector_types.h>
#include <tally/core/where.h>

namespace tally::gpu::simt {

struct Launch {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  const char* name = "kernel";
  bool early = false;          // each thread has to call begin_early
  std::function<void()> body;  // what each CUDA thread runs
};

/// Runs the whole grid. Throws CudaError where a kernel is stuck or breaks a rule.
void run(const Launch& launch);

/// The name that the next launch of this thread gives in errors.
inline constinit thread_local const char* kernel_name = "kernel";

/// Orders threads and blocks; the same seed gives the same order. From TALLY_SIMT_SEED at the start, else 1.
void set_seed(std::uint64_t seed);

/// How many OS threads run blocks. From TALLY_SIMT_THREADS at the start, else as many as the machine has, at most 8.
void set_threads(int count);

// What follows is called from kernels.

/// One lane's part in an exchange of its warp: complete when each lane in `mask` has come with the same `what` and
/// mask; then each gets the bytes at `value` of its `source` lane in `result`.
struct Exchange {
  const char* what;
  Where where;
  unsigned mask;
  const void* value;
  void* result;
  std::size_t bytes;
  unsigned source;
  bool orders_memory;  // shuffles and votes do not
};
void exchange(const Exchange& exchange);

/// The lanes in `mask` whose predicate holds.
unsigned vote(const char* what, unsigned mask, bool predicate, Where where);

/// Waits for all threads of the block that have not returned; how many of them came with a predicate that holds.
int barrier(const char* what, bool predicate, Where where);

void fence();
void begin_early();
int lane_index();
void* dynamic_shared();
void* static_shared(const void* kind, std::size_t bytes, std::size_t alignment, Where where);
[[noreturn]] void misaligned(const void* address, std::size_t bytes);

}  // namespace tally::gpu::simt
