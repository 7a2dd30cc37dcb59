// Fill, copy and add in every dtype, layout and direction between devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/autograd/gtest.h>
#include <tally/core/raw.h>

#include "../support/devices.h"
#include "../support/layouts.h"

namespace tally {
namespace {

constexpr DType kDTypes[] = {float32, float64, float16, bfloat16, int64, int32, uint8, boolean};

class Raw : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Raw);

/// Small whole numbers, which every dtype but bool holds.
Tensor counting(const Shape& shape, DType dtype, Device device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) values.push_back(static_cast<double>(i % 120));
  return tensor(values, shape).to(dtype).to(device);
}

TEST_P(Raw, FillReachesEveryElementAndNoOther) {
  for (DType dtype : kDTypes) {
    for (std::int64_t count : {1, 2, 7, 16, 1023, 4097}) {
      const Tensor ground = zeros({count + 2}, on(dtype));
      raw::fill(Tensor(ground.storage(), 1, {count}, {1}, dtype), 1);
      std::vector<double> expected(static_cast<std::size_t>(count) + 2, 1);
      expected.front() = expected.back() = 0;
      EXPECT_EQ(ground.to_vector<double>(), expected) << name_of(dtype) << " " << count;
    }
  }
}

TEST_P(Raw, FillConvertsTheNumber) {
  EXPECT_EQ(full({1}, 0.1, on(float16)).item<double>(), 0.0999755859375);
  EXPECT_EQ(full({1}, (std::int64_t{1} << 62) + 1, on(int64)).item<std::int64_t>(), (std::int64_t{1} << 62) + 1);
  EXPECT_EQ(full({1}, -2.9, on(int32)).item<std::int64_t>(), -2);
  EXPECT_TRUE(full({1}, 7, on(boolean)).item<bool>());
}

TEST_P(Raw, CopyOfEveryPairInEveryLayout) {
  for (DType from : kDTypes)
    for (DType to : kDTypes) {
      const Tensor dense = counting({5, 4, 24}, from, device());
      const auto values = dense.to_vector<double>();
      for (const auto& [name, source] : test::layouts(dense))
        for (const auto& [other, target] : test::layouts(zeros({5, 4, 24}, on(to)))) {
          raw::copy(target, source);
          const auto result = target.to_vector<double>();
          for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(result[i], to == boolean ? values[i] != 0 : values[i])
                << name_of(from) << " " << name << " to " << name_of(to) << " " << other << " at " << i;
        }
    }
}

TEST_P(Raw, CopyRoundsOnceAndKeepsSpecialValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  // Between two float16: straight from double it rounds up, by way of float32 it would tie and round down.
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;
  const Tensor x = tensor(std::vector<double>{above_tie, 0x1p-24, -0.0, inf, -inf, 65520, nan}).to(device());
  const auto y = x.to(float16).to_vector<double>();
  EXPECT_EQ(y[0], 1 + 0x1p-10);
  EXPECT_EQ(y[1], 0x1p-24);
  EXPECT_TRUE(std::signbit(y[2]));
  EXPECT_EQ(y[3], inf);
  EXPECT_EQ(y[4], -inf);
  EXPECT_EQ(y[5], inf);
  EXPECT_TRUE(std::isnan(y[6]));
  EXPECT_TRUE(std::isnan(x.to(bfloat16).to_vector<double>()[6]));
  EXPECT_EQ(full({1}, 16777217, on(int64)).to(float32).item<double>(), 16777216);
  // 257 2^53 lies half way between two bfloat16; one more decides, and a double could not hold it.
  const std::int64_t tie = std::int64_t{257} << 53;
  EXPECT_EQ(full({1}, tie, on(int64)).to(bfloat16).item<double>(), 256 * 0x1p53) << "a tie goes to the even one";
  EXPECT_EQ(full({1}, tie + 1, on(int64)).to(bfloat16).item<double>(), 258 * 0x1p53);
  EXPECT_EQ(full({1}, -tie - 1, on(int64)).to(bfloat16).item<double>(), -258 * 0x1p53);
  EXPECT_EQ(full({1}, tie + 1, on(bfloat16)).item<double>(), 258 * 0x1p53) << "a number as well";
  EXPECT_EQ(full({1}, 300, on(int64)).to(uint8).item<double>(), 44);
  EXPECT_EQ(full({1}, -1.9, on(float32)).to(int32).item<double>(), -1);
  EXPECT_EQ(full({1}, 0x1p-149, on(float32)).to(float64).item<double>(), 0x1p-149);
  const std::int64_t big = (std::int64_t{1} << 62) + 12345;
  EXPECT_EQ(full({1}, big, on(int64)).clone().item<std::int64_t>(), big);
}

TEST_P(Raw, CopyBetweenDevices) {
  for (DType from : kDTypes)
    for (DType to : {float32, float16, int64}) {
      const Tensor here = counting({3, 50}, from, Device::cpu);
      const Tensor there = zeros({3, 50}, on(to));
      for (const auto& [name, source] : test::layouts(here))
        for (const auto& [other, target] : test::layouts(there)) {
          raw::copy(target, source);
          EXPECT_EQ(target.to_vector<double>(), here.to_vector<double>()) << name << " " << other;
          const Tensor back = zeros({3, 50}, {.dtype = from});
          raw::copy(back, target);
          EXPECT_EQ(back.to_vector<double>(), here.to_vector<double>()) << name << " " << other;
        }
    }
}

TEST_P(Raw, AddInEveryLayout) {
  for (DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8}) {
    const Tensor a = counting({4, 3, 8}, dtype, device()), b = full({4, 3, 8}, 3, on(dtype));
    const auto values = a.to_vector<double>();
    for (const auto& [name, x] : test::layouts(a))
      for (const auto& [other, y] : test::layouts(b)) {
        const Tensor target = zeros({4, 3, 8}, on(dtype));
        raw::add(target, x, y);
        const auto result = target.to_vector<double>();
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_EQ(result[i], values[i] + 3) << name_of(dtype) << " " << name << " " << other;
      }
  }
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Tensor target = zeros({1}, on(int64));
  raw::add(target, full({1}, most, on(int64)), ones({1}, on(int64)));
  EXPECT_EQ(target.item<std::int64_t>(), -most - 1);
}

TEST_P(Raw, AddInPlaceAndOfExpanded) {
  const Tensor x = counting({6}, float32, device());
  raw::add(x, x, x);
  EXPECT_THAT(x.to_vector<float>(), ::testing::ElementsAre(0, 2, 4, 6, 8, 10));
  const Tensor total = zeros({3, 6}, on());
  raw::add(total, test::repeated(x, 3), test::repeated(x, 3));
  EXPECT_EQ(total.to_vector<float>()[17], 20);
}

TEST_P(Raw, Empty) {
  const Tensor none = zeros({0, 4}, on());
  EXPECT_NO_THROW(raw::fill(none, 1));
  EXPECT_NO_THROW(raw::copy(none, none));
  EXPECT_NO_THROW(raw::add(none, none, none));
}

}  // namespace
}  // namespace tally
