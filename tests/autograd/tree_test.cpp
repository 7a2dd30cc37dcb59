// The graph as text.
#include <tally/autograd/tree.h>

#include <tally/autograd/backward.h>
#include <tally/autograd/dot.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/record.h>
#include <tally/autograd/timer.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>

#include <tally/tests/support/small_stack.h>

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Tree, ShowsOpsLeavesAndWhatIsKept) {
  const Tensor x = ones({2, 3}, {.requires_grad = true});
  const int line = __LINE__ + 1;
  const Tensor y = exp(x);
  const Tensor z = y * x;
  const Tensor loss = sum(z);
  const auto at = [&](int offset) { return "tree_test.cpp:" + std::to_string(line + offset); };
  EXPECT_EQ(to_tree(loss), "sum #3: float32 [], " + at(2) + ", keeps 0 bytes\n" +                //
                               "mul #2: float32 [2, 3], " + at(1) + ", keeps 48 bytes\n" +       //
                               "  0: exp #1: float32 [2, 3], " + at(0) + ", keeps 24 bytes\n" +  //
                               "     leaf 1: float32 [2, 3]\n" +                                 //
                               "  1: leaf 1, see above\n");
}

TEST(Tree, WritesAnOpWithSeveralConsumersOnce) {
  const Tensor x = ones({1}, {.requires_grad = true});
  const Tensor y = exp(x), z = y * y;
  const std::string text = to_tree(z);
  EXPECT_THAT(text, AllOf(HasSubstr("  0: exp #1: float32 [1], tree_test.cpp"),
                          HasSubstr("  1: exp #1: float32 [1], see above\n")));
}

TEST(Tree, NamesWhichOfSeveralResults) {
  const Tensor x = ones({1}, {.requires_grad = true});
  const auto both = record("both", {x}, no_grad([&] {
                             return std::vector{2 * x, 3 * x};
                           }),
                           saving(), [](const std::vector<Tensor>& g) { return std::vector{2 * g[0] + 3 * g[1]}; });
  EXPECT_THAT(to_tree(both[1]), HasSubstr("both #1 result 1: float32 [1]"));
}

TEST(Tree, ShowsReleasedOpsAndTimesThatWereMeasured) {
  const Tensor x = ones({1}, {.requires_grad = true});
  const Tensor y = sum(exp(x));
  EXPECT_THAT(to_tree(y), Not(HasSubstr(" us")));
  y.backward({.retain_graph = true});
  EXPECT_THAT(to_tree(y), Not(HasSubstr(" us")));
  {
    BackwardTimer timer;
    y.backward();
  }
  EXPECT_THAT(to_tree(y), AllOf(HasSubstr("released"), ContainsRegex("exp #1.*, [0-9]+\\.[0-9] us\n")));
  EXPECT_THAT(to_dot(y), ContainsRegex("released\\\\n[0-9]+\\.[0-9] us"));
}

TEST(Tree, ALeafStandsAlone) {
  EXPECT_EQ(to_tree(ones({2})), "leaf 1: float32 [2]\n");
  EXPECT_THROW(to_tree(Tensor()), ShapeError);
}

TEST(Tree, ALongChainOnASmallStack) {
  test::on_small_stack([] {
    Tensor x = ones({}, {.requires_grad = true});
    for (int i = 0; i < 20'000; ++i) x = x + 1;
    const std::string text = to_tree(x);
    EXPECT_THAT(text.substr(0, 20), HasSubstr("add #20000"));
  });
}

}  // namespace
}  // namespace tally
