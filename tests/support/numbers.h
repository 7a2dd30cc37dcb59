// Numbers to compute with that come from integer arithmetic alone and are exact in their dtype: the same on every
// machine, whatever the library does.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/core/tensor.h>

namespace tally::test {

enum class Range {
  both_signs,  // [-4, 4); integers -3 to 3 (unsigned 0 to 6)
  around_one,  // [7/8, 9/8), whose products stay in range; integers 0 to 6
};

/// The top bits of a linear congruence (Knuth's multiplier).
class Bits {
 public:
  explicit Bits(std::uint64_t seed) : state_(seed) {}
  std::int64_t next(int count) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>(state_ >> (64 - count));
  }

 private:
  std::uint64_t state_;
};

/// Bits of the significand.
constexpr int precision_of(DType dtype) {
  return dtype == float64 ? 53 : dtype == float32 ? 24 : dtype == float16 ? 11 : 8;
}

inline Tensor numbers(const Shape& shape, DType dtype, Range range, std::uint64_t seed = 1) {
  Bits bits(seed);
  const auto power = [](int e) {
    double p = 1;
    for (; e > 0; --e) p *= 2;
    for (; e < 0; ++e) p /= 2;
    return p;
  };
  const int p = precision_of(dtype);
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    if (!is_floating(dtype)) {
      const std::int64_t value = bits.next(31) % 7;
      values.push_back(static_cast<double>(range == Range::both_signs && dtype != uint8 ? value - 3 : value));
    } else if (range == Range::both_signs) {
      values.push_back(static_cast<double>(bits.next(p) - (std::int64_t{1} << (p - 1))) * power(3 - p));
    } else {
      values.push_back(1 + static_cast<double>(bits.next(p - 3) - (std::int64_t{1} << (p - 4))) * power(1 - p));
    }
  }
  return tensor(values, shape).to(dtype);
}

}  // namespace tally::test
