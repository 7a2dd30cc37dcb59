// Random numbers that depend on the seed and the place in the stream alone, equal on CPU and CUDA.
//
// Element i of a draw is word i mod 4 of Philox4x32-10 at counter `offset + i / 4` with key `seed`
// (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers, As Easy as 1, 2, 3; SC 2011), which is what
// curand_init(seed, 0, 4 * offset) gives. A draw of n elements moves the offset on by ceil(n / 4).
// Uniforms: (word >> 8) * 2^-24 for float32, 53 bits of two words for float64, both in [0, 1).
#pragma once

#include <cstdint>

#include <tally/core/hd.h>
#include <tally/core/tensor.h>

namespace tally {

/// One counter's worth of random bits.
struct Words4 {
  std::uint32_t word[4];
};

/// Ten rounds of Philox4x32.
TALLY_HD inline Words4 philox(std::uint64_t seed, std::uint64_t counter) {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter), c1 = static_cast<std::uint32_t>(counter >> 32), c2 = 0,
                c3 = 0;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0, p1 = std::uint64_t{0xCD9E8D57u} * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// In [0, 1): the upper 24 bits of a word, or the upper 53 of two.
TALLY_HD inline float uniform_of(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
TALLY_HD inline double uniform_of(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((static_cast<std::uint64_t>(high) << 32 | low) >> 11) * 0x1p-53;
}

/// A place in a stream of random numbers. Copyable, so a checkpoint keeps it as two numbers.
class Generator {
 public:
  /// At the start of the stream of `seed`.
  explicit Generator(std::uint64_t seed = 0) : seed_(seed) {}
  /// The stream, and the counter in it that the next draw starts at.
  std::uint64_t seed() const { return seed_; }
  std::uint64_t offset() const { return offset_; }
  void set_offset(std::uint64_t offset) { offset_ = offset; }
  /// Takes `words` words: the counter they start at.
  std::uint64_t take(std::int64_t words) {
    const std::uint64_t start = offset_;
    offset_ += static_cast<std::uint64_t>((words + 3) / 4);
    return start;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t offset_ = 0;
};

/// The generator the factories draw from where none is given: each thread has its own, seeded with 0, so what a thread
/// draws does not depend on the others.
Generator& default_generator();
/// Starts this thread's default generator anew.
void manual_seed(std::uint64_t seed);

/// Fills `target` with uniforms in [0, 1), or with standard normals (Box, Muller: A Note on the Generation of Random
/// Normal Deviates, 1958; two uniforms each). DTypeError unless it is floating.
void fill_uniform(const Tensor& target, Generator& generator);
void fill_normal(const Tensor& target, Generator& generator);
/// A permutation of 0..n-1, made on the host (Fisher-Yates, one 64-bit draw a step).
std::vector<std::int64_t> permutation(std::int64_t n, Generator& generator);

}  // namespace tally
