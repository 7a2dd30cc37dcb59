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
constexpr std::int64_t kPerBlock = 4 * kThreads;

/// As many parts as a kernel's arguments hold, which are at most 4 KiB.
template <class Update> struct Batch {
  static constexpr std::size_t most = 4000 / (sizeof(Part<Update>) + sizeof(std::int64_t));
  Part<Update> part[most];
  std::int64_t first_block[most];
  int count = 0;
};

template <class Update> __global__ void update_kernel(Batch<Update> batch, gpu::Status status) {
  if (gpu::raised(status)) return;
  const std::int64_t block = blockIdx.x;
  const int k = gpu::array_of_block(batch.first_block, batch.count, block);
  const Part<Update>& part = batch.part[k];
  const std::int64_t begin = (block - batch.first_block[k]) * kPerBlock, end = begin + kPerBlock;
  for (std::int64_t i = begin + threadIdx.x; i < end && i < part.count; i += kThreads) part.run(i);
}

}  // namespace

template <class Update> void run_parts(Cuda, const std::vector<Part<Update>>& parts) {
  constexpr std::size_t most = Batch<Update>::most;
  for (std::size_t first = 0; first < parts.size(); first += most) {
    Batch<Update> batch;
    std::int64_t blocks = 0;
    for (std::size_t i = first; i < std::min(parts.size(), first + most); ++i) {
      batch.part[batch.count] = parts[i];
      batch.first_block[batch.count++] = blocks;
      blocks += (parts[i].count + kPerBlock - 1) / kPerBlock;
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
