// The draws of core/draw.h, with the words from cuRAND's device generator; the emulation has the project's own Philox,
// which gives the same.
#include <tally/core/cuda/random.h>

#include <tally/core/cuda/kernel.h>
#include <tally/core/draw.h>

#if !defined(TALLY_SIMT)
#include <curand_kernel.h>
#endif

namespace tally {
namespace {

constexpr int kThreads = 256;

__device__ Words4 words_at(std::uint64_t seed, std::uint64_t counter) {
#if defined(TALLY_SIMT)
  return philox(seed, counter);
#else
  curandStatePhilox4_32_10_t state;
  curand_init(seed, 0, 4 * counter, &state);
  const uint4 words = curand4(&state);
  return {{words.x, words.y, words.z, words.w}};
#endif
}

/// A thread makes the elements of one counter.
template <class T, bool kNormal>
__global__ void random_kernel(T* out, std::int64_t count, std::uint64_t seed, std::uint64_t start) {
  constexpr int kElements = 4 / (kWordsPerUniform<T> * (kNormal ? 2 : 1));
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t first = thread * kElements;
  if (first >= count) return;
  const Words4 four = words_at(seed, start + static_cast<std::uint64_t>(thread));
  const auto words = [&](std::uint64_t) { return four; };
  TALLY_UNROLL
  for (int k = 0; k < kElements; ++k) {
    const std::int64_t i = first + k;
    if (i >= count) return;
    if constexpr (kNormal)
      out[i] = normal_at<T>(words, start, i);
    else
      out[i] = uniform_at<T>(words, start, i);
  }
}

template <class T, bool kNormal> void launch_random(const Tensor& target, std::uint64_t seed, std::uint64_t start) {
  constexpr int kElements = 4 / (kWordsPerUniform<T> * (kNormal ? 2 : 1));
  const std::int64_t count = target.numel(), threads = (count + kElements - 1) / kElements;
  const gpu::Grid grid{(threads + kThreads - 1) / kThreads, kThreads, 0, "random"};
  gpu::launch(random_kernel<T, kNormal>, grid, target.data<T>(), count, seed, start);
}

}  // namespace

void gpu::fill_random(const Tensor& target, std::uint64_t seed, std::uint64_t start, bool normal) {
  visit(target.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float_type<T>) {
      if (normal)
        launch_random<T, true>(target, seed, start);
      else
        launch_random<T, false>(target, seed, start);
    }
  });
}

}  // namespace tally
