// The picture of a graph.
#include <tally/autograd/dot.h>

#include <regex>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>

namespace tally {
namespace {

using ::testing::HasSubstr;

// Node numbers depend on what ran before: renamed in the order they appear.
std::string renumbered(std::string text) {
  std::string out;
  std::vector<std::string> seen;
  std::smatch match;
  while (std::regex_search(text, match, std::regex("\\bn([0-9]+)\\b"))) {
    auto found = std::find(seen.begin(), seen.end(), match[1]);
    if (found == seen.end()) found = seen.insert(seen.end(), match[1]);
    out += match.prefix().str() + "n" + std::to_string(found - seen.begin());
    text = match.suffix();
  }
  return out + text;
}

TEST(Dot, DrawsOpsLeavesAndWhatIsKept) {
  const Tensor x = ones({2, 3}, {.requires_grad = true}), w = ones({3}, {.dtype = float32, .requires_grad = true});
  const int line = __LINE__ + 1;
  const Tensor y = x * w;
  const Tensor loss = sum(y);
  const std::string at = "dot_test.cpp:";
  EXPECT_EQ(renumbered(to_dot(loss)),
            "digraph {\n"
            "  result [shape=plaintext];\n"
            "  n0 -> result [label=\"float32 []\"];\n"
            "  n0 [shape=box, label=\"sum\\n" +
                at + std::to_string(line + 1) +
                "\\nkeeps 0 bytes\"];\n"
                "  n1 -> n0 [label=\"float32 [2, 3]\"];\n"
                "  n1 [shape=box, label=\"mul\\n" +
                at + std::to_string(line) +
                "\\nkeeps 36 bytes\"];\n"
                "  leaf0 [label=\"float32 [2, 3]\"];\n"
                "  leaf0 -> n1 [label=\"float32 [2, 3]\"];\n"
                "  leaf1 [label=\"float32 [3]\"];\n"
                "  leaf1 -> n1 [label=\"float32 [3]\"];\n"
                "}\n");
}

TEST(Dot, EachNodeIsDrawnOnce) {
  const Tensor x = ones({1}, {.requires_grad = true});
  const Tensor y = x * x, z = y * y + y;
  const std::string text = to_dot(z);
  std::size_t boxes = 0;
  for (std::size_t at = text.find("shape=box"); at != std::string::npos; at = text.find("shape=box", at + 1)) ++boxes;
  EXPECT_EQ(boxes, 3u);
}

TEST(Dot, ShowsWhatWasReleased) {
  const Tensor x = ones({1}, {.requires_grad = true});
  const Tensor y = x * x;
  y.backward();
  EXPECT_THAT(to_dot(y), HasSubstr("released"));
}

TEST(Dot, ALeafStandsAlone) {
  EXPECT_THAT(to_dot(ones({2})), HasSubstr("leaf0 -> result"));
  EXPECT_THROW(to_dot(Tensor()), ShapeError);
}

}  // namespace
}  // namespace tally
