// The matchers of autograd/gtest.h where the check itself throws: a failure on the test's line, negated or not.
#include <tally/autograd/gtest.h>

#include <gtest/gtest-spi.h>

#include <tally/ops/operators.h>

namespace tally {
namespace {

template <class F> std::string failures_of(F statement) {
  ::testing::TestPartResultArray found;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &found);
    statement();
  }
  std::string text;
  for (int i = 0; i < found.size(); ++i)
    text += std::string(found.GetTestPartResult(i).file_name()) + ": " + found.GetTestPartResult(i).message() + "\n";
  return text;
}

TEST(Matchers, SayOnTheTestsLineWhatTheCheckThrew) {
  const auto square = [](const Tensor& x) { return x * x; };
  const Tensor integers = tensor({1, 2}, {.dtype = int64});
  const std::string text = failures_of([&] { EXPECT_THAT(square, PassesGradCheck(integers)); });
  EXPECT_THAT(text, ::testing::HasSubstr("gtest_test.cpp: Value of: square"));
  EXPECT_THAT(text, ::testing::HasSubstr("no input is floating"));
  // What threw has not shown that the gradients are wrong.
  EXPECT_THAT(failures_of([&] { EXPECT_THAT(square, ::testing::Not(PassesGradCheck(integers))); }),
              ::testing::HasSubstr("no input is floating"));
  EXPECT_EQ(failures_of([&] { EXPECT_THAT(square, PassesGradCheck(randn({2}))); }), "");
}

}  // namespace
}  // namespace tally
