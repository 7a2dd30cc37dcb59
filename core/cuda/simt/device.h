// CUDA C++'s device half for a host compiler: qualifiers, built-in variables, vector types, warp and block functions,
// atomics. Only what Tally's kernels use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tally/core/cuda/simt/scheduler.h>
#include <tally/core/cuda/simt/vector_types.h>
#include <tally/core/where.h>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static thread_local

// Set by the scheduler before a thread goes on.
inline constinit thread_local uint3 threadIdx = {0, 0, 0};
inline constinit thread_local uint3 blockIdx = {0, 0, 0};
inline constinit thread_local dim3 blockDim;
inline constinit thread_local dim3 gridDim;
constexpr int warpSize = 32;

namespace tally::gpu::simt {

/// `address`, or a report where a GPU would trap.
template <class T> T* aligned(T* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) misaligned(address, sizeof(T));
  return address;
}

template <class T, class Source>
T shuffle(const char* what, unsigned mask, const T& value, int width, Where where, Source source) {
  static_assert(std::is_trivially_copyable_v<T>);
  const int lane = lane_index(), first = lane & ~(width - 1);
  T result;
  exchange({what, where, mask, &value, &result, sizeof(T), static_cast<unsigned>(source(lane, first)), false});
  return result;
}

template <class T, class Change> T atomic_update(T* address, Change change) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    T next = change(old);
    if (__atomic_compare_exchange(address, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
  }
}

}  // namespace tally::gpu::simt

// Barriers.
inline void __syncthreads(tally::Where where = tally::Where::here()) {
  tally::gpu::simt::barrier("__syncthreads", false, where);
}
inline int __syncthreads_or(int predicate, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::barrier("__syncthreads_or", predicate != 0, where) > 0;
}
inline int __syncthreads_and(int predicate, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::barrier("__syncthreads_and", predicate == 0, where) == 0;
}
inline int __syncthreads_count(int predicate, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::barrier("__syncthreads_count", predicate != 0, where);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, tally::Where where = tally::Where::here()) {
  tally::gpu::simt::exchange({"__syncwarp", where, mask, nullptr, nullptr, 0, 0, true});
}

// Shuffles. A source outside the lane's group of `width` gives the lane its own value back.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::shuffle("__shfl_sync", mask, value, width, where,
                                   [=](int, int first) { return first + (source & (width - 1)); });
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int offset, int width = 32, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::shuffle("__shfl_xor_sync", mask, value, width, where, [=](int lane, int first) {
    return (lane ^ offset) < first + width ? lane ^ offset : lane;
  });
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned offset, int width = 32, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::shuffle("__shfl_down_sync", mask, value, width, where, [=](int lane, int first) {
    return lane + static_cast<int>(offset) < first + width ? lane + static_cast<int>(offset) : lane;
  });
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned offset, int width = 32, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::shuffle("__shfl_up_sync", mask, value, width, where, [=](int lane, int first) {
    return lane - static_cast<int>(offset) >= first ? lane - static_cast<int>(offset) : lane;
  });
}

// Votes.
inline unsigned __ballot_sync(unsigned mask, int predicate, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::vote("__ballot_sync", mask, predicate != 0, where);
}
inline int __any_sync(unsigned mask, int predicate, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::vote("__any_sync", mask, predicate != 0, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, tally::Where where = tally::Where::here()) {
  return tally::gpu::simt::vote("__all_sync", mask, predicate != 0, where) == mask;
}
/// On a GPU whatever lanes happen to run together; here the lane alone, the least that may be relied on.
inline unsigned __activemask() { return 1u << tally::gpu::simt::lane_index(); }

// Fences.
inline void __threadfence() { tally::gpu::simt::fence(); }
inline void __threadfence_block() { tally::gpu::simt::fence(); }

// Atomics.
template <class T> T atomicAdd(T* address, std::type_identity_t<T> value) {
  return tally::gpu::simt::atomic_update(address, [=](T old) { return static_cast<T>(old + value); });
}
template <class T> T atomicSub(T* address, std::type_identity_t<T> value) {
  return tally::gpu::simt::atomic_update(address, [=](T old) { return static_cast<T>(old - value); });
}
template <class T> T atomicMax(T* address, std::type_identity_t<T> value) {
  return tally::gpu::simt::atomic_update(address, [=](T old) { return std::max(old, value); });
}
template <class T> T atomicMin(T* address, std::type_identity_t<T> value) {
  return tally::gpu::simt::atomic_update(address, [=](T old) { return std::min(old, value); });
}
template <class T> T atomicOr(T* address, std::type_identity_t<T> value) {
  return tally::gpu::simt::atomic_update(address, [=](T old) { return old | value; });
}
template <class T> T atomicAnd(T* address, std::type_identity_t<T> value) {
  return tally::gpu::simt::atomic_update(address, [=](T old) { return old & value; });
}
template <class T> T atomicExch(T* address, std::type_identity_t<T> value) {
  return tally::gpu::simt::atomic_update(address, [=](T) { return value; });
}
template <class T> T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return tally::gpu::simt::atomic_update(address, [=](T old) { return old == expected ? value : old; });
}
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return tally::gpu::simt::atomic_update(address, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}

// Loads and stores with hints.
template <class T> T __ldg(const T* address) { return *address; }
template <class T> T __ldcg(const T* address) { return *address; }
template <class T> T __ldcs(const T* address) { return *address; }
template <class T> void __stcs(T* address, std::type_identity_t<T> value) { *address = value; }

// Bits and arithmetic.
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((std::uint64_t{a} * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
template <class T> constexpr T min(T a, std::type_identity_t<T> b) { return b < a ? b : a; }
template <class T> constexpr T max(T a, std::type_identity_t<T> b) { return a < b ? b : a; }
