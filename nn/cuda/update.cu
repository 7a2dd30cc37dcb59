// The updates of many arrays in few launches.
#include <tally/nn/update.h>

#include <algorithm>

#include <tally/core/cuda/kernel.h>
#include <tally/core/cuda/status.h>
#include <tally/nn/clip_backend.h>
#include <tally/nn/optimizer_update.h>

namespace tally::detail {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kPerBlock = 4 * kThreads;
constexpr int kMostParts = 24;  // the arguments of a kernel are at most 4 KiB

template <class Update> struct Batch {
  Part<Update> part[kMostParts];
  std::int64_t first_block[kMostParts];
  int count = 0;
};
static_assert(sizeof(Batch<AdamUpdate<double>>) < 4000);

template <class Update> __global__ void update_kernel(Batch<Update> batch, gpu::Status status) {
  if (gpu::raised(status)) return;
  const std::int64_t block = blockIdx.x;
  int k = 0;
  while (k + 1 < batch.count && batch.first_block[k + 1] <= block) ++k;
  const Part<Update>& part = batch.part[k];
  const std::int64_t begin = (block - batch.first_block[k]) * kPerBlock, end = begin + kPerBlock;
  for (std::int64_t i = begin + threadIdx.x; i < end && i < part.count; i += kThreads) part.run(i);
}

}  // namespace

template <class Update> void run_parts(Cuda, const std::vector<Part<Update>>& parts) {
  for (std::size_t first = 0; first < parts.size(); first += kMostParts) {
    Batch<Update> batch;
    std::int64_t blocks = 0;
    for (std::size_t i = first; i < std::min(parts.size(), first + kMostParts); ++i) {
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
