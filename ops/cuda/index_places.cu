#include <tally/core/cuda/kernel.h>
#include <tally/ops/cuda/index_places.h>

#include <utility>

// A radix sort, eight bits of the slot a pass, lowest first. Each pass keeps the order of equal digits, so the passes
// together keep the order of equal slots.

namespace tally::detail {
namespace {

constexpr int kDigits = 256;
constexpr int kThreads = 256;  // one a digit
constexpr int kWarps = kThreads / gpu::kWarp;
constexpr int kRounds = 8;  // places a thread
constexpr int kPart = kThreads * kRounds;

__device__ int digit_of(const Place& place, int shift) { return static_cast<int>(place.slot >> shift & (kDigits - 1)); }

// counts[digit][block]: how many places of the block's part have the digit.
__global__ void count_kernel(const Place* places, std::int64_t count, int shift, std::int64_t* counts) {
  struct Shared {
    int count[kDigits];
  };
  Shared& shared = gpu::shared<Shared>();
  shared.count[threadIdx.x] = 0;
  __syncthreads();
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t i = blockIdx.x * std::int64_t{kPart} + round * kThreads + threadIdx.x;
    if (i < count) atomicAdd(&shared.count[digit_of(places[i], shift)], 1);
  }
  __syncthreads();
  counts[static_cast<std::int64_t>(threadIdx.x) * gridDim.x + blockIdx.x] = shared.count[threadIdx.x];
}

// One block: each count becomes the sum of those before it.
__global__ void offsets_kernel(std::int64_t* counts, std::int64_t count) {
  struct Shared {
    std::int64_t sum[kThreads];
  };
  Shared& shared = gpu::shared<Shared>();
  std::int64_t before = 0;
  for (std::int64_t first = 0; first < count; first += kThreads) {
    const std::int64_t i = first + threadIdx.x, mine = i < count ? counts[i] : 0;
    shared.sum[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned reach = 1; reach < kThreads; reach *= 2) {
      const std::int64_t other = threadIdx.x >= reach ? shared.sum[threadIdx.x - reach] : 0;
      __syncthreads();
      shared.sum[threadIdx.x] += other;
      __syncthreads();
    }
    if (i < count) counts[i] = before + shared.sum[threadIdx.x] - mine;
    before += shared.sum[kThreads - 1];
    __syncthreads();
  }
}

// The lanes of the warp that hold the same digit; a lane without a place (digit -1) gets those without.
__device__ unsigned same_digit(int digit) {
  unsigned same = gpu::kAllLanes;
  for (int bit = 0; bit <= 8; ++bit) {  // bit 8 is set for -1 alone
    const unsigned set = __ballot_sync(gpu::kAllLanes, digit >> bit & 1);
    same &= (digit >> bit & 1) ? set : ~set;
  }
  return same;
}

// Each round takes the next kThreads places: a place goes behind those of its digit from blocks, rounds, warps and
// lanes before it.
__global__ void move_kernel(const Place* from, Place* to, std::int64_t count, int shift, const std::int64_t* offsets) {
  struct Shared {
    std::int64_t next[kDigits];
    int in_warp[kWarps][kDigits];
  };
  Shared& shared = gpu::shared<Shared>();
  const int warp = threadIdx.x / gpu::kWarp, lane = threadIdx.x % gpu::kWarp;
  shared.next[threadIdx.x] = offsets[static_cast<std::int64_t>(threadIdx.x) * gridDim.x + blockIdx.x];
  for (int round = 0; round < kRounds; ++round) {
    for (int w = 0; w < kWarps; ++w) shared.in_warp[w][threadIdx.x] = 0;
    __syncthreads();
    const std::int64_t i = blockIdx.x * std::int64_t{kPart} + round * kThreads + threadIdx.x;
    const Place place = i < count ? from[i] : Place{0, 0};
    const int digit = i < count ? digit_of(place, shift) : -1;
    const unsigned same = same_digit(digit);
    const int rank = __popc(same & ((1u << lane) - 1));
    if (digit >= 0 && rank == 0) shared.in_warp[warp][digit] = __popc(same);
    __syncthreads();
    if (digit >= 0) {
      std::int64_t target = shared.next[digit] + rank;
      for (int w = 0; w < warp; ++w) target += shared.in_warp[w][digit];
      to[target] = place;
    }
    __syncthreads();
    for (int w = 0; w < kWarps; ++w) shared.next[threadIdx.x] += shared.in_warp[w][threadIdx.x];
    __syncthreads();
  }
}

Tensor device_words(std::int64_t count) { return empty({count}, {.dtype = int64, .device = Device::cuda}); }

}  // namespace

PlaceList::PlaceList(std::int64_t count) : count_(count), memory_(device_words(2 * count)) {}

void PlaceList::sort_by_slot(std::int64_t last_slot) {
  if (count_ < 2) return;
  const std::int64_t blocks = (count_ + kPart - 1) / kPart;
  const Tensor counts = device_words(kDigits * blocks);
  Tensor sorted = device_words(2 * count_);
  for (int shift = 0; shift < 64 && last_slot >> shift != 0; shift += 8) {
    std::int64_t* count = static_cast<std::int64_t*>(counts.raw());
    gpu::launch(count_kernel, {{blocks}, {kThreads}, 0, "count places"}, data(), count_, shift, count);
    gpu::launch(offsets_kernel, {{1}, {kThreads}, 0, "place offsets"}, count, kDigits * blocks);
    gpu::launch(move_kernel, {{blocks}, {kThreads}, 0, "move places"}, data(), static_cast<Place*>(sorted.raw()),
                count_, shift, count);
    std::swap(memory_, sorted);
  }
}

}  // namespace tally::detail
