// Loads and stores with cache hints, 16-byte vectors and shuffles of whole structs. The only place for PTX and vendor
// intrinsics: each has a portable twin beside it for the emulation.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tally/core/cuda/runtime.h>
#include <tally/core/hd.h>

#if defined(__CUDACC__)
#define TALLY_UNROLL _Pragma("unroll")
#else
#define TALLY_UNROLL
#endif

namespace tally::gpu {

constexpr int kWarp = 32;                    ///< threads
constexpr unsigned kAllLanes = 0xffffffffu;  ///< a mask

/// N values that are loaded and stored in one access.
template <class T, int N = 16 / sizeof(T)> struct alignas(sizeof(T) * N) Vector {
  static constexpr int size = N;
  T values[N];
  TALLY_HD T& operator[](int i) { return values[i]; }              ///< one of them
  TALLY_HD const T& operator[](int i) const { return values[i]; }  ///< the same
};

#if defined(TALLY_SIMT) || defined(__CUDACC__)

namespace detail {

template <std::size_t Bytes> struct WordOf;
template <> struct WordOf<1> { using type = unsigned char; };
template <> struct WordOf<2> { using type = unsigned short; };
template <> struct WordOf<4> { using type = unsigned int; };
template <> struct WordOf<8> { using type = uint2; };
template <> struct WordOf<16> { using type = uint4; };
template <class T> using Word = typename WordOf<sizeof(T)>::type;

template <class To, class From> __device__ __forceinline__ To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To>);
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace detail

/// A vector of two-byte elements in words, as it was loaded: kept one by one they take a register each, and an
/// instruction to get there.
template <class T, int N> class Halves {
 public:
  Halves() = default;
  __device__ __forceinline__ Halves(const Vector<T, N>& of) { memcpy(words_, &of, sizeof of); }
  __device__ __forceinline__ operator Vector<T, N>() const { return detail::bits_as<Vector<T, N>>(words_); }
  /// Elements 2i, in the lower half, and 2i + 1.
  __device__ __forceinline__ unsigned word(int i) const { return words_[i]; }
  /// Has them put together here, before what comes later is loaded.
  __device__ __forceinline__ void settle() {
#if !defined(TALLY_SIMT) && defined(__CUDA_ARCH__)
    TALLY_UNROLL
    for (int i = 0; i < N / 2; ++i) asm volatile("" : "+r"(words_[i]) : : "memory");
#endif
  }

 private:
  static_assert(sizeof(T) == 2 && N % 2 == 0);
  unsigned words_[N / 2];
};
/// What to keep a vector in until its elements are wanted.
template <class T, int N> using Held = std::conditional_t<sizeof(T) == 2 && N % 2 == 0, Halves<T, N>, Vector<T, N>>;

/// The address, to be worked out here: not anew by each of several loads from around it.
template <class T> __device__ __forceinline__ T* settled(T* address) {
#if !defined(TALLY_SIMT) && defined(__CUDA_ARCH__)
  asm("" : "+l"(address));
#endif
  return address;
}

// Values of 1, 2, 4, 8 or 16 bytes, aligned to their size.

/// For data that is read once: do not let it push other data out of the caches (ld.cs).
template <class T> __device__ __forceinline__ T load_streaming(const T* address) {
#if defined(TALLY_SIMT)
  return *simt::aligned(address);
#else
  return detail::bits_as<T>(__ldcs(reinterpret_cast<const detail::Word<T>*>(address)));
#endif
}

/// For data that another block wrote during this launch: read it where all blocks meet, past the L1 cache (ld.cg).
template <class T> __device__ __forceinline__ T load_coherent(const T* address) {
#if defined(TALLY_SIMT)
  return *simt::aligned(address);
#else
  return detail::bits_as<T>(__ldcg(reinterpret_cast<const detail::Word<T>*>(address)));
#endif
}

/// For data that is not read again soon (st.cs).
template <class T> __device__ __forceinline__ void store_streaming(T* address, const T& value) {
#if defined(TALLY_SIMT)
  *simt::aligned(address) = value;
#else
  __stcs(reinterpret_cast<detail::Word<T>*>(address), detail::bits_as<detail::Word<T>>(value));
#endif
}

/// Starts a copy of 4, 8 or 16 bytes, aligned to their size, into shared memory (cp.async). The thread that asked for
/// it may read it there after wait_for_copies, others after a barrier behind that.
template <class T> __device__ __forceinline__ void copy_async(T* shared, const T* address) {
#if !defined(TALLY_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
        "l"(address), "n"(static_cast<int>(sizeof(T)))
        : "memory");
    return;
  }
#endif
  *shared = load_streaming(address);
}
__device__ __forceinline__ void wait_for_copies() {
#if !defined(TALLY_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// 16 bytes from an address aligned to 16: streaming, as most data is read once.
template <class T> __device__ __forceinline__ Vector<T> load_vector(const T* address) {
  return load_streaming(reinterpret_cast<const Vector<T>*>(address));
}

template <class T> __device__ __forceinline__ void store_vector(T* address, const Vector<T>& vector) {
  store_streaming(reinterpret_cast<Vector<T>*>(address), vector);
}

/// In a kernel that is launched `early` (kernel.h), before its first access to global memory, by all threads: waits
/// until the kernels before it in the stream are through and what they wrote is there (griddepcontrol). A kernel of few
/// blocks lets the next one begin meanwhile. One of many does not: the next one's blocks go where there is room first,
/// and would not be even.
__device__ __forceinline__ void begin_early() {
#if defined(TALLY_SIMT)
  simt::begin_early();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr unsigned kFew = 132;  // one a multiprocessor
  if (gridDim.x * gridDim.y <= kFew) asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Adds one to `counter`, which goes back to 0 after `most`; what it was before. Whoever counts later sees what this
/// thread, and by a barrier its block, has written (atom.acq_rel).
__device__ __forceinline__ unsigned count_in(unsigned* counter, unsigned most) {
#if defined(TALLY_SIMT) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 700
  __threadfence();
  const unsigned before = atomicInc(counter, most);
  __threadfence();
  return before;
#else
  unsigned before;
  asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(most) : "memory");
  return before;
#endif
}

/// The larger and the smaller of two floats; NaN if one is. Of two zeros either may be it.
__device__ __forceinline__ float max_or_nan(float a, float b) {
#if defined(TALLY_SIMT) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
  return a > b || a != a ? a : b;
#else
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#endif
}
__device__ __forceinline__ float min_or_nan(float a, float b) {
#if defined(TALLY_SIMT) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
  return a < b || a != a ? a : b;
#else
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#endif
}

// Shuffles of any trivially copyable struct. All lanes of the mask take part; `where` only serves the emulation.

#if defined(TALLY_SIMT)

template <class T> T shuffle(const T& value, int lane, unsigned mask = kAllLanes, Where where = Where::here()) {
  return __shfl_sync(mask, value, lane, kWarp, where);
}
template <class T> T shuffle_xor(const T& value, int offset, unsigned mask = kAllLanes, Where where = Where::here()) {
  return __shfl_xor_sync(mask, value, offset, kWarp, where);
}
template <class T> T shuffle_down(const T& value, int offset, unsigned mask = kAllLanes, Where where = Where::here()) {
  return __shfl_down_sync(mask, value, offset, kWarp, where);
}
template <class T> T shuffle_up(const T& value, int offset, unsigned mask = kAllLanes, Where where = Where::here()) {
  return __shfl_up_sync(mask, value, offset, kWarp, where);
}

#else

namespace detail {
template <class T, class Shuffle> __device__ __forceinline__ T by_words(const T& value, Shuffle shuffle) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr int kWords = (sizeof(T) + 3) / 4;
  unsigned words[kWords] = {};
  memcpy(words, &value, sizeof value);
  TALLY_UNROLL
  for (int i = 0; i < kWords; ++i) words[i] = shuffle(words[i]);
  T result;
  memcpy(&result, words, sizeof result);
  return result;
}
}  // namespace detail

template <class T> __device__ __forceinline__ T shuffle(const T& value, int lane, unsigned mask = kAllLanes) {
  return detail::by_words(value, [=](unsigned word) { return __shfl_sync(mask, word, lane); });
}
template <class T> __device__ __forceinline__ T shuffle_xor(const T& value, int offset, unsigned mask = kAllLanes) {
  return detail::by_words(value, [=](unsigned word) { return __shfl_xor_sync(mask, word, offset); });
}
template <class T> __device__ __forceinline__ T shuffle_down(const T& value, int offset, unsigned mask = kAllLanes) {
  return detail::by_words(value, [=](unsigned word) { return __shfl_down_sync(mask, word, offset); });
}
template <class T> __device__ __forceinline__ T shuffle_up(const T& value, int offset, unsigned mask = kAllLanes) {
  return detail::by_words(value, [=](unsigned word) { return __shfl_up_sync(mask, word, offset); });
}

#endif

/// A mask of 16 bytes, and the one of the first `count` of them, a multiple of 2.
struct Bytes16 {
  unsigned words[4];
};
__device__ __forceinline__ Bytes16 first_bytes(int count) {
  Bytes16 mask;
  TALLY_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int here = count - 4 * i;
    mask.words[i] = here <= 0 ? 0 : here == 2 ? 0xffffu : 0xffffffffu;
  }
  return mask;
}
/// 16 bytes: those of b where the mask has ones, else of a.
template <class V> __device__ __forceinline__ V blend(const V& a, const V& b, const Bytes16& mask) {
  static_assert(sizeof(V) == 16);
  unsigned of_a[4], of_b[4];
  memcpy(of_a, &a, sizeof a);
  memcpy(of_b, &b, sizeof b);
  TALLY_UNROLL
  for (int i = 0; i < 4; ++i) of_a[i] = (of_a[i] & ~mask.words[i]) | (of_b[i] & mask.words[i]);
  V result;
  memcpy(static_cast<void*>(&result), of_a, sizeof result);
  return result;
}

// Over all lanes of a warp, in all of them (redux.sync).
__device__ __forceinline__ int sum_of_warp(int value) {
#if !defined(TALLY_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, value);
#else
  for (int offset = 1; offset < kWarp; offset *= 2) value += shuffle_xor(value, offset);
  return value;
#endif
}
__device__ __forceinline__ int max_of_warp(int value) {
#if !defined(TALLY_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kAllLanes, value);
#else
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const int other = shuffle_xor(value, offset);
    value = other > value ? other : value;
  }
  return value;
#endif
}
__device__ __forceinline__ int min_of_warp(int value) { return ~max_of_warp(~value); }

#endif

}  // namespace tally::gpu
