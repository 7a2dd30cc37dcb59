// The updates of many arrays in few launches.
#include <tally/nn/update.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <tally/core/cuda/deal.h>
#include <tally/core/cuda/kernel.h>
#include <tally/core/cuda/status.h>
#include <tally/nn/clip_backend.h>
#include <tally/nn/optimizer_update.h>

namespace tally::detail {
namespace {

constexpr int kThreads = 256;

/// Elements of a thread, so that enough loads are under way: each array's before the first store.
template <class Update>
constexpr int kEach = 32 / static_cast<int>(sizeof(typename Update::Element) * std::bit_ceil(unsigned{Update::arrays}));

/// How many elements a part begins past the last whole line of memory: as many of the first block's threads have none,
/// so that warps write whole sectors.
template <class Update> TALLY_HD std::int64_t elements_past_line(const Part<Update>& part) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(part.data[0]) % 128 / sizeof(*part.data[0]));
}

/// As many parts as a kernel's arguments hold, which are at most 4 KiB.
template <class Update> struct Batch {
  static constexpr std::size_t most = 4000 / (sizeof(Part<Update>) + sizeof(std::int64_t));
  Part<Update> part[most];
  std::int64_t first_block[most];
  int count = 0;
};

/// Whether the update may change its array number kIt.
template <class Update, class T, int kIt, int... K> constexpr bool changes(std::integer_sequence<int, K...>) {
  return !std::is_invocable_v<const Update&, std::conditional_t<K == kIt, const T&, T&>...>;
}

/// kEach elements of a thread: element `first` of the part and every kThreads-th after it, as far as they exist.
template <class Update, int... K>
__device__ void run_part(const Part<Update>& part, std::int64_t first, std::integer_sequence<int, K...> arrays) {
  using T = typename Update::Element;
  const auto update = ready(part.update);
  if (is_idle(update)) return;
  const std::int64_t left = part.count - first;
  const auto exists = [&](int i) { return (i > 0 || first >= 0) && i * kThreads < left; };
  T values[Update::arrays][kEach<Update>];
  const auto read = [&](T(&to)[kEach<Update>], const T* from) {
    TALLY_UNROLL
    for (int i = 0; i < kEach<Update>; ++i) to[i] = exists(i) ? gpu::load_streaming(from + i * kThreads) : T{};
  };
  const auto write = [&](T* to, const T(&from)[kEach<Update>]) {
    TALLY_UNROLL
    for (int i = 0; i < kEach<Update>; ++i)
      if (exists(i)) to[i * kThreads] = from[i];
  };
  (read(values[K], part.data[K] + first), ...);
  TALLY_UNROLL
  for (int i = 0; i < kEach<Update>; ++i) update(values[K][i]...);
  (
      [&] {
        if constexpr (changes<std::remove_const_t<decltype(update)>, T, K>(arrays))
          write(part.data[K] + first, values[K]);
      }(),
      ...);
}

template <class Update> __global__ void update_kernel(Batch<Update> batch, gpu::Status status) {
  gpu::begin_early();
  if (gpu::raised(status)) return;
  const std::int64_t block = blockIdx.x;
  const int k = gpu::array_of_block(batch.first_block, batch.count, block);
  const Part<Update>& part = batch.part[k];
  const std::int64_t first = (block - batch.first_block[k]) * kThreads * kEach<Update> + threadIdx.x;
  run_part(part, first - elements_past_line(part), std::make_integer_sequence<int, Update::arrays>{});
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
      blocks += (parts[i].count + elements_past_line(parts[i]) + per_block - 1) / per_block;
    }
    gpu::launch(update_kernel<Update>, {blocks, kThreads, 0, "update", true}, batch, gpu::status());
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
