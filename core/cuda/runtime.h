// What the CUDA half includes instead of <cuda_runtime.h>: the toolkit's header, or its stand-in on the CPU.
// Only files in core/cuda and ops/cuda include it; a host header names no CUDA type.
#pragma once

#if defined(TALLY_SIMT)
#include <tally/core/cuda/simt/device.h>
#include <tally/core/cuda/simt/host.h>
#else
#include <cuda_runtime.h>
#endif

#include <tally/core/cuda/stream.h>
#include <tally/core/where.h>

namespace tally::gpu {

/// Throws CudaError with the runtime's own words, and clears the runtime's last error, unless `result` is success.
void check(cudaError_t result, const char* op, Where where = Where::here());

/// The stream that this thread's work goes to (stream.h).
inline cudaStream_t current_stream() { return static_cast<cudaStream_t>(current_stream_handle()); }

}  // namespace tally::gpu
