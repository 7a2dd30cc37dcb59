// Operators: each is the function of binary.h, with numbers on either side and the line it stands on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>

namespace tally {
namespace {

using ::testing::ElementsAre;

const Tensor kA = tensor({1.0, 2.0, 3.0}), kB = tensor({3.0, 2.0, 8.0});

std::vector<float> list(const Tensor& x) { return x.to_vector<float>(); }
std::vector<bool> flags(const Tensor& x) { return x.to_vector<bool>(); }

TEST(Operators, Arithmetic) {
  EXPECT_THAT(list(kA + kB), ElementsAre(4, 4, 11));
  EXPECT_THAT(list(kA - kB), ElementsAre(-2, 0, -5));
  EXPECT_THAT(list(kA * kB), ElementsAre(3, 4, 24));
  EXPECT_THAT(list(kB / kA), ElementsAre(3, 1, 8.0f / 3));
  EXPECT_THAT(list(-kA), ElementsAre(-1, -2, -3));
}

TEST(Operators, NumbersOnEitherSide) {
  EXPECT_THAT(list(kA + 1), ElementsAre(2, 3, 4));
  EXPECT_THAT(list(1 + kA), ElementsAre(2, 3, 4));
  EXPECT_THAT(list(kA - 1.5), ElementsAre(-0.5, 0.5, 1.5));
  EXPECT_THAT(list(1.5 - kA), ElementsAre(0.5, -0.5, -1.5));
  EXPECT_THAT(list(2.0f * kA), ElementsAre(2, 4, 6));
  EXPECT_THAT(list(kA * std::int64_t{2}), ElementsAre(2, 4, 6));
  EXPECT_THAT(list(kA / 2), ElementsAre(0.5, 1, 1.5));
  EXPECT_THAT(list(6 / kA), ElementsAre(6, 3, 2));
}

TEST(Operators, Comparisons) {
  EXPECT_THAT(flags(kA == kB), ElementsAre(false, true, false));
  EXPECT_THAT(flags(kA != kB), ElementsAre(true, false, true));
  EXPECT_THAT(flags(kA < kB), ElementsAre(true, false, true));
  EXPECT_THAT(flags(kA <= kB), ElementsAre(true, true, true));
  EXPECT_THAT(flags(kA > kB), ElementsAre(false, false, false));
  EXPECT_THAT(flags(kA >= kB), ElementsAre(false, true, false));
  EXPECT_THAT(flags(kA == 2), ElementsAre(false, true, false));
  EXPECT_THAT(flags(2 == kA), ElementsAre(false, true, false));
  EXPECT_THAT(flags(2 != kA), ElementsAre(true, false, true));
  EXPECT_THAT(flags(2 < kA), ElementsAre(false, false, true));
  EXPECT_THAT(flags(2 <= kA), ElementsAre(false, true, true));
  EXPECT_THAT(flags(2 > kA), ElementsAre(true, false, false));
  EXPECT_THAT(flags(2 >= kA), ElementsAre(true, true, false));
}

TEST(Operators, Compose) {
  EXPECT_THAT([](const Tensor& x) { return std::vector{3 * x * x - 1 / (x + 5)}; },
              PassesGradCheck(tensor(std::vector<double>{0.5, -1.0, 2.0})));
}

template <class F> int line_of_error(F f) {
  try {
    f();
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.where().file, ::testing::EndsWith("operators_test.cpp"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("operators_test.cpp:" + std::to_string(error.where().line)));
    return error.where().line;
  }
  ADD_FAILURE() << "no error";
  return 0;
}

TEST(Operators, NameTheirLine) {
  const Tensor odd = ones({5});
  EXPECT_EQ(line_of_error([&] { kA + odd; }), __LINE__);
  EXPECT_EQ(line_of_error([&] { kA - odd; }), __LINE__);
  EXPECT_EQ(line_of_error([&] { kA* odd; }), __LINE__);
  EXPECT_EQ(line_of_error([&] { kA / odd; }), __LINE__);
  EXPECT_EQ(line_of_error([&] { (void)(kA == odd); }), __LINE__);
  EXPECT_EQ(line_of_error([&] { (void)(kA >= odd); }), __LINE__);
  try {
    const Tensor flag = ones({1}, {.dtype = boolean});
    true - flag;
    FAIL();
  } catch (const DTypeError& error) {
    EXPECT_EQ(error.where().line, __LINE__ - 3);
  }
  try {
    300 + ones({1}, {.dtype = uint8});
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.where().line, __LINE__ - 3);
  }
}

}  // namespace
}  // namespace tally
