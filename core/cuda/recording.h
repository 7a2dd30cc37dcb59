// What a graph owns, from the start of its capture to its end. Internal.
#pragma once

#include <cstddef>
#include <vector>

#include <tally/core/cuda/runtime.h>
#include <tally/core/cuda/stream.h>

namespace tally::gpu::detail {

struct Recording {
  Recording() = default;
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void* home = current_stream_handle();  // where it is replayed
  Stream stream;                         // where it is captured, so that other threads' work is not
  cudaGraphExec_t executable = nullptr;
  std::vector<void*> pinned;  // host memory that its copies read
};

/// This thread's capture, or null.
Recording* recording();

/// Throws CudaError inside a capture: nothing has run, so there is nothing to wait for.
void refuse_in_capture(const char* op);

/// The allocator: what the graph held is free again. What is still in use becomes ordinary memory.
void release_graph_memory(const Recording* graph);
/// The allocator: the stream is going; its memory moves to the library's stream.
void release_stream_memory(void* stream);

/// The library's own stream.
void* library_stream();

}  // namespace tally::gpu::detail
