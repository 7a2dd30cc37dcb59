// A vector of numbers as wide as the instruction set that this file is compiled for, for isa_*.cpp alone: arithmetic
// and comparisons are the compiler's own on its vector types, and what they lack is here.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <tally/core/math/isa.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define TALLY_VECTOR_UNROLL _Pragma("unroll")
#define TALLY_VECTOR_LOOP _Pragma("nounroll")
#else
#define TALLY_VECTOR_UNROLL _Pragma("GCC unroll 32")
#define TALLY_VECTOR_LOOP _Pragma("GCC unroll 1")
#endif
#define TALLY_INLINE [[gnu::always_inline]] inline
#define TALLY_LAMBDA __attribute__((always_inline))

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
/// f(i) for i from `from` to below `to`, written out one after another where that is a constant.
template <class N> TALLY_INLINE void steps(int from, N to, auto f) {
  if constexpr (std::is_integral_v<N>) {
    TALLY_VECTOR_LOOP
    for (int i = from; i < to; ++i) f(i);
  } else {
    TALLY_VECTOR_UNROLL
    for (int i = from; i < N::value; ++i) f(i);
  }
}
/// N as such a constant, unless the code would be long or is to be small.
template <int N> TALLY_INLINE auto written_out() {
  if constexpr (N <= 8 && kVectorBytes >= 32)
    return std::integral_constant<int, N>();
  else
    return N;
}

template <class T> inline constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

template <class T> struct VectorOf { typedef T type __attribute__((vector_size(kVectorBytes))); };
template <class T> using Vec = typename VectorOf<T>::type;
/// The integers of T's width: what comparisons give (all bits set where true) and what holds T's bits.
template <class T> using Whole = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
template <class T> using Mask = Vec<Whole<T>>;

template <class T> TALLY_INLINE Vec<T> splat(T x) { return x - Vec<T>{}; }  // minus: +0 would make a -0 a +0
template <class T> TALLY_INLINE Mask<T> bits(Vec<T> x) { return reinterpret_cast<Mask<T>>(x); }
template <class T> TALLY_INLINE Vec<T> from_bits(Mask<T> x) { return reinterpret_cast<Vec<T>>(x); }
template <class T>
inline constexpr Whole<T> kSignBit = Whole<T>(std::make_unsigned_t<Whole<T>>(1) << (sizeof(T) * 8 - 1));
template <class T> TALLY_INLINE Vec<T> abs(Vec<T> x) { return from_bits<T>(bits<T>(x) & ~kSignBit<T>); }

template <class T> inline constexpr int kMantissaBits = sizeof(T) == 4 ? 23 : 52;
template <class T> inline constexpr Whole<T> kExponentBias = sizeof(T) == 4 ? 127 : 1023;
template <class T> inline constexpr Whole<T> kExponentBits = (2 * kExponentBias<T> + 1) << kMantissaBits<T>;
/// Of normal numbers: x = significand * 2^exponent, the significand in [1, 2) with x's sign.
template <class T> TALLY_INLINE Vec<T> significand(Vec<T> x) {
  return from_bits<T>((bits<T>(x) & ~kExponentBits<T>) | (kExponentBias<T> << kMantissaBits<T>));
}
template <class T> TALLY_INLINE Mask<T> exponent(Vec<T> x) {
  return ((bits<T>(x) & kExponentBits<T>) >> kMantissaBits<T>)-kExponentBias<T>;
}
/// x * 2^n of x in [1, 2) and any n, rounded once: only the second of two factors can leave the normal numbers.
template <class T> TALLY_INLINE Vec<T> times_power(Vec<T> x, Mask<T> n) {
  constexpr Whole<T> kFar = 2 * (kExponentBias<T> - 1);
  n = n < -kFar ? Mask<T>{} - kFar : n > kFar ? Mask<T>{} + kFar : n;
  const Mask<T> half = n >> 1;
  const auto power = [](Mask<T> e) TALLY_LAMBDA { return from_bits<T>((e + kExponentBias<T>) << kMantissaBits<T>); };
  return x * power(half) * power(n - half);
}
template <class T> TALLY_INLINE Vec<T> root(Vec<T> x) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    return _mm512_sqrt_ps(x);
  else
    return _mm512_sqrt_pd(x);
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<T, float>)
    return _mm256_sqrt_ps(x);
  else
    return _mm256_sqrt_pd(x);
#else
  for (int i = 0; i < kWidth<T>; ++i) x[i] = static_cast<T>(__builtin_sqrt(x[i]));
  return x;
#endif
}
/// a * b + c, rounded once.
TALLY_INLINE Vec<float> fused(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__) && defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  Vec<float> y;
  for (int i = 0; i < kWidth<float>; ++i) y[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return y;
#endif
}

/// The smaller of |x| and a `least` that is not negative; of NaN in x, `least`.
template <class T> TALLY_INLINE Vec<T> smaller_magnitude(Vec<T> x, Vec<T> least) {
#if defined(__AVX512DQ__)
  constexpr int kSmallerMagnitude = 0b1010;
  if constexpr (std::is_same_v<T, float>)
    return reinterpret_cast<Vec<T>>(_mm512_range_ps(x, least, kSmallerMagnitude));
  else
    return reinterpret_cast<Vec<T>>(_mm512_range_pd(x, least, kSmallerMagnitude));
#else
  const Vec<T> size = abs<T>(x);
  return size < least ? size : least;
#endif
}

/// a > b ? a : b and a < b ? a : b: max and min of the processor, which notes a NaN (processor_note.h).
template <class T> TALLY_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return _mm512_max_ps(a, b);
  else
    return _mm512_max_pd(a, b);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return _mm256_max_ps(a, b);
  else
    return _mm256_max_pd(a, b);
#elif defined(__x86_64__)
  if constexpr (sizeof(T) == 4)
    return _mm_max_ps(a, b);
  else
    return _mm_max_pd(a, b);
#else
  return a > b ? a : b;
#endif
}
template <class T> TALLY_INLINE Vec<T> smaller(Vec<T> a, Vec<T> b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return _mm512_min_ps(a, b);
  else
    return _mm512_min_pd(a, b);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return _mm256_min_ps(a, b);
  else
    return _mm256_min_pd(a, b);
#elif defined(__x86_64__)
  if constexpr (sizeof(T) == 4)
    return _mm_min_ps(a, b);
  else
    return _mm_min_pd(a, b);
#else
  return a < b ? a : b;
#endif
}

template <class T> TALLY_INLINE Vec<T> load(const T* from) {
  Vec<T> x;
  __builtin_memcpy(&x, from, sizeof x);
  return x;
}
template <class T> TALLY_INLINE void store(T* to, Vec<T> x) { __builtin_memcpy(to, &x, sizeof x); }

/// The first `count` elements, `pad` in the other places; nothing past them is read. Any count.
template <class T> TALLY_INLINE Vec<T> load_part(const T* from, int count, T pad) {
  constexpr int W = kWidth<T>;
  if (count >= W) return load(from);
  if (count <= 0) return splat(pad);
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    return reinterpret_cast<Vec<T>>(
        _mm512_mask_loadu_ps(_mm512_set1_ps(pad), static_cast<__mmask16>((1u << count) - 1), from));
  if constexpr (std::is_same_v<T, double>)
    return reinterpret_cast<Vec<T>>(
        _mm512_mask_loadu_pd(_mm512_set1_pd(pad), static_cast<__mmask8>((1u << count) - 1), from));
#endif
  T padded[W];
  for (int i = 0; i < W; ++i) padded[i] = i < count ? from[i] : pad;
  return load(padded);
}

/// 0, 1, 2, ...
template <class T> TALLY_INLINE Vec<T> ramp() {
  Vec<T> x;
  for (int i = 0; i < kWidth<T>; ++i) x[i] = static_cast<T>(i);
  return x;
}

template <class T> TALLY_INLINE bool any(Vec<T> mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256(reinterpret_cast<__m256i>(mask), reinterpret_cast<__m256i>(mask));
#else
  T together = 0;
  for (int i = 0; i < kWidth<T>; ++i) together |= mask[i];
  return together != 0;
#endif
}

/// Whether any comparison so far was true in any place.
template <class T> class Seen {
 public:
#if defined(__AVX512F__)
  TALLY_INLINE void nan(Vec<T> a, Vec<T> b) { compare<_CMP_UNORD_Q>(a, b); }
  TALLY_INLINE void equal(Vec<T> a, Vec<T> b) { compare<_CMP_EQ_OQ>(a, b); }
  TALLY_INLINE bool any() const { return seen_ != 0; }

 private:
  template <int kComparison> TALLY_INLINE void compare(Vec<T> a, Vec<T> b) {
    if constexpr (std::is_same_v<T, float>)
      seen_ |= static_cast<unsigned>(_mm512_cmp_ps_mask(a, b, kComparison));
    else
      seen_ |= static_cast<unsigned>(_mm512_cmp_pd_mask(a, b, kComparison));
  }
  unsigned seen_ = 0;
#else
  TALLY_INLINE void nan(Vec<T> a, Vec<T> b) { seen_ |= (a != a) | (b != b); }
  TALLY_INLINE void equal(Vec<T> a, Vec<T> b) { seen_ |= a == b; }
  TALLY_INLINE bool any() const { return cpu_vector::any<Whole<T>>(seen_); }

 private:
  Mask<T> seen_{};
#endif
};

/// How many elements of a mask are true.
template <class T> TALLY_INLINE int count_true(Vec<T> mask) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return __builtin_popcount(_mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)));
  else
    return __builtin_popcount(_mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)));
#else
  T number = 0;
  for (int i = 0; i < kWidth<T>; ++i) number -= mask[i];
  return static_cast<int>(number);
#endif
}

/// The place of the first true element, of a mask with one.
template <class T> TALLY_INLINE int first_true(Vec<T> mask) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return __builtin_ctz(_mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)));
  else
    return __builtin_ctz(_mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)));
#elif defined(__AVX2__)
  const int bytes = _mm256_movemask_epi8(reinterpret_cast<__m256i>(mask));
  return __builtin_ctz(static_cast<unsigned>(bytes)) / static_cast<int>(sizeof(T));
#else
  int i = 0;
  while (mask[i] == 0) ++i;
  return i;
#endif
}

namespace shuffles {

/// Where element i of such a result stands in a and b together.
constexpr int source(int i, int width, int block, int unit, int odd) {
  const int half = block / 2, in_half = i % half;
  return i % block / half * width + i / block * block + (in_half / unit * 2 + odd) * unit + in_half % unit;
}
template <int Block, int Unit, int Odd, class V, int... I>
TALLY_INLINE V every_other(V a, V b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, source(I, sizeof...(I), Block, Unit, Odd)...);
}
template <class T, int Odd> TALLY_INLINE Vec<T> every_other(Vec<T> a, Vec<T> b, int n) {
  constexpr int W = kWidth<T>, kBlock = 16 / static_cast<int>(sizeof(T));
  constexpr std::make_integer_sequence<int, W> all;
  if (n == 0) return every_other<W, 1, Odd>(a, b, all);
  if constexpr (W > kBlock)
    if (n > kBlock) return every_other<W, kBlock, Odd>(a, b, all);
  return every_other<kBlock, 1, Odd>(a, b, all);
}

}  // namespace shuffles

/// Elements 0, 2, 4, ... (1, 3, 5, ...) of a and then b. Or with n = 2, 4, ..., one after another in a tree over many
/// vectors: of each 16 bytes, and from some n on whole 16 bytes, which is quicker; all that is left of a vector in the
/// end stands at the vector's number.
template <class T> TALLY_INLINE Vec<T> even(Vec<T> a, Vec<T> b, int n = 0) {
  return shuffles::every_other<T, 0>(a, b, n);
}
template <class T> TALLY_INLINE Vec<T> odd(Vec<T> a, Vec<T> b, int n = 0) {
  return shuffles::every_other<T, 1>(a, b, n);
}

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
