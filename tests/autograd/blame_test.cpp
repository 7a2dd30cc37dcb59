// What goes wrong in backward names the op and the line of its forward.
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>

#include <tally/tests/support/devices.h>

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Blame : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Blame);

// 2x, whose backward is `closure`; the line of the call is the forward's.
template <class F> Tensor twice(const Tensor& x, F closure, Where where = Where::here()) {
  return record("twice", {x}, no_grad([&] { return 2 * x; }), closure, where);
}

// backward throws exactly E; its text.
template <class E> std::string thrown_by(const Tensor& y) {
  try {
    y.backward();
  } catch (const E& error) {
    EXPECT_EQ(typeid(error), typeid(E));
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

template <class E> void expect_class_kept(const Tensor& x, const E& error) {
  const int line = __LINE__ + 1;
  const Tensor y = sum(twice(x, [error](const Tensor&) -> std::vector<Tensor> { throw error; }));
  const std::string text = thrown_by<E>(y);
  EXPECT_EQ(text, std::string(error.what()) + "\n  in the backward of twice, called at " + __FILE__ + ":" +
                      std::to_string(line));
}

TEST_P(Blame, AnExceptionKeepsItsClassAndMessage) {
  const Tensor x = ones({2}, {.device = device(), .requires_grad = true});
  const Where inner{"inner.cpp", 7};
  expect_class_kept(x, ShapeError("conv", "too wide", inner));
  expect_class_kept(x, DTypeError("conv", "too narrow", inner));
  expect_class_kept(x, DeviceError("conv", "elsewhere", inner));
  expect_class_kept(x, ValueError("conv", "too large", inner));
  expect_class_kept(x, IndexError("conv", "beyond", inner));
  expect_class_kept(x, AutogradError("conv", "no graph", inner));
  expect_class_kept(x, IoError("conv", "no file", inner));
  expect_class_kept(x, std::runtime_error("mine"));
  expect_class_kept(x, std::invalid_argument("mine"));
  expect_class_kept(x, std::logic_error("mine"));
}

TEST_P(Blame, AnErrorOfTallyKeepsItsOpAndLineToo) {
  const Tensor x = ones({2}, {.device = device(), .requires_grad = true});
  const int line = __LINE__ + 1;
  const auto closure = [](const Tensor& g) { return std::vector{g + ones({3}, {.device = g.device()})}; };
  try {
    sum(twice(x, closure)).backward();
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.op(), "add");
    EXPECT_EQ(error.where().line, line);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("blame_test.cpp:" + std::to_string(line)), HasSubstr("in the backward of twice"),
                      HasSubstr("blame_test.cpp:" + std::to_string(line + 2))));
  }
}

struct MyError : std::runtime_error {
  using std::runtime_error::runtime_error;
  int code = 42;
};

TEST_P(Blame, AClassOfTheUsersOwnGoesThroughUnchanged) {
  const Tensor x = ones({2}, {.device = device(), .requires_grad = true});
  EXPECT_EQ(thrown_by<MyError>(sum(twice(x, [](const Tensor&) -> std::vector<Tensor> { throw MyError("mine"); }))),
            "mine");
  EXPECT_THROW(sum(twice(x, [](const Tensor&) -> std::vector<Tensor> { throw 7; })).backward(), int);
}

TEST_P(Blame, WrongGradientsNameTheForwardLine) {
  const Tensor x = ones({2}, {.device = device(), .requires_grad = true});
  const Options on = this->on();
  using Closure = std::function<std::vector<Tensor>(const Tensor&)>;
  const std::pair<const char*, Closure> wrong[] = {
      {"float32 [3]", [on](const Tensor&) { return std::vector{ones({3}, on)}; }},
      {"float64 [2]", [](const Tensor& g) { return std::vector{g.to(float64)}; }},
      {"2 gradients for 1 inputs",
       [](const Tensor& g) {
         return std::vector{g, g};
       }},
      {"0 gradients for 1 inputs", [](const Tensor&) { return std::vector<Tensor>{}; }},
  };
  for (const auto& [what, closure] : wrong) {
    const int line = __LINE__ + 1;
    const Tensor y = sum(twice(x, closure));
    EXPECT_THAT(thrown_by<AutogradError>(y),
                AllOf(HasSubstr("twice"), HasSubstr(what), HasSubstr("blame_test.cpp:" + std::to_string(line))));
    EXPECT_FALSE(x.grad().defined());
  }
}

TEST_P(Blame, TheEnginesOwnErrorsAreNotBlamedTwice) {
  const Tensor x = ones({2}, {.device = device(), .requires_grad = true}), s = ones({2}, on());
  const Tensor y = sum(x * s);
  s.fill_(3);
  EXPECT_THAT(thrown_by<AutogradError>(y), AllOf(HasSubstr("version"), Not(HasSubstr("in the backward of"))));
}

}  // namespace
}  // namespace tally
