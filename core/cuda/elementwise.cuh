// The elementwise kernel, generic over the functor. A thread computes a run of V neighbouring results. V is 16 bytes of
// the input type where every operand steps by 1 or 0 along the innermost dim and is aligned, so that a broadcast bias
// is read by vectors too; else 1. The formula is the same for either. Loads and stores go through the caches: the next
// op reads what this one wrote.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <tally/core/convert.h>
#include <tally/core/cuda/kernel.h>
#include <tally/core/strided.h>

namespace tally::detail {

constexpr int kThreads = 256;

/// Where a kernel reads one input: memory, or a number where `data` is null.
template <class T> struct DeviceInput {
  const T* data;
  T number;
};

/// Strided::offsets, by 32-bit divisions where they reach.
template <int M>
__device__ inline void device_offsets(const Strided<M>& walk, std::int64_t i, std::int64_t (&offset)[M]) {
  if (walk.rank <= 1 || walk.count > std::int64_t{0xffffffff}) return walk.offsets(i, offset);
  for (int k = 0; k < M; ++k) offset[k] = 0;
  std::uint32_t rest = static_cast<std::uint32_t>(i);
  for (int d = walk.rank - 1; d >= 0; --d) {
    const std::uint32_t size = static_cast<std::uint32_t>(walk.sizes[d]), next = d > 0 ? rest / size : 0;
    TALLY_UNROLL
    for (int k = 0; k < M; ++k) offset[k] += static_cast<std::int64_t>(rest - next * size) * walk.strides[k][d];
    rest = next;
  }
}

/// The first `left` of V neighbours; all of them in one access where there are as many.
template <int V, class T>
__device__ __forceinline__ gpu::Vector<T, V> load_run(const DeviceInput<T>& input, std::int64_t offset, bool constant,
                                                      std::int64_t left) {
  gpu::Vector<T, V> run;
  if (!constant && left >= V) {
    using Run = gpu::Vector<T, V>;
#if defined(TALLY_SIMT)
    run = *gpu::simt::aligned(reinterpret_cast<const Run*>(input.data + offset));
#else
    run = gpu::detail::bits_as<Run>(*reinterpret_cast<const gpu::detail::Word<Run>*>(input.data + offset));
#endif
    return run;
  }
  TALLY_UNROLL
  for (int j = 0; j < V; ++j) run[j] = input.data ? input.data[offset + (constant || j >= left ? 0 : j)] : input.number;
  return run;
}

template <int V, class T>
__device__ __forceinline__ void store_run(T* out, const gpu::Vector<T, V>& run, std::int64_t left) {
  if (left >= V) {
    using Run = gpu::Vector<T, V>;
#if defined(TALLY_SIMT)
    *gpu::simt::aligned(reinterpret_cast<Run*>(out)) = run;
#else
    *reinterpret_cast<gpu::detail::Word<Run>*>(out) = gpu::detail::bits_as<gpu::detail::Word<Run>>(run);
#endif
    return;
  }
  TALLY_UNROLL
  for (int j = 0; j < V; ++j)
    if (j < left) out[j] = run[j];
}

template <int V, class Out, class F, class... In>
__device__ __forceinline__ gpu::Vector<Out, V> compute_run(const F& f, const gpu::Vector<In, V>&... inputs) {
  gpu::Vector<Out, V> run;
  TALLY_UNROLL
  for (int j = 0; j < V; ++j) run[j] = convert<Out>(f(convert<Compute<In>>(inputs[j])...));
  return run;
}

template <int V, class F, class Out, class... In, std::size_t... K>
__device__ __forceinline__ void elementwise_run(const F& f, const Strided<sizeof...(In) + 1>& walk, std::int64_t first,
                                                Out* out, std::index_sequence<K...>, const DeviceInput<In>&... inputs) {
  const std::int64_t left = walk.count - first;
  std::int64_t offset[sizeof...(In) + 1];
  device_offsets(walk, first, offset);
  store_run<V>(out + offset[0],
               compute_run<V, Out>(f, load_run<V>(inputs, offset[K + 1], walk.inner_stride(K + 1) == 0, left)...),
               left);
}

template <int V, class F, class Out, class... In>
__global__ void __launch_bounds__(kThreads)
    elementwise_kernel(F f, Strided<sizeof...(In) + 1> walk, Out* out, DeviceInput<In>... inputs) {
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * V;
  gpu::begin_early();
  if (first < walk.count) elementwise_run<V>(f, walk, first, out, std::make_index_sequence<sizeof...(In)>{}, inputs...);
}

/// Whether runs of V elements lie side by side and aligned in every operand, or are one value.
template <int V, int M>
bool runs_by(const Strided<M>& walk, const void* const (&data)[M], const std::size_t (&sizes)[M]) {
  if (walk.rank == 0 || walk.inner_stride(0) != 1 || (walk.rank > 1 && walk.inner() % V != 0)) return false;
  for (int k = 0; k < M; ++k) {
    if (walk.inner_stride(k) == 0) continue;
    if (walk.inner_stride(k) != 1 || reinterpret_cast<std::uintptr_t>(data[k]) % (V * sizes[k]) != 0) return false;
    for (int d = 0; d < walk.rank - 1; ++d)
      if (walk.strides[k][d] % V != 0) return false;
  }
  return true;
}

/// out = f(inputs...) at every place of the walk, the arithmetic in Compute of the input types; at most kMost results a
/// thread.
template <int kMost = 8, class F, class Out, class... In>
void launch_elementwise(const char* name, const F& f, const Strided<sizeof...(In) + 1>& walk, Out* out,
                        DeviceInput<In>... inputs) {
  constexpr int kWidest = static_cast<int>(std::max({sizeof(Out), sizeof(In)...}));
  constexpr int kRun = 16 / kWidest < kMost ? 16 / kWidest : kMost;
  const void* const data[] = {out, inputs.data...};
  const std::size_t sizes[] = {sizeof(Out), sizeof(In)...};
  const bool by_runs = runs_by<kRun>(walk, data, sizes);
  const std::int64_t runs = by_runs ? (walk.count + kRun - 1) / kRun : walk.count;
  const gpu::Grid grid{(runs + kThreads - 1) / kThreads, kThreads, 0, name, true};
  gpu::launch(by_runs ? elementwise_kernel<kRun, F, Out, In...> : elementwise_kernel<1, F, Out, In...>, grid, f, walk,
              out, inputs...);
}

}  // namespace tally::detail
