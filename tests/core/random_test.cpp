// The random stream: Philox's published answers, which words a draw takes, its distribution, equal on both devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/random.h>

#include "../support/devices.h"
#include "../support/layouts.h"

namespace tally {
namespace {

/// Philox4x32-10 as the paper's figure has it, with the products taken apart by hand.
Words4 slow_philox(std::uint64_t seed, std::uint64_t counter) {
  std::uint32_t c[4] = {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
  for (std::uint32_t round = 0; round < 10; ++round) {
    const std::uint32_t k0 = static_cast<std::uint32_t>(seed) + round * 0x9E3779B9u;
    const std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32) + round * 0xBB67AE85u;
    const unsigned __int128 p = static_cast<unsigned __int128>(0xD2511F53u) * c[0];
    const unsigned __int128 q = static_cast<unsigned __int128>(0xCD9E8D57u) * c[2];
    const std::uint32_t next[4] = {static_cast<std::uint32_t>(q >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(q),
                                   static_cast<std::uint32_t>(p >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p)};
    std::copy(next, next + 4, c);
  }
  return {{c[0], c[1], c[2], c[3]}};
}

class Random : public test::OnDevice {
 protected:
  Tensor uniforms(const Shape& shape, DType dtype, std::uint64_t seed, std::uint64_t offset = 0) {
    Generator generator(seed);
    generator.set_offset(offset);
    Tensor x = empty(shape, on(dtype));
    fill_uniform(x, generator);
    return x;
  }
  Tensor normals(const Shape& shape, DType dtype, std::uint64_t seed) {
    Generator generator(seed);
    Tensor x = empty(shape, on(dtype));
    fill_normal(x, generator);
    return x;
  }
};
TALLY_TEST_ON_DEVICES(Random);

TEST(Philox, PublishedAnswer) {
  // Random123's known answer for counter 0 and key 0.
  const Words4 words = philox(0, 0);
  EXPECT_THAT(words.word, ::testing::ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
}

TEST(Philox, IsTheSlowOne) {
  for (std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{0x123456789abcdef0}})
    for (std::uint64_t counter : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}, std::uint64_t{1} << 32}) {
      const Words4 fast = philox(seed, counter), slow = slow_philox(seed, counter);
      EXPECT_TRUE(std::equal(fast.word, fast.word + 4, slow.word));
    }
}

TEST_P(Random, UniformsAreTheWordsInOrder) {
  const std::uint64_t seed = 0x9e3779b97f4a7c15, offset = (std::uint64_t{1} << 32) - 3;
  const auto single = uniforms({30}, float32, seed, offset).to_vector<float>();
  const auto half = uniforms({30}, float16, seed, offset).to_vector<float>();
  const auto brain = uniforms({30}, bfloat16, seed, offset).to_vector<float>();
  for (std::uint64_t i = 0; i < 30; ++i) {
    const std::uint32_t word = slow_philox(seed, offset + i / 4).word[i % 4];
    EXPECT_EQ(single[i], std::ldexp(static_cast<float>(word >> 8), -24));
    EXPECT_EQ(half[i], std::ldexp(static_cast<float>(word >> 21), -11));
    EXPECT_EQ(brain[i], std::ldexp(static_cast<float>(word >> 24), -8));
  }
  const auto wide = uniforms({9}, float64, seed, offset).to_vector<double>();
  for (std::uint64_t i = 0; i < 9; ++i) {
    const Words4 words = slow_philox(seed, offset + i / 2);
    const std::uint64_t bits = static_cast<std::uint64_t>(words.word[i % 2 * 2]) << 32 | words.word[i % 2 * 2 + 1];
    EXPECT_EQ(wide[i], std::ldexp(static_cast<double>(bits >> 11), -53));
  }
}

TEST_P(Random, NormalsAreBoxAndMullers) {
  const auto wide = normals({50}, float64, 5).to_vector<double>();
  const auto single = normals({50}, float32, 5).to_vector<float>();
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Words4 words = slow_philox(5, i);
    const auto real = [&](int k) {
      const std::uint64_t bits = static_cast<std::uint64_t>(words.word[k]) << 32 | words.word[k + 1];
      return std::ldexp(static_cast<double>(bits >> 11), -53);
    };
    EXPECT_NEAR(wide[i], std::sqrt(-2 * std::log1p(-real(0))) * std::cos(2 * M_PI * real(2)), 1e-13);
    const Words4 pair = slow_philox(5, i / 2);
    const std::uint64_t k = i % 2 * 2;
    const double radius = std::ldexp(pair.word[k] >> 8, -24), angle = std::ldexp(pair.word[k + 1] >> 8, -24);
    EXPECT_NEAR(single[i], std::sqrt(-2 * std::log1p(-radius)) * std::cos(2 * M_PI * angle), 2e-6);
  }
}

TEST_P(Random, DrawsMoveTheStreamByWholeCounters) {
  Generator generator(3);
  Tensor first = empty({5}, on()), second = empty({3}, on());
  fill_uniform(first, generator);
  EXPECT_EQ(generator.offset(), 2u);
  fill_uniform(second, generator);
  EXPECT_EQ(generator.offset(), 3u);
  EXPECT_THAT(second, BitEqual(uniforms({3}, float32, 3, 2)));
  fill_normal(empty({5}, on(float64)), generator);
  EXPECT_EQ(generator.offset(), 8u);
}

TEST_P(Random, ViewsTakeTheSameDraws) {
  const Tensor dense = uniforms({4, 6}, float32, 11);
  for (const auto& [name, view] : test::layouts(zeros({4, 6}, on()))) {
    Generator generator(11);
    fill_uniform(view, generator);
    EXPECT_THAT(view, BitEqual(dense)) << name;
    EXPECT_EQ(generator.offset(), 6u);
  }
}

TEST_P(Random, Distribution) {
  constexpr int n = 40000;
  for (DType dtype : {float32, float64, float16, bfloat16}) {
    double sum = 0, squares = 0, least = 1, most = 0;
    for (double x : uniforms({n}, dtype, 1).to_vector<double>()) {
      sum += x;
      squares += x * x;
      least = std::min(least, x);
      most = std::max(most, x);
    }
    EXPECT_GE(least, 0);
    EXPECT_LT(most, 1) << "1 is not in the range, in the two-byte types either";
    // Five standard errors; bfloat16's steps of 2^-8 shift the mean by half of one.
    EXPECT_NEAR(sum / n, dtype == bfloat16 ? 0.5 - 0x1p-9 : 0.5, 5 * 0.2887 / std::sqrt(n));
    EXPECT_NEAR(squares / n, 1.0 / 3, 0.01);
  }
  for (DType dtype : {float32, float64, float16}) {
    double sum = 0, squares = 0, fourth = 0, tail = 0;
    for (double x : normals({n}, dtype, 2).to_vector<double>()) {
      ASSERT_TRUE(std::isfinite(x));
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
      tail += std::abs(x) > 2;
    }
    EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
    EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2.0 / n));
    EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96.0 / n));
    EXPECT_NEAR(tail / n, 0.0455, 5 * std::sqrt(0.0455 / n));
  }
}

TEST_P(Random, SameBitsOnBothDevices) {
  if (device() == Device::cpu) GTEST_SKIP() << "compared in the CUDA case";
  for (DType dtype : {float32, float64, float16, bfloat16})
    for (std::int64_t n : {1, 5, 1023, 20001}) {
      Generator a(99), b(99);
      a.set_offset(0xfffffff0);
      b.set_offset(0xfffffff0);
      Tensor here = empty({n}, {.dtype = dtype}), there = empty({n}, on(dtype));
      fill_uniform(here, a);
      fill_uniform(there, b);
      EXPECT_THAT(there, BitEqual(here)) << name_of(dtype) << " " << n;
      fill_normal(here, a);
      fill_normal(there, b);
      EXPECT_THAT(there, BitEqual(here)) << name_of(dtype) << " " << n;
    }
}

TEST_P(Random, SeedsAndFactories) {
  manual_seed(42);
  const Tensor first = rand({10}, on()), second = rand({10}, on());
  manual_seed(42);
  EXPECT_THAT(rand({10}, on()), BitEqual(first));
  EXPECT_THAT(second, ::testing::Not(BitEqual(first)));
  EXPECT_THAT(uniforms({10}, float32, 1), ::testing::Not(BitEqual(uniforms({10}, float32, 2))));
  EXPECT_NO_THROW(uniforms({0}, float32, 1));
  Generator generator(1);
  EXPECT_THROW(fill_uniform(empty({3}, on(int64)), generator), DTypeError);
}

TEST(Permutation, HoldsEachOnceAndVaries) {
  Generator generator(4);
  auto order = permutation(1000, generator);
  const auto other = permutation(1000, generator);
  EXPECT_NE(order, other);
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace tally
