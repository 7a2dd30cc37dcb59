#include <tally/core/cuda/simt/host.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace simt = tally::gpu::simt;

namespace tally::gpu::simt {

struct Stream {
  bool captured = false;
  std::vector<Work> kept;
};

struct Event {
  std::chrono::steady_clock::time_point when;
};

struct Graph {
  std::vector<Work> list;
};

namespace {

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t failed(cudaError_t error) { return last_error = error; }

// The device's memory: how much there is, and what has been handed out.
class Memory {
 public:
  Memory() {
    const char* mebibytes = std::getenv("TALLY_SIMT_MEMORY");
    total_ = (mebibytes ? std::strtoull(mebibytes, nullptr, 10) : 1024) << 20;
  }

  void* allocate(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    if (bytes > total_ - used_) return nullptr;
    void* pointer = ::operator new(bytes, kAlignment, std::nothrow);
    if (!pointer) return nullptr;
    std::memset(pointer, 0xFF, bytes);
    sizes_[pointer] = bytes;
    used_ += bytes;
    return pointer;
  }

  bool free(void* pointer) {
    std::lock_guard lock(mutex_);
    const auto found = sizes_.find(pointer);
    if (found == sizes_.end()) return false;
    used_ -= found->second;
    sizes_.erase(found);
    ::operator delete(pointer, kAlignment);
    return true;
  }

  void info(std::size_t* free, std::size_t* total) {
    std::lock_guard lock(mutex_);
    *free = total_ - used_;
    *total = total_;
  }

 private:
  static constexpr std::align_val_t kAlignment{256};
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t total_ = 0, used_ = 0;
};

Memory& memory() {
  static Memory& memory = *new Memory;  // outlives every static that gives memory back
  return memory;
}

}  // namespace

cudaError_t submit(Stream* stream, Work work) {
  if (stream && stream->captured)
    stream->kept.push_back(std::move(work));
  else
    work();
  return cudaSuccess;
}

}  // namespace tally::gpu::simt

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
  }
  return "unknown error";
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
  }
  return "unknown";
}

cudaError_t cudaGetLastError() { return std::exchange(simt::last_error, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return simt::failed(cudaErrorInvalidValue);
  *properties = {"emulated on the CPU (SIMT)", 9, 0, 8, 1024, 2048, 48 * 1024, 227 * 1024, 0, 1 << 20};
  std::size_t free = 0;
  return cudaMemGetInfo(&free, &properties->totalGlobalMem);
}

cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  *pointer = simt::memory().allocate(bytes);
  return *pointer ? cudaSuccess : simt::failed(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* pointer) {
  return !pointer || simt::memory().free(pointer) ? cudaSuccess : simt::failed(cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  *pointer = std::malloc(bytes);
  return *pointer ? cudaSuccess : simt::failed(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  simt::memory().info(free, total);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return simt::submit(stream, [=] { std::memcpy(target, source, bytes); });
}

cudaError_t cudaMemsetAsync(void* target, int value, std::size_t bytes, cudaStream_t stream) {
  return simt::submit(stream, [=] { std::memset(target, value, bytes); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new simt::Stream;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stream && stream->captured ? simt::failed(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new simt::Event;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return simt::submit(stream, [event] { event->when = std::chrono::steady_clock::now(); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (!stream || stream->captured) return simt::failed(cudaErrorStreamCaptureUnsupported);
  stream->captured = true;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (!stream || !stream->captured) return simt::failed(cudaErrorInvalidValue);
  stream->captured = false;
  *graph = new simt::Graph{std::exchange(stream->kept, {})};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = new simt::Graph(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return simt::submit(stream, [list = executable->list] {
    for (const simt::Work& work : list) work();
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
