// The updates of many arrays in few launches.
#include <tally/nn/update.h>

#include <algorithm>

#include <tally/core/cuda/deal.h>
#include <tally/core/cuda/kernel.h>
#include <tally/core/cuda/status.h>
#include <tally/nn/clip_backend.h>
#include <tally/nn/optimizer_update.h>

namespace tally::detail {
namespace {

constexpr int kThreads = 256;
/// Elements of a thread: as many loads under way as memory wants, whatever the number of arrays.
template <class Update> constexpr int kEach = Update::arrays == 1 ? 8 : 4;

/// As many parts as a kernel's arguments hold, which are at most 4 KiB.
template <class Update> struct Batch {
  static constexpr std::size_t most = 4000 / (sizeof(Part<Update>) + sizeof(std::int64_t));
  Part<Update> part[most];
  std::int64_t first_block[most];
  int count = 0;
};

/// The arrays do not overlap, so that all loads may come before the first store.
template <int kCount, class Update, class... T>
__device__ __forceinline__ void update_run(const Update& update, std::int64_t first, std::int64_t end,
                                           T* __restrict__... arrays) {
  if (first + (kCount - 1) * kThreads < end) {
    TALLY_UNROLL
    for (int k = 0; k < kCount; ++k) update(arrays[first + k * kThreads]...);
  } else {
    for (std::int64_t i = first; i < end; i += kThreads) update(arrays[i]...);
  }
}

template <class Update> __global__ void update_kernel(Batch<Update> batch, gpu::Status status) {
  if (gpu::raised(status)) return;
  const std::int64_t block = blockIdx.x;
  const int k = gpu::array_of_block(batch.first_block, batch.count, block);
  const Part<Update>& part = batch.part[k];
  const std::int64_t begin = (block - batch.first_block[k]) * kThreads * kEach<Update>;
  const auto update = ready(part.update);
  with_arrays(part,
              [&](auto*... arrays) { update_run<kEach<Update>>(update, begin + threadIdx.x, part.count, arrays...); });
}

}  // namespace

template <class Update> void run_parts(Cuda, const std::vector<Part<Update>>& parts) {
  constexpr std::size_t most = Batch<Update>::most;
  constexpr std::int64_t per_block = kThreads * kEach<Update>;
  for (std::size_t first = 0; first < parts.size(); first += most) {
    Batch<Update> batch;
    std::int64_t blocks = 0;
    for (std::size_t i = first; i < std::min(parts.size(), first + most); ++i) {
      batch.part[batch.count] = parts[i];
      batch.first_block[batch.count++] = blocks;
      blocks += (parts[i].count + per_block - 1) / per_block;
    }
    gpu::launch(update_kernel<Update>, {blocks, kThreads, 0, "update"}, batch, gpu::status());
  }
}

#define TALLY_UPDATE(Update)                                                \
  template void run_parts(Cuda, const std::vector<Part<Update<float>>>&);   \
  template void run_parts(Cuda, const std::vector<Part<Update<double>>>&);  \
  template void run_parts(Cuda, const std::vector<Part<Update<Float16>>>&); \
  template void run_parts(Cuda, const std::vector<Part<Update<BFloat16>>>&);
TALLY_UPDATE(SGDUpdate)
TALLY_UPDATE(MomentumUpdate)
TALLY_UPDATE(AdamUpdate)
TALLY_UPDATE(ClipScale)
TALLY_UPDATE(ClipValue)

}  // namespace tally::detail
