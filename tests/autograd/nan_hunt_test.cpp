// The first op that makes a NaN is named, in forward and in backward.
#include <tally/autograd/nan_hunt.h>

#include <thread>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>

#include <tally/tests/support/devices.h>

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NanHunting : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(NanHunting);

template <class F> ValueError caught(F&& f) {
  try {
    f();
  } catch (const ValueError& error) {
    return error;
  }
  return ValueError("none", "nothing was thrown", {});
}

TEST_P(NanHunting, NamesTheFirstOpOfForward) {
  for (const bool requires_grad : {false, true}) {
    const Tensor x = tensor({{3.0, 2.0}, {0.5, 1.0}}, {.device = device(), .requires_grad = requires_grad});
    NanHunt hunt;
    int line = 0;
    const ValueError error = caught([&] {
      const Tensor shifted = x - 1;
      line = __LINE__ + 1;
      const Tensor logs = log(shifted);
      sum(exp(logs));
    });
    EXPECT_EQ(error.op(), "log");
    EXPECT_EQ(error.where().line, line);
    const std::string kind = std::string("float32 [2, 2] on ") + name_of(device());
    EXPECT_STREQ(error.what(),
                 ("log: made a NaN at [1, 0] of its result, " + kind + "; no input has one\n    input 0: " + kind +
                  "\n  at " + __FILE__ + ":" + std::to_string(line))
                     .c_str());
  }
}

TEST_P(NanHunting, NamesTheFirstOpOfBackward) {
  // sqrt at 0 has an infinite slope; times the gradient 0 that is NaN, made in sqrt's backward.
  const Tensor x = tensor({4.0, 0.0}, {.device = device(), .requires_grad = true});
  NanHunt hunt;
  const int line = __LINE__ + 1;
  const Tensor roots = sqrt(x);
  const Tensor y = sum(exp(roots * 0) * tensor({1.0, 1.0}, on()));
  const ValueError error = caught([&] { y.backward(); });
  EXPECT_EQ(error.op(), "sqrt");
  EXPECT_EQ(error.where().line, line);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("backward made a NaN at [1] of the gradient of input 0")));
  EXPECT_FALSE(x.grad().defined());
}

TEST_P(NanHunting, NamesAUsersClosureAsAWhole) {
  const Tensor x = ones({2}, {.device = device(), .requires_grad = true});
  NanHunt hunt;
  const int line = __LINE__ + 1;
  const Tensor y = record("mine", {x}, no_grad([&] { return 2 * x; }), [](const Tensor& g) {
    return std::vector{log(g - 2)};  // a NaN inside the closure is the closure's
  });
  const ValueError error = caught([&] { sum(y).backward(); });
  EXPECT_EQ(error.op(), "mine");
  EXPECT_GE(error.where().line, line);
  EXPECT_LE(error.where().line, line + 2);
}

TEST_P(NanHunting, NamesAContributionThatCancelsAnInfinity) {
  const Tensor x = ones({1}, {.device = device(), .requires_grad = true});
  NanHunt hunt;
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor a = x * 1, b = x * 1;
  int line = 0;
  const ValueError error = caught([&] {
    line = __LINE__ + 1;
    backward({a, b}, {full({1}, inf, on()), full({1}, -inf, on())});
  });
  EXPECT_EQ(error.op(), "accumulate");
  EXPECT_EQ(error.where().line, line);
}

TEST_P(NanHunting, WhoGetsANaNIsNotToBlame) {
  const Tensor x = tensor({1.0, __builtin_nan("")}, {.device = device(), .requires_grad = true});
  NanHunt hunt;
  const Tensor y = sum(exp(x) * x);
  EXPECT_TRUE(std::isnan(y.item<float>()));
  y.backward();
  EXPECT_TRUE(std::isnan(x.grad().to_vector<float>()[1]));
}

TEST_P(NanHunting, EndsWithItsScopeAndIsOfItsThread) {
  const Tensor x = tensor({-1.0}, on());
  {
    NanHunt hunt;
    EXPECT_THROW(log(x), ValueError);
    EXPECT_THROW(no_grad([&] { return log(x); }), ValueError);
    { NanHunt inner; }
    EXPECT_THROW(log(x), ValueError);
    std::thread([&] { EXPECT_NO_THROW(log(x)); }).join();
  }
  EXPECT_NO_THROW(log(x));
}

}  // namespace
}  // namespace tally
