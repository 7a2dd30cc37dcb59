// The error bounds of ops/ORDER.md, against sums of twice the precision: on random, cancelling and adversarial lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <tally/ops/reduce.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/numbers.h>

namespace tally {
namespace {

/// A sum that keeps what each addition rounds away (Knuth's two-sum).
template <class R> class Exact {
 public:
  void add(R x) {
    const R sum = high_ + x, part = sum - high_;
    low_ += (high_ - (sum - part)) + (x - part);
    high_ = sum;
  }
  void add_square(double x) {
    const double square = x * x;
    add(square);
    add(std::fma(x, x, -square));
  }
  long double value() const { return static_cast<long double>(high_) + low_; }

 private:
  R high_ = 0, low_ = 0;
};

template <class T> constexpr long double kUnit = sizeof(T) == 4 ? 0x1p-24L : 0x1p-53L;

int log2_up(std::int64_t n) {
  int k = 0;
  while ((std::int64_t{1} << k) < n) ++k;
  return k;
}
/// The additions that one element can go through.
int depth(std::int64_t n) {
  if (n <= 128) return log2_up(n);
  return static_cast<int>((std::min<std::int64_t>(n, 1024) + 127) / 128) + 6 + log2_up((n + 1023) / 1024);
}

template <class T> using List = std::vector<T>;

/// Uniform in [-4, 4).
template <class T> List<T> uniform(std::int64_t n) {
  test::Bits bits(static_cast<std::uint64_t>(n));
  List<T> x(static_cast<std::size_t>(n));
  for (T& v : x) v = static_cast<T>(static_cast<double>(bits.next(24) - (1 << 23)) * 0x1p-21);
  return x;
}
/// Over forty powers of two, each with its opposite somewhere, but for a hair.
template <class T> List<T> cancelling(std::int64_t n) {
  test::Bits bits(static_cast<std::uint64_t>(n) + 1);
  List<T> x = uniform<T>(n);
  const std::size_t half = x.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    x[i] = static_cast<T>(std::ldexp(x[i], static_cast<int>(bits.next(5)) - 20));
    x[x.size() - 1 - (i * 7 + 3) % half] = -x[i];
  }
  return x;
}
/// 1 meets half of its unit in the last place at each addition that it goes through, and loses it (ties to even).
template <class T> List<T> adversarial(std::int64_t n) {
  List<T> x(static_cast<std::size_t>(n));
  const auto place = [&](std::int64_t i) {
    if (i < n) x[static_cast<std::size_t>(i)] = static_cast<T>(kUnit<T>);
  };
  x[0] = 1;
  for (std::int64_t lane = 1; lane < 128; lane *= 2) place(lane);
  for (std::int64_t in_lane = 128; in_lane < 1024; in_lane += 128) place(in_lane);
  for (std::int64_t tile = 1; tile < n; tile *= 2) place(tile * 1024);
  return x;
}
template <class T> List<T> shifted(List<T> x, double by, double first) {
  for (T& v : x) v = static_cast<T>(v + by);
  x[0] = static_cast<T>(first);
  return x;
}

template <class T> Tensor on_device(const List<T>& x, Device device) {
  return tensor(x, {static_cast<std::int64_t>(x.size())}, device);
}

template <class T> void check_sum(const List<T>& x, Device device, const char* what) {
  Exact<double> exact, magnitudes;
  for (const T v : x) exact.add(v), magnitudes.add(std::abs(v));
  const auto n = static_cast<std::int64_t>(x.size());
  const Tensor y = sum(on_device(x, device));
  const long double error = std::abs(y.item<double>() - exact.value()), ku = depth(n) * kUnit<T>;
  EXPECT_LE(error, ku * (1 + ku) * magnitudes.value()) << what << " " << n;
}

template <class T> void check_norm(const List<T>& x, Device device, const char* what) {
  Exact<double> squares;
  for (const T v : x) squares.add_square(v);
  const auto n = static_cast<std::int64_t>(x.size());
  const long double exact = std::sqrt(squares.value()), bound = ((depth(n) + 1) / 2.0L + 1) * kUnit<T>;
  // As if the exponent had no bounds.
  for (const int scale : {0, sizeof(T) == 4 ? 100 : 900, sizeof(T) == 4 ? -80 : -900}) {
    List<T> scaled = x;
    for (T& v : scaled) v = std::ldexp(v, scale);
    const Tensor y = norm(on_device(scaled, device));
    const long double result = std::ldexp(static_cast<long double>(y.item<double>()), -scale);
    EXPECT_LE(std::abs(result - exact), bound * (1 + bound) * exact) << what << " " << n << " times 2^" << scale;
    if (n > 100'000) break;
  }
}

template <class T> void check_var(const List<T>& x, Device device, const char* what) {
  Exact<double> total;
  for (const T v : x) total.add(v);
  const auto n = static_cast<std::int64_t>(x.size());
  const long double mean = total.value() / static_cast<long double>(n);
  Exact<long double> squares, from_first;
  for (const T v : x) {
    const long double d = v - mean, f = static_cast<long double>(v) - x[0];
    squares.add(d * d);
    from_first.add(f * f);
  }
  const long double exact = squares.value() / static_cast<long double>(n);
  const long double kappa = std::sqrt(from_first.value() / squares.value()), l = log2_up((n + 1023) / 1024);
  const long double bound = (20 + 4 * l + (2 + std::sqrt(l) * (16 + 4 * l)) * kappa) * kUnit<T>;
  const Tensor y = var(on_device(x, device));
  EXPECT_LE(std::abs(y.item<double>() - exact), bound * (1 + bound) * exact)
      << what << " " << n << ", kappa " << static_cast<double>(kappa);
}

template <class T> void check_all(std::int64_t n, Device device) {
  const List<T> random = uniform<T>(n), hard = cancelling<T>(n), worst = adversarial<T>(n);
  check_sum(random, device, "random");
  check_sum(hard, device, "cancelling");
  check_sum(worst, device, "adversarial");
  check_norm(random, device, "random");
  check_norm(hard, device, "cancelling");
  check_norm(worst, device, "adversarial");
  check_var(random, device, "random");
  check_var(hard, device, "cancelling");
  check_var(shifted(random, 1000, 1003), device, "far from 0");
  check_var(shifted(random, 0, 1000), device, "first far from the rest");
}

class ErrorBound : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(ErrorBound);

TEST_P(ErrorBound, HoldsForEveryKindOfList) {
  for (const std::int64_t n : {2, 3, 7, 100, 128, 129, 1000, 1024, 1025, 4096, 16'389}) {
    check_all<float>(n, device());
    check_all<double>(n, device());
  }
}

TEST_P(ErrorBound, OfSumIsAttained) {
  for (const std::int64_t n : {128, 1024, 2048, 8192, 16'384})
    for (const bool wide : {false, true}) {
      const auto check = [&](const auto& list) {
        EXPECT_EQ(std::count(list.begin(), list.end(), 0), n - 1 - depth(n));  // the exact sum is 1 + k·u
        const Tensor y = sum(on_device(list, device()));
        EXPECT_EQ(y.item<double>(), 1);
      };
      wide ? check(adversarial<double>(n)) : check(adversarial<float>(n));
    }
}

// The emulated device would take its time over these; what it computes has the CPU's bits.
TEST(ErrorBoundOfLongLists, HoldsToo) {
  check_all<float>((1 << 17) + 77, cpu);
  check_all<double>((1 << 17) + 77, cpu);
  check_all<float>(1 << 20, cpu);
  check_sum(cancelling<float>(1 << 24), cpu, "cancelling");
  check_sum(adversarial<float>(1 << 24), cpu, "adversarial");
  check_norm(uniform<float>(1 << 24), cpu, "random");
  check_var(shifted(uniform<float>(1 << 24), 1000, 1003), cpu, "far from 0");
}

TEST(ErrorBoundOfLongLists, OfTwoToThe28) {
  if (!std::getenv("TALLY_LARGE_TESTS")) GTEST_SKIP() << "large: set TALLY_LARGE_TESTS";
  const std::int64_t n = 1 << 28;
  for (const Device device : {cpu, Device::cuda}) {
    if (!is_available(device)) continue;
    check_sum(cancelling<float>(n), device, "cancelling");
    check_sum(adversarial<float>(n), device, "adversarial");
    check_norm(uniform<float>(n), device, "random");
    check_var(shifted(uniform<float>(n), 1000, 1003), device, "far from 0");
  }
}

}  // namespace
}  // namespace tally
