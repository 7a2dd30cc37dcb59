// Dtypes of the two-sided ops: what two of them make, what a C++ number becomes, and integers beyond their range.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/binary.h>

#include "../support/devices.h"

namespace tally {
namespace {

class Promotion : public test::OnDevice {
 protected:
  Tensor of(const std::vector<double>& values, DType dtype = float64) { return tensor(values).to(dtype).to(device()); }
};
TALLY_TEST_ON_DEVICES(Promotion);

TEST_P(Promotion, DtypesPromote) {
  const auto dtype = [&](DType a, DType b) { return add(ones({2}, on(a)), ones({2}, on(b))).dtype(); };
  EXPECT_EQ(dtype(float32, float64), float64);
  EXPECT_EQ(dtype(float16, bfloat16), float32);
  EXPECT_EQ(dtype(int64, float16), float16);
  EXPECT_EQ(dtype(uint8, int32), int32);
  EXPECT_EQ(dtype(boolean, boolean), boolean);
  EXPECT_EQ(add(of({1}, int32), of({0.5}, float64)).item<double>(), 1.5);
  EXPECT_EQ(div(of({3}, int64), of({2}, int64)).dtype(), float32);
  EXPECT_EQ(div(of({3}, int64), of({2}, int64)).item<double>(), 1.5);
}

TEST_P(Promotion, NumbersTakeTheTensorsDtype) {
  EXPECT_EQ(add(ones({2}, on(float16)), 0.5).dtype(), float16);
  EXPECT_EQ(add(ones({2}, on(int32)), 2).dtype(), int32);
  EXPECT_EQ(add(ones({2}, on(int32)), 0.5).dtype(), float32);
  EXPECT_EQ(add(ones({2}, on(boolean)), 1).dtype(), int64);
  EXPECT_EQ(mul(ones({2}, on(boolean)), true).dtype(), boolean);
  const std::int64_t big = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(add(zeros({1}, on(int64)), big).item<std::int64_t>(), big) << "no detour through double";
  // 0.1 is rounded to float16 first, as if it were a tensor.
  EXPECT_TRUE(eq(full({1}, 0.1, on(float16)), 0.1).item<bool>());
  EXPECT_THROW(add(ones({2}, on(uint8)), 300), ValueError);
  EXPECT_THROW(add(ones({2}, on(uint8)), -1), ValueError);
}

TEST_P(Promotion, IntegersWrap) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(add(full({1}, most, on(int64)), 1).item<std::int64_t>(), -most - 1);
  EXPECT_EQ(sub(full({1}, -most, on(int64)), 3).item<std::int64_t>(), most - 1);
  EXPECT_EQ(mul(full({1}, most, on(int64)), 2).item<std::int64_t>(), -2);
  EXPECT_EQ(add(full({1}, 200, on(uint8)), 100).item<std::int64_t>(), 44);
  EXPECT_EQ(mul(full({1}, 1 << 30, on(int32)), 4).item<std::int64_t>(), 0);
}

TEST_P(Promotion, MixedDtypesGiveEachSideItsGradient) {
  const Tensor a = ones({2, 3}, on(float32)), b = ones({3}, on(float64));
  a.requires_grad_();
  b.requires_grad_();
  mul(a, b).backward(ones({2, 3}, on(float64)));
  EXPECT_THAT(a.grad(), BitEqual(ones({2, 3})));
  EXPECT_THAT(b.grad(), BitEqual(full({3}, 2, {.dtype = float64})));
}

}  // namespace
}  // namespace tally
