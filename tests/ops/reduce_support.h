// What the tests of reductions share: tensors to reduce, and how far a result may lie from the plain loop's.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include <tally/core/random.h>
#include <tally/ops/operators.h>

#include <tally/tests/ops/reduce_cases.h>
#include <tally/tests/support/devices.h>

namespace tally::test {

/// Instantiated in reduce_test.cpp; its tests lie in several files.
class Reduce : public OnDevice {};

inline double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-53;
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

inline double smallest(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-1074;
    case DType::float16:
      return 0x1p-24;
    case DType::bfloat16:
      return 0x1p-133;
    default:
      return 0x1p-149;
  }
}

// Draws as a test sees fit: floats without ties (where the dtype has room), small integers with zeros.
inline Tensor draw(const Shape& shape, DType dtype, Device device, std::uint64_t seed) {
  Generator generator(seed);
  Tensor x = empty(shape, {.dtype = float64});
  fill_normal(x, generator);
  if (!is_floating(dtype)) x = x * 2;
  if (dtype == boolean) x = x.to(int64);
  return x.to(dtype).to(device);
}

inline void expect_value(const ReduceCase& op, DType dtype, const reference::List& list, double actual,
                         const std::string& where) {
  const double expected = op.value(list);
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << op.name << where << ": " << actual;
    return;
  }
  if (op.exact || !is_floating(dtype)) {
    EXPECT_EQ(actual, expected) << op.name << where;
    return;
  }
  // Halves are computed in float32 and rounded once more; any result may land among its dtype's subnormals.
  const bool half = size_of(dtype) == 2;
  const double inner = half ? unit_roundoff(float32) : unit_roundoff(dtype);
  const double tolerance =
      24 * inner * op.spread(list) + (half ? 1.01 * unit_roundoff(dtype) * std::abs(expected) : 0) + smallest(dtype);
  if (std::isinf(expected))
    EXPECT_EQ(actual, expected) << op.name << where;
  else
    EXPECT_NEAR(actual, expected, tolerance) << op.name << where << " of " << list.size() << " " << name_of(dtype);
}

}  // namespace tally::test
