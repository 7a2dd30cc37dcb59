#include <tally/ops/cuda/reduce_scratch.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <tally/core/cuda/memory.h>
#include <tally/core/cuda/recording.h>
#include <tally/core/cuda/runtime.h>
#include <tally/core/device.h>

namespace tally::cuda_loops {

unsigned* tickets(std::int64_t count) {
  struct Pool {
    unsigned* words = nullptr;
    std::int64_t size = 0;
  };
  static std::mutex mutex;
  static std::map<void*, Pool> pools;
  const auto* recording = gpu::detail::recording();
  void* stream = recording ? recording->home : gpu::current_stream_handle();
  std::lock_guard lock(mutex);
  Pool& pool = pools[stream];
  if (pool.size < count) {
    // The old words stay: graphs may count in them.
    Pool larger{nullptr, std::max<std::int64_t>(4096, 2 * count)};
    const std::size_t bytes = static_cast<std::size_t>(larger.size) * sizeof(unsigned);
    gpu::check(cudaMalloc(&larger.words, bytes), "reduce");
    // On the stream itself, also during a capture: a replay comes after it.
    gpu::check(cudaMemsetAsync(larger.words, 0, bytes, static_cast<cudaStream_t>(stream)), "reduce");
    pool = larger;
  }
  return pool.words;
}

Scratch::Scratch(std::size_t bytes) : memory_(gpu::allocate(bytes)), bytes_(bytes) {}
Scratch::~Scratch() { gpu::deallocate(memory_, bytes_); }

}  // namespace tally::cuda_loops
