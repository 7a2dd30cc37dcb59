#include <tally/core/cuda/stream.h>

#include <tally/core/cuda/recording.h>
#include <tally/core/cuda/runtime.h>

namespace tally::gpu {

namespace {

thread_local void* scoped_stream = nullptr;

// The legacy default stream is left to the program: streams that wait for it implicitly cannot be captured beside it.
cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  return stream;
}

void order(void* first, void* second) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "stream");
  cudaError_t result = cudaEventRecord(event, static_cast<cudaStream_t>(first));
  if (result == cudaSuccess) result = cudaStreamWaitEvent(static_cast<cudaStream_t>(second), event, 0);
  cudaEventDestroy(event);  // once it has been reached
  check(result, "stream");
}

}  // namespace

void* detail::library_stream() {
  static void* stream = make_stream();  // lives as long as the process
  return stream;
}

void* current_stream_handle() { return scoped_stream ? scoped_stream : detail::library_stream(); }

Stream::Stream() : handle_(make_stream()) {}

Stream::~Stream() {
  cudaStreamSynchronize(static_cast<cudaStream_t>(handle_));
  detail::release_stream_memory(handle_);
  cudaStreamDestroy(static_cast<cudaStream_t>(handle_));
}

void Stream::synchronize() const { check(cudaStreamSynchronize(static_cast<cudaStream_t>(handle_)), "synchronize"); }
void Stream::wait_for(const Stream& other) const { order(other.handle_, handle_); }
void Stream::wait_for_current() const { order(current_stream_handle(), handle_); }
void current_waits_for(const Stream& stream) { order(stream.handle(), current_stream_handle()); }

StreamScope::StreamScope(const Stream& stream) : previous_(scoped_stream) { scoped_stream = stream.handle(); }
StreamScope::~StreamScope() { scoped_stream = previous_; }

}  // namespace tally::gpu
