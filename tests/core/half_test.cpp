#include <tally/core/half.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <random>

namespace tally {
namespace {

// What each format is, told independently of the code under test.
struct Binary16 {
  using Half = Float16;
  static constexpr int kMantissa = 10, kMinExponent = -14, kMaxExponent = 15;
};
struct Brain16 {
  using Half = BFloat16;
  static constexpr int kMantissa = 7, kMinExponent = -126, kMaxExponent = 127;
};

template <class F> double decode(std::uint16_t bits) {
  const int mantissa = bits & ((1 << F::kMantissa) - 1);
  const int biased = (bits & 0x7fff) >> F::kMantissa;
  const double sign = bits >> 15 ? -1.0 : 1.0;
  if (biased == F::kMaxExponent - F::kMinExponent + 2) {
    return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const int implicit = biased == 0 ? 0 : 1 << F::kMantissa;
  return sign * std::ldexp(mantissa + implicit, std::max(biased, 1) - 1 + F::kMinExponent - F::kMantissa);
}

// The nearest value of the format, ties to even: an integer number of quanta, rounded in long double, where x is exact.
template <class F> double nearest(long double x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return static_cast<double>(x);
  const int quantum = std::max(std::ilogb(x), F::kMinExponent) - F::kMantissa;
  const long double rounded = std::scalbn(std::nearbyint(std::scalbn(x, -quantum)), quantum);
  const long double limit = std::scalbn(1.0L, F::kMaxExponent + 1);
  if (std::fabs(rounded) >= limit) return std::copysign(std::numeric_limits<double>::infinity(), rounded);
  return static_cast<double>(rounded);
}

template <class F, class T>::testing::AssertionResult rounds_once(T x) {
  const double got = decode<F>(typename F::Half(x).bits), want = nearest<F>(x);
  const bool same = std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
  if (same) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hexfloat << +x << " gave " << got << ", nearest is " << want;
}

template <class F> class HalfTest : public ::testing::Test {};
using Formats = ::testing::Types<Binary16, Brain16>;
TYPED_TEST_SUITE(HalfTest, Formats);

TYPED_TEST(HalfTest, EveryPatternGoesToFloatAndBack) {
  using Half = typename TypeParam::Half;
  for (int pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const Half half = Half::from_bits(bits);
    const double value = decode<TypeParam>(bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(half))) << pattern;
      ASSERT_TRUE(std::isnan(static_cast<double>(half))) << pattern;
      ASSERT_TRUE(std::isnan(decode<TypeParam>(Half(static_cast<float>(half)).bits))) << pattern;
      ASSERT_TRUE(std::isnan(decode<TypeParam>(Half(static_cast<double>(half)).bits))) << pattern;
      ASSERT_FALSE(half == half) << pattern;
    } else {
      ASSERT_EQ(static_cast<float>(half), value) << pattern;
      ASSERT_EQ(static_cast<double>(half), value) << pattern;
      ASSERT_EQ(Half(static_cast<float>(half)).bits, bits);
      ASSERT_EQ(Half(static_cast<double>(half)).bits, bits);
      ASSERT_TRUE(half == half) << pattern;
    }
  }
}

// Between any two neighbours: the middle, the floats and doubles beside it, and a double only a double can tell apart.
TYPED_TEST(HalfTest, TiesGoToEvenAndTheirNeighboursDoNot) {
  const auto infinite = static_cast<std::uint16_t>(0x7fff & ~((1 << TypeParam::kMantissa) - 1));
  for (std::uint16_t bits = 0; bits < infinite; ++bits) {
    const double low = decode<TypeParam>(bits);
    const double high = bits + 1 == infinite ? std::ldexp(1.0, TypeParam::kMaxExponent + 1)
                                             : decode<TypeParam>(static_cast<std::uint16_t>(bits + 1));
    const double middle = low + (high - low) / 2;
    for (const double sign : {1.0, -1.0}) {
      const double x = sign * middle;
      ASSERT_TRUE((rounds_once<TypeParam>(x)));
      ASSERT_TRUE((rounds_once<TypeParam>(std::nextafter(x, 0.0))));
      ASSERT_TRUE((rounds_once<TypeParam>(std::nextafter(x, 2 * x))));
      const float f = static_cast<float>(x);
      ASSERT_TRUE((rounds_once<TypeParam>(f)));
      ASSERT_TRUE((rounds_once<TypeParam>(std::nextafter(f, 0.0f))));
      ASSERT_TRUE((rounds_once<TypeParam>(std::nextafter(f, 2 * f))));
    }
  }
}

TYPED_TEST(HalfTest, RandomPatternsRoundOnce) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300000; ++i) {
    const std::uint64_t word = random();
    ASSERT_TRUE((rounds_once<TypeParam>(math::bit_cast<float>(static_cast<std::uint32_t>(word)))));
    ASSERT_TRUE((rounds_once<TypeParam>(math::bit_cast<double>(word))));
    // Most doubles lie outside the format's range; these lie inside or just beside it.
    const int exponent = static_cast<int>(word % (2 * TypeParam::kMaxExponent + 30)) - TypeParam::kMaxExponent - 25;
    const double inside = std::ldexp(1.0 + static_cast<double>(word >> 12) * 0x1p-52, exponent);
    ASSERT_TRUE((rounds_once<TypeParam>(inside)));
    ASSERT_TRUE((rounds_once<TypeParam>(static_cast<float>(inside))));
  }
}

TYPED_TEST(HalfTest, NoNanBecomesAZeroOrAnInfinity) {
  using Half = typename TypeParam::Half;
  for (const std::uint32_t payload : {0x000001u, 0x000fffu, 0x3fffffu, 0x400000u, 0x7fffffu}) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const float f = math::bit_cast<float>(sign | 0x7f800000u | payload);
      EXPECT_TRUE(std::isnan(decode<TypeParam>(Half(f).bits))) << payload;
      const double d = math::bit_cast<double>((std::uint64_t{sign} << 32) | 0x7ff0000000000000u | payload);
      EXPECT_TRUE(std::isnan(decode<TypeParam>(Half(d).bits))) << payload;
    }
  }
}

TYPED_TEST(HalfTest, IntegersRoundOnceToo) {
  using Half = typename TypeParam::Half;
  std::mt19937_64 random(11);
  const auto check = [](auto i) {
    ASSERT_EQ(decode<TypeParam>(Half(i).bits), nearest<TypeParam>(static_cast<long double>(i))) << i;
  };
  for (const std::int64_t i :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{2049}, std::int64_t{65519}, std::int64_t{65520},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    check(i);
  }
  check(std::numeric_limits<std::uint64_t>::max());
  check(true);
  for (int shift = 0; shift < 63; ++shift) {
    // A tie, and one unit beside it, which a double would lose above 2^53.
    for (int i = 0; i < 200; ++i) {
      const auto tie = static_cast<std::int64_t>(((random() % 512) * 2 + 1) << shift >> 1);
      check(tie);
      check(tie + 1);
      check(-tie);
      check(-(tie - 1));
    }
  }
}

TYPED_TEST(HalfTest, GivesIntegersByTruncation) {
  using Half = typename TypeParam::Half;
  EXPECT_EQ(static_cast<std::int64_t>(Half(-2.75f)), -2);
  EXPECT_EQ(static_cast<int>(Half(96.0f)), 96);
  EXPECT_TRUE(static_cast<bool>(Half(0.5f)));
  EXPECT_FALSE(static_cast<bool>(Half(-0.0f)));
}

TYPED_TEST(HalfTest, ComparesByValue) {
  using Half = typename TypeParam::Half;
  EXPECT_TRUE(Half(0.0f) == Half(-0.0f));
  EXPECT_TRUE(Half(1.0f) != Half(1.5f));
}

TEST(Half, KnownPatterns) {
  EXPECT_EQ(Float16(1.0f).bits, 0x3c00);
  EXPECT_EQ(Float16(-2.0).bits, 0xc000);
  EXPECT_EQ(Float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Float16(65519.99f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(Float16(0x1p-25f).bits, 0x0000);
  EXPECT_EQ(Float16(-0x1p-26).bits, 0x8000);
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(3.4028234e38f).bits, 0x7f80);
  EXPECT_EQ(BFloat16(0x1p-133).bits, 0x0001);
  // 1 + 2^-11 + 2^-40: by way of a float this is a tie and would go down to 1.
  EXPECT_EQ(Float16(1 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(BFloat16(1 + 0x1p-8 + 0x1p-40).bits, 0x3f81);
}

template <class From, class To>
concept Implicit = std::convertible_to<From, To>;

TEST(Half, NothingIsImplicit) {
  EXPECT_FALSE((Implicit<float, Float16>));
  EXPECT_FALSE((Implicit<Float16, float>));
  EXPECT_FALSE((Implicit<Float16, BFloat16>));
  EXPECT_FALSE((Implicit<int, BFloat16>));
}

static_assert(static_cast<float>(Float16(0.1f)) != 0.1f, "conversions work in constant expressions");

}  // namespace
}  // namespace tally
