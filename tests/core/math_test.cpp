#include <tally/core/math.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "math_cases.h"

namespace tally {
namespace {

template <class T> using Limits = std::numeric_limits<T>;

template <class T> constexpr T kInf = Limits<T>::infinity();
template <class T> constexpr T kNan = Limits<T>::quiet_NaN();

// The error in units in the last place of T at the true value. Infinity counts as the power of two after the largest
// number, so that a result on the wrong side of the overflow is off by what it is off.
template <class T> double ulps(T got, long double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
  const long double top = std::scalbn(1.0L, Limits<T>::max_exponent);
  const auto capped = [&](long double x) { return std::clamp(x, -top, top); };
  const int exponent =
      want == 0 ? Limits<T>::min_exponent : std::max(std::ilogb(capped(want)), Limits<T>::min_exponent - 1);
  const long double unit = std::scalbn(1.0L, std::min(exponent, Limits<T>::max_exponent - 1) - (Limits<T>::digits - 1));
  return static_cast<double>(std::fabs(capped(got) - capped(want)) / unit);
}

struct Function {
  const char* name;
  float (*in_float)(float);
  double (*in_double)(double);
  long double (*reference)(long double);
  double bound;                              // ulp
  double interesting_low, interesting_high;  // magnitudes where the formulas meet
};

// clang-format off
#define FUNCTION(name, reference, bound, low, high)                                        \
  {#name, [](float x) { return math::name(x); }, [](double x) { return math::name(x); },   \
   [](long double x) -> long double { return reference; }, bound, low, high}
// clang-format on

// The bounds are what the headers promise; the long double reference is good to 2^-10 of a double's last place.
const Function kFunctions[] = {
    FUNCTION(exp, std::exp(x), 1, 0.1, 746),
    FUNCTION(expm1, std::expm1(x), 1.3, 0.1, 50),
    FUNCTION(log, std::log(x), 1, 0.5, 2),
    FUNCTION(log1p, std::log1p(x), 1, 0.1, 3),
    FUNCTION(tanh, std::tanh(x), 1.4, 0.2, 20),
    FUNCTION(sigmoid, 1 / (1 + std::exp(-x)), 1.4, 0.01, 746),
    FUNCTION(softplus, x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)), 1.8, 0.01, 746),
    FUNCTION(erf, std::erf(x), 1.5, 0.5, 6),
    FUNCTION(sin, std::sin(x), 1, 0.5, 1e7),
    FUNCTION(cos, std::cos(x), 1, 0.5, 1e7),
    FUNCTION(rsqrt, 1 / std::sqrt(x), 1.5, 0.5, 4),
};
#undef FUNCTION

template <class T> struct Worst {
  double error = 0;
  T at = 0;
};

template <class T> Worst<T> worst_error(T (*function)(T), const Function& f, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Worst<T> worst;
  const auto low = math::to_bits(static_cast<T>(f.interesting_low));
  const auto span = math::to_bits(static_cast<T>(f.interesting_high)) - low;
  for (int i = 0; i < 120000; ++i) {
    // Two of three from all patterns, so from every exponent, the others from where the formulas meet.
    auto bits = static_cast<math::Bits<T>>(random());
    if (i % 3 == 0) bits = (bits & math::Masks<T>::kSign) | (low + static_cast<math::Bits<T>>(random() % span));
    const T x = math::bit_cast<T>(bits);
    const double error = ulps(function(x), f.reference(x));
    if (error > worst.error) worst = {error, x};
  }
  return worst;
}

TEST(Math, ErrorStaysBelowThePromise) {
  for (const Function& f : kFunctions) {
    const auto in_float = worst_error(f.in_float, f, 1);
    EXPECT_LE(in_float.error, f.bound) << f.name << " of the float " << std::hexfloat << in_float.at;
    const auto in_double = worst_error(f.in_double, f, 2);
    EXPECT_LE(in_double.error, f.bound) << f.name << " of the double " << std::hexfloat << in_double.at;
    RecordProperty(std::string(f.name) + "_float", std::to_string(in_float.error));
    RecordProperty(std::string(f.name) + "_double", std::to_string(in_double.error));
  }
}

template <class T> void expect_accurate_pow(double bound) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 60000; ++i) {
    T x = std::fabs(math::bit_cast<T>(static_cast<math::Bits<T>>(random())));
    if (i % 2) x = static_cast<T>(1 + std::ldexp(unit(random), -1 - static_cast<int>(random() % 20)));
    // An exponent that spreads the result over the whole range of T and a little beyond.
    const double range = Limits<T>::max_exponent == 128 ? 106 : 750;
    const T y = static_cast<T>(unit(random) * range / std::log(static_cast<double>(x)));
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    ASSERT_LE(ulps(math::pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))), bound)
        << std::hexfloat << x << " to the power " << y;
  }
}

TEST(Math, PowErrorStaysBelowThePromise) {
  expect_accurate_pow<float>(0.51);
  expect_accurate_pow<double>(1);
}

TEST(Math, PowOfIntegersIsExactWhereTheResultIs) {
  for (int base = 2; base <= 100; ++base) {
    std::int64_t power = 1;
    for (int n = 0; power <= std::int64_t{1} << 53; ++n, power *= base) {
      ASSERT_EQ(math::pow(static_cast<double>(base), static_cast<double>(n)), static_cast<double>(power));
      ASSERT_EQ(math::pow(-static_cast<double>(base), static_cast<double>(n)), std::pow(-1, n % 2) * power);
    }
  }
}

template <class T>::testing::AssertionResult same_value(T got, T want) {
  const bool same = std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
  if (same) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "got " << got << ", not " << want;
}

template <class T> class MathTest : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MathTest, Reals);

TYPED_TEST(MathTest, SpecialValues) {
  using T = TypeParam;
  constexpr T inf = kInf<T>, nan = kNan<T>, zero = 0, one = 1;
  struct Case {
    const char* name;
    T (*function)(T);
    T x, want;
  };
  const Case cases[] = {
      {"exp", math::exp<T>, inf, inf},
      {"exp", math::exp<T>, -inf, zero},
      {"exp", math::exp<T>, -zero, one},
      {"exp", math::exp<T>, Limits<T>::max(), inf},
      {"exp", math::exp<T>, Limits<T>::lowest(), zero},
      {"exp", math::exp<T>, nan, nan},
      {"expm1", math::expm1<T>, inf, inf},
      {"expm1", math::expm1<T>, -inf, -one},
      {"expm1", math::expm1<T>, zero, zero},
      {"expm1", math::expm1<T>, -zero, -zero},
      {"expm1", math::expm1<T>, -Limits<T>::denorm_min(), -Limits<T>::denorm_min()},
      {"expm1", math::expm1<T>, nan, nan},
      {"log", math::log<T>, zero, -inf},
      {"log", math::log<T>, -zero, -inf},
      {"log", math::log<T>, one, zero},
      {"log", math::log<T>, inf, inf},
      {"log", math::log<T>, -inf, nan},
      {"log", math::log<T>, -Limits<T>::denorm_min(), nan},
      {"log", math::log<T>, nan, nan},
      {"log1p", math::log1p<T>, -one, -inf},
      {"log1p", math::log1p<T>, zero, zero},
      {"log1p", math::log1p<T>, -zero, -zero},
      {"log1p", math::log1p<T>, Limits<T>::denorm_min(), Limits<T>::denorm_min()},
      {"log1p", math::log1p<T>, inf, inf},
      {"log1p", math::log1p<T>, -inf, nan},
      {"log1p", math::log1p<T>, -2, nan},
      {"log1p", math::log1p<T>, nan, nan},
      {"tanh", math::tanh<T>, inf, one},
      {"tanh", math::tanh<T>, -inf, -one},
      {"tanh", math::tanh<T>, -zero, -zero},
      {"tanh", math::tanh<T>, zero, zero},
      {"tanh", math::tanh<T>, -Limits<T>::denorm_min(), -Limits<T>::denorm_min()},
      {"tanh", math::tanh<T>, nan, nan},
      {"sigmoid", math::sigmoid<T>, inf, one},
      {"sigmoid", math::sigmoid<T>, -inf, zero},
      {"sigmoid", math::sigmoid<T>, -zero, T{0.5}},
      {"sigmoid", math::sigmoid<T>, nan, nan},
      {"softplus", math::softplus<T>, inf, inf},
      {"softplus", math::softplus<T>, -inf, zero},
      {"softplus", math::softplus<T>, Limits<T>::max(), Limits<T>::max()},
      {"softplus", math::softplus<T>, nan, nan},
      {"erf", math::erf<T>, inf, one},
      {"erf", math::erf<T>, -inf, -one},
      {"erf", math::erf<T>, -zero, -zero},
      {"erf", math::erf<T>, zero, zero},
      {"erf", math::erf<T>, nan, nan},
      {"sqrt", math::sqrt<T>, -zero, -zero},
      {"sqrt", math::sqrt<T>, 9, 3},
      {"sqrt", math::sqrt<T>, -one, nan},
      {"rsqrt", math::rsqrt<T>, T{0.25}, 2},
      {"rsqrt", math::rsqrt<T>, zero, inf},
      {"rsqrt", math::rsqrt<T>, inf, zero},
      {"rsqrt", math::rsqrt<T>, -one, nan},
      {"sin", math::sin, inf, nan},
      {"sin", math::sin, -inf, nan},
      {"sin", math::sin, nan, nan},
      {"sin", math::sin, zero, zero},
      {"sin", math::sin, -zero, -zero},
      {"cos", math::cos, inf, nan},
      {"cos", math::cos, -inf, nan},
      {"cos", math::cos, nan, nan},
      {"cos", math::cos, -zero, one},
  };
  for (const Case& c : cases) EXPECT_TRUE(same_value(c.function(c.x), c.want)) << c.name << " of " << c.x;
}

// C's library has the same special cases, all pairs of these included.
TYPED_TEST(MathTest, PowSpecialValues) {
  using T = TypeParam;
  const T largest_odd = std::ldexp(T{1}, Limits<T>::digits) - 1;
  const T values[] = {0,
                      1,
                      2,
                      0.5,
                      3,
                      4,
                      0.25,
                      2.5,
                      1.5,
                      largest_odd,
                      largest_odd + 1,
                      kInf<T>,
                      kNan<T>,
                      Limits<T>::max(),
                      Limits<T>::min(),
                      Limits<T>::denorm_min()};
  for (const T a : values) {
    for (const T b : values) {
      for (const T x : {a, -a}) {
        for (const T y : {b, -b}) {
          const T got = math::pow(x, y), want = std::pow(x, y);
          const bool plain = std::isfinite(want) && want != 0 && want != 1;
          const auto exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
          if (plain) {
            EXPECT_LE(ulps(got, exact), 1) << x << " to the power " << y;
          } else {
            EXPECT_TRUE(same_value(got, want)) << x << " to the power " << y;
          }
        }
      }
    }
  }
}

// The double closest to a multiple of pi/2, the largest, and others: a reduction that is short of
// digits has none left here. Values to 20 digits from an arbitrary-precision calculation.
TEST(Math, SinAndCosOfHardArguments) {
  EXPECT_LE(ulps(math::cos(6381956970095103.0 * 0x1p797), -4.6871659242546276111e-19L), 1);
  EXPECT_LE(ulps(math::sin(6381956970095103.0 * 0x1p797), 1.0L), 1);
  EXPECT_LE(ulps(math::sin(Limits<double>::max()), 0.0049619547891840617905L), 1);
  EXPECT_LE(ulps(math::cos(Limits<double>::max()), -0.99998768942655993746L), 1);
  EXPECT_LE(ulps(math::sin(1e22), -0.85220084976718880177L), 1);
  EXPECT_LE(ulps(math::sin(3.141592653589793), 1.2246467991473531772e-16L), 1);
}

TYPED_TEST(MathTest, ScaleRoundsOnce) {
  using T = TypeParam;
  std::mt19937_64 random(5);
  for (int i = 0; i < 200000; ++i) {
    const T x = math::bit_cast<T>(static_cast<math::Bits<T>>(random()));
    const int e = static_cast<int>(random() % 4600) - 2300;
    ASSERT_TRUE(same_value(math::scale(x, e), std::ldexp(x, e))) << std::hexfloat << x << " by " << e;
    // To the edge of the subnormal range, where two roundings would differ from one.
    const int near = Limits<T>::min_exponent - Limits<T>::digits / 2 - math::exponent(x);
    ASSERT_TRUE(same_value(math::scale(x, near), std::ldexp(x, near))) << std::hexfloat << x << " by " << near;
  }
  for (const int e : {Limits<int>::min(), -5000, 5000, Limits<int>::max()}) {
    for (const T x : {T{0}, T{-0.0}, T{1}, -Limits<T>::denorm_min(), Limits<T>::max(), kInf<T>, kNan<T>}) {
      EXPECT_TRUE(same_value(math::scale(x, e), std::ldexp(x, e))) << x << " by " << e;
    }
  }
}

TYPED_TEST(MathTest, ExponentIsFrexps) {
  using T = TypeParam;
  std::mt19937_64 random(6);
  const auto check = [](T x) {
    int want = 0;
    if (std::isfinite(x)) std::frexp(x, &want);
    ASSERT_EQ(math::exponent(x), want) << std::hexfloat << x;
  };
  for (int i = 0; i < 100000; ++i) {
    check(math::bit_cast<T>(static_cast<math::Bits<T>>(random())));
    check(static_cast<T>(random() % 1000) * Limits<T>::denorm_min());
  }
  for (const T x : {T{0}, T{-0.0}, Limits<T>::denorm_min(), Limits<T>::min(), Limits<T>::max(), kInf<T>, kNan<T>})
    check(x);
}

TYPED_TEST(MathTest, Classification) {
  using T = TypeParam;
  for (const T x : {T{0}, T{-0.0}, T{1}, T{-2.5}, Limits<T>::denorm_min(), -Limits<T>::max(), kInf<T>, -kInf<T>,
                    kNan<T>, -kNan<T>, Limits<T>::signaling_NaN()}) {
    EXPECT_EQ(math::isnan(x), std::isnan(x)) << x;
    EXPECT_EQ(math::isinf(x), std::isinf(x)) << x;
    EXPECT_EQ(math::isfinite(x), std::isfinite(x)) << x;
    EXPECT_EQ(math::signbit(x), std::signbit(x)) << x;
    EXPECT_TRUE(same_value(math::abs(x), std::fabs(x)));
    EXPECT_TRUE(same_value(math::copysign(T{3}, x), std::copysign(T{3}, x)));
  }
  EXPECT_FALSE(math::signbit(math::abs(-kNan<T>)));
}

TEST(Math, FusedInDoubleIsIeees) {
  std::mt19937_64 random(9);
  const auto any = [&] { return math::bit_cast<float>(static_cast<std::uint32_t>(random())); };
  for (int i = 0; i < 1'000'000; ++i) {
    // A third anything, the others where digits of the sum are lost: c near the product, and near half its last place.
    const float a = any(), b = any(), near = -a * b;
    const float c = i % 3 == 0 ? any() : i % 3 == 1 ? std::nextafter(near, any()) : std::ldexp(near, i % 60 - 30);
    const float fused = math::detail::fused_in_double(a, b, c);
    ASSERT_TRUE(same_value(fused, std::fma(a, b, c))) << std::hexfloat << a << " * " << b << " + " << c;
  }
}

template <class T, class F, std::size_t n>
void expect_bits(const char* name, F f, const math_cases::UnaryCase<T> (&cases)[n]) {
  static_assert(n >= 20);
  for (const auto& c : cases) {
    const T x = math::bit_cast<T>(c.x);
    EXPECT_TRUE(math_cases::same<T>(math::to_bits(f(x)), c.y)) << name << " of " << std::hexfloat << x;
  }
}

template <class T, std::size_t n> void expect_pow_bits(const math_cases::BinaryCase<T> (&cases)[n]) {
  static_assert(n >= 20);
  for (const auto& c : cases) {
    const T x = math::bit_cast<T>(c.x), y = math::bit_cast<T>(c.y);
    EXPECT_TRUE(math_cases::same<T>(math::to_bits(math::pow(x, y)), c.z)) << x << " to the power " << y;
  }
}

TEST(MathBits, AreTheContract) {
  math_cases::for_each_unary([](const char* name, auto f, const auto& in_float, const auto& in_double) {
    expect_bits(name, f, in_float);
    expect_bits(name, f, in_double);
  });
  expect_pow_bits(math_cases::kPowFloat);
  expect_pow_bits(math_cases::kPowDouble);
}

template <class T, class F> std::uint64_t checksum_of(F f) {
  std::vector<T> results(math_cases::kSweep);
  for (int i = 0; i < math_cases::kSweep; ++i) results[static_cast<std::size_t>(i)] = f(math_cases::sweep<T>(i));
  return math_cases::checksum(results.data());
}

TEST(MathBits, OfASweepAreTheContract) {
  math_cases::for_each_checksum([](const char* name, auto f, std::uint64_t in_float, std::uint64_t in_double) {
    EXPECT_EQ(checksum_of<float>(f), in_float) << name;
    EXPECT_EQ(checksum_of<double>(f), in_double) << name;
  });
}

// A vectorised loop computes what the scalar function does, also in its tail.
TYPED_TEST(MathTest, LoopsGiveTheSameBits) {
  using T = TypeParam;
  std::mt19937_64 random(8);
  std::vector<T> x(1003), e(x.size()), l(x.size()), t(x.size());
  for (T& value : x) value = static_cast<T>(std::ldexp(static_cast<double>(random() >> 11), -46) - 64);
  for (std::size_t i = 0; i < x.size(); ++i) e[i] = math::exp(x[i]);
  for (std::size_t i = 0; i < x.size(); ++i) l[i] = math::log(x[i]);
  for (std::size_t i = 0; i < x.size(); ++i) t[i] = math::tanh(x[i]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const volatile T alone = x[i];
    ASSERT_EQ(math::to_bits(e[i]), math::to_bits(math::exp<T>(alone)));
    ASSERT_TRUE(math_cases::same<T>(math::to_bits(l[i]), math::to_bits(math::log<T>(alone))));
    ASSERT_EQ(math::to_bits(t[i]), math::to_bits(math::tanh<T>(alone)));
  }
}

static_assert(math::exp(0.0) == 1 && math::exp(1.0f) == 0x1.5bf0a8p+1f && math::log(1.0f) == 0 &&
                  math::pow(2.0, 10.0) == 1024,
              "the functions work in constant expressions");

}  // namespace
}  // namespace tally
