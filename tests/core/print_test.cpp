#include <tally/core/print.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tally {
namespace {

TEST(Print, Rows) {
  EXPECT_EQ(to_string(tensor({{1, 0.5}, {-2, 1.0 / 3}})),
            "[[       1,      0.5],\n"
            " [      -2, 0.333333]]\n"
            "float32 [2, 2] on cpu");
}

TEST(Print, ShortOnesInALine) {
  EXPECT_EQ(to_string(tensor({1.0, 20.0})), "[ 1, 20] float32 [2] on cpu");
  EXPECT_EQ(to_string(full({}, 3, {.dtype = int64})), "3 int64 [] on cpu");
  EXPECT_EQ(to_string(zeros({0})), "[] float32 [0] on cpu");
  EXPECT_EQ(to_string(zeros({2, 0})), "[] float32 [2, 0] on cpu");
  EXPECT_EQ(to_string(Tensor()), "an undefined tensor");
}

TEST(Print, BlocksStandApart) {
  EXPECT_EQ(to_string(arange(0, 8, 1, {.dtype = int32}).detach()), "[0, 1, 2, 3, 4, 5, 6, 7] int32 [8] on cpu");
  const Tensor cube(arange(8).storage(), 0, {2, 2, 2}, {4, 2, 1}, int64);
  EXPECT_EQ(to_string(cube),
            "[[[0, 1],\n"
            "  [2, 3]],\n"
            "\n"
            " [[4, 5],\n"
            "  [6, 7]]]\n"
            "int64 [2, 2, 2] on cpu");
}

TEST(Print, EveryKindOfNumber) {
  EXPECT_EQ(to_string(tensor({0, 1}, {.dtype = boolean})), "[false,  true] bool [2] on cpu");
  EXPECT_EQ(to_string(tensor(std::vector<std::int64_t>{INT64_MIN, INT64_MAX})),
            "[-9223372036854775808,  9223372036854775807] int64 [2] on cpu");
  EXPECT_EQ(to_string(tensor({NAN, -INFINITY, -0.0, 1e-8})), "[  nan,  -inf,    -0, 1e-08] float32 [4] on cpu");
  EXPECT_EQ(to_string(tensor({1.0 / 3}, {.dtype = float16})), "[0.3333] float16 [1] on cpu");
  EXPECT_EQ(to_string(tensor(std::vector<double>{1.0 / 3})), "[0.333333] float64 [1] on cpu");
}

TEST(Print, WhatBackwardReaches) {
  const Tensor x = ones({1}, {.requires_grad = true});
  EXPECT_EQ(to_string(x), "[1] float32 [1] on cpu, requires grad");
  EXPECT_EQ(to_string(x.clone()), "[1] float32 [1] on cpu, with history");
}

TEST(Print, LargeOnesAreCut) {
  EXPECT_EQ(to_string(arange(1001)), "[   0,    1,    2, ...,  998,  999, 1000] int64 [1001] on cpu");
  const Tensor x(arange(5000).storage(), 0, {2, 2500}, {2500, 1}, int64);
  EXPECT_EQ(to_string(x),
            "[[   0,    1,    2, ..., 2497, 2498, 2499],\n"
            " [2500, 2501, 2502, ..., 4997, 4998, 4999]]\n"
            "int64 [2, 2500] on cpu");
  EXPECT_EQ(to_string(Tensor(arange(5000).storage(), 0, {2500, 2}, {2, 1}, int64)),
            "[[   0,    1],\n"
            " [   2,    3],\n"
            " [   4,    5],\n"
            " ...,\n"
            " [4994, 4995],\n"
            " [4996, 4997],\n"
            " [4998, 4999]]\n"
            "int64 [2500, 2] on cpu");
  // A stride of 0 reads one element 10^15 times; only the edges are looked at.
  const Tensor repeated(full({}, 7).storage(), 0, {1000000000, 1000000}, {0, 0}, float32);
  EXPECT_EQ(to_string(repeated).substr(0, 24), "[[7, 7, 7, ..., 7, 7, 7]");
}

TEST(Print, LongRowsWrap) {
  const std::string text = to_string(arange(200));
  std::istringstream lines(text);
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size(), 100u + 1) << line;
    const bool last = line[0] == 'i';
    EXPECT_EQ(line[0], ++count == 1 ? '[' : last ? 'i' : ' ') << line;
  }
  EXPECT_GT(count, 5);
  EXPECT_EQ(std::count(text.begin(), text.end(), ','), 199);
}

TEST(Print, DeviceTensors) {
  if (!is_available(Device::cuda)) GTEST_SKIP() << "no CUDA device";
  EXPECT_EQ(to_string(ones({2}, {.device = Device::cuda})), "[1, 1] float32 [2] on cuda");
  EXPECT_EQ(to_string(arange(1001).to(Device::cuda)).substr(0, 20), "[   0,    1,    2, .");
}

TEST(Print, StreamsAndFailureMessages) {
  std::ostringstream out;
  out << float16 << ' ' << Device::cuda << ' ' << Shape{2, 3} << ' ' << tensor({1.0});
  EXPECT_EQ(out.str(), "float16 cuda [2, 3] [1] float32 [1] on cpu");
  EXPECT_EQ(::testing::PrintToString(tensor({1.0})), "[1] float32 [1] on cpu");
  EXPECT_EQ(::testing::PrintToString(Shape{2}), "[2]");
}

}  // namespace
}  // namespace tally
