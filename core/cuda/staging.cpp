#include <tally/core/cuda/staging.h>

#include <array>
#include <cstring>
#include <mutex>

#include <tally/core/cuda/recording.h>
#include <tally/core/cuda/runtime.h>

namespace tally::gpu::detail {

namespace {

// Slots in turn. An event says when the copy from a slot is done, which by the time its turn comes it nearly always is.
class Staging {
 public:
  Staging() {
    check(cudaMallocHost(&memory_, kSlots * kStagedBytes), "copy_to_device");
    for (cudaEvent_t& event : events_)
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "copy_to_device");
  }

  void copy(void* target, const void* source, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    const std::size_t slot = next_;
    next_ = (next_ + 1) % kSlots;
    check(cudaEventSynchronize(events_[slot]), "copy_to_device");
    unsigned char* staged = memory_ + slot * kStagedBytes;
    std::memcpy(staged, source, bytes);
    check(cudaMemcpyAsync(target, staged, bytes, cudaMemcpyHostToDevice, current_stream()), "copy_to_device");
    check(cudaEventRecord(events_[slot], current_stream()), "copy_to_device");
  }

 private:
  static constexpr std::size_t kSlots = 256;
  std::mutex mutex_;
  unsigned char* memory_ = nullptr;
  std::array<cudaEvent_t, kSlots> events_ = {};
  std::size_t next_ = 0;
};

}  // namespace

void copy_staged(void* target, const void* source, std::size_t bytes) {
  if (Recording* graph = recording()) {  // each replay reads it again: the graph keeps it
    void* pinned = nullptr;
    graph->pinned.reserve(graph->pinned.size() + 1);
    check(cudaMallocHost(&pinned, bytes), "copy_to_device");
    graph->pinned.push_back(pinned);
    std::memcpy(pinned, source, bytes);
    check(cudaMemcpyAsync(target, pinned, bytes, cudaMemcpyHostToDevice, current_stream()), "copy_to_device");
    return;
  }
  static Staging& staging = *new Staging;  // as the driver's, its memory goes with the process
  staging.copy(target, source, bytes);
}

}  // namespace tally::gpu::detail
