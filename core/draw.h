// From random words to draws, for both devices. `words(c)` gives the four words at counter c.
#pragma once

#include <tally/core/convert.h>
#include <tally/core/math.h>
#include <tally/core/random.h>

namespace tally {

/// Words a draw of T takes: one, or two for 53 bits.
template <class T> inline constexpr int kWordsPerUniform = sizeof(T) == 8 ? 2 : 1;

/// Uniform i in [0, 1) with as many bits as T's significand, so that none rounds up to 1.
template <class T, class WordsAt> TALLY_HD T uniform_at(const WordsAt& words, std::uint64_t start, std::int64_t i) {
  const std::uint64_t first = static_cast<std::uint64_t>(i) * kWordsPerUniform<T>;
  const Words4 four = words(start + first / 4);
  const std::uint32_t word = four.word[first % 4];
  if constexpr (sizeof(T) == 8)
    return uniform_of(word, four.word[first % 4 + 1]);
  else if constexpr (std::is_same_v<T, float>)
    return uniform_of(word);
  else if constexpr (std::is_same_v<T, Float16>)
    return static_cast<T>(static_cast<float>(word >> 21) * 0x1p-11f);
  else
    return static_cast<T>(static_cast<float>(word >> 24) * 0x1p-8f);
}

/// Standard normal i by Box and Muller (1958) from uniforms 2i and 2i + 1, in float64 for float64 and float32
/// otherwise.
template <class T, class WordsAt> TALLY_HD T normal_at(const WordsAt& words, std::uint64_t start, std::int64_t i) {
  using C = Compute<T>;
  const C radius = uniform_at<C>(words, start, 2 * i), angle = uniform_at<C>(words, start, 2 * i + 1);
  return convert<T>(static_cast<C>(sqrt(C(-2) * math::log(C(1) - radius))) *
                    math::cos(C(6.283185307179586476925) * angle));
}

}  // namespace tally
