// The house keeps its arrows: core <- autograd <- ops <- nn <- examples, tests, read off the #include lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kFloors = {"core", "autograd", "ops", "nn", "examples", "tests"};

int floor_of(const std::string& path) {
  const auto found = std::find(kFloors.begin(), kFloors.end(), path.substr(0, path.find('/')));
  return found == kFloors.end() ? -1 : static_cast<int>(found - kFloors.begin());
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
bool starts_with(const std::string& text, const std::string& part) { return text.rfind(part, 0) == 0; }

bool is_cuda(const std::string& header) {
  static const std::regex cuda("(cuda|cublas|curand|cooperative_groups|nvtx|cub/|thrust/|mma|device_launch).*");
  return std::regex_match(header, cuda);
}
bool is_third_party(const std::string& header) {
  return starts_with(header, "Eigen/") || starts_with(header, "nlohmann/") || starts_with(header, "zlib");
}
bool is_public(const std::string& file) {
  return fs::path(file).extension() == ".h" && std::count(file.begin(), file.end(), '/') == 1 &&
         floor_of(file) <= floor_of("nn");
}

/// What is wrong with `file` (from the root) including `header`; empty where nothing is.
std::string complaint(const std::string& file, const std::string& header) {
  const std::string extension = fs::path(file).extension();
  const bool device_code = extension == ".cu" || extension == ".cuh";
  if (starts_with(header, "tally/")) {
    const std::string to = header.substr(6);
    if (to == "tally.h") return floor_of(file) < floor_of("examples") ? "the umbrella header is for users" : "";
    if (floor_of(to) < 0) return "no such floor";
    if (floor_of(to) > floor_of(file)) return "an arrow the wrong way";
    if (to == "autograd/gtest.h" && floor_of(file) < floor_of("examples")) return "GoogleTest is for tests";
    return "";
  }
  if (is_cuda(header) && !contains(file, "/cuda/") && !device_code) return "a CUDA header in host code";
  if (is_third_party(header) && device_code) return "nvcc must not see it";
  const bool testing = starts_with(header, "gtest/") || starts_with(header, "gmock/");
  if (testing && file != "autograd/gtest.h" && floor_of(file) < floor_of("tests")) return "GoogleTest is for tests";
  return "";
}

using Includes = std::map<std::string, std::vector<std::string>>;

/// The chain by which a public header reaches what must not cross the boundary; empty where none does.
std::string leak(const Includes& includes, const std::string& file, std::set<std::string>& seen) {
  const auto found = includes.find(file);
  if (found == includes.end() || !seen.insert(file).second) return "";
  for (const std::string& header : found->second) {
    if (is_cuda(header) || is_third_party(header)) return file + " -> " + header;
    if (!starts_with(header, "tally/")) continue;
    if (const std::string below = leak(includes, header.substr(6), seen); !below.empty()) return file + " -> " + below;
  }
  return "";
}

TEST(Architecture, RefusesArrowsTheWrongWay) {
  const auto refused = [](const char* file, const char* header) { return !complaint(file, header).empty(); };
  EXPECT_TRUE(refused("core/tensor.h", "tally/autograd/node.h"));
  EXPECT_TRUE(refused("core/tensor.cpp", "tally/ops/reduce.h"));
  EXPECT_TRUE(refused("autograd/gradcheck.cpp", "tally/ops/reduce.h"));
  EXPECT_TRUE(refused("ops/softmax.h", "tally/nn/loss.h"));
  EXPECT_TRUE(refused("nn/loss.cpp", "tally/examples/support/svg.h"));
  EXPECT_TRUE(refused("examples/support/svg.h", "tally/tests/support/devices.h"));
  EXPECT_TRUE(refused("ops/reduce.h", "tally/tally.h"));
  EXPECT_TRUE(refused("ops/reduce.h", "tally/layers/linear.h"));
  EXPECT_TRUE(refused("core/device.h", "cuda_runtime.h"));
  EXPECT_TRUE(refused("core/raw.cpp", "cublas_v2.h"));
  EXPECT_TRUE(refused("ops/cuda/matmul.cu", "Eigen/Dense"));
  EXPECT_TRUE(refused("ops/verify.h", "gtest/gtest.h"));
  EXPECT_FALSE(refused("core/raw.cpp", "tally/core/cuda/stream.h"));
  EXPECT_FALSE(refused("ops/reduce.cpp", "tally/core/raw.h"));
  EXPECT_FALSE(refused("core/cuda/stream.cpp", "cuda_runtime.h"));
  EXPECT_FALSE(refused("tests/nn/loss_test.cpp", "tally/autograd/gtest.h"));
}

TEST(Architecture, SeesWhatAPublicHeaderReaches) {
  const Includes includes = {{"nn/a.h", {"tally/nn/b.h", "vector"}},
                             {"nn/b.h", {"tally/nn/a.h", "nlohmann/json.hpp"}},
                             {"nn/c.h", {"tally/nn/d.h"}}};
  std::set<std::string> seen, none;
  EXPECT_EQ(leak(includes, "nn/a.h", seen), "nn/a.h -> nn/b.h -> nlohmann/json.hpp");
  EXPECT_EQ(leak(includes, "nn/c.h", none), "");
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> extensions = {".h", ".cpp", ".cu", ".cuh"};
  return extensions.count(path.extension()) > 0;
}

// What nvcc alone sees, between #if ... __CUDACC__ and its end, is device code also in a host header.
struct Tree {
  Includes all, host;
};

Tree includes_of_the_tree() {
  const fs::path root = TALLY_SOURCE_DIR;
  const std::regex include("\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"].*");
  Tree tree;
  for (const std::string& floor : kFloors)
    for (const auto& entry : fs::recursive_directory_iterator(root / floor)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      const std::string file = fs::relative(entry.path(), root).generic_string();
      std::vector<std::string>&all = tree.all[file], &host = tree.host[file];
      std::ifstream in(entry.path());
      std::smatch match;
      bool device_only = false;
      for (std::string line; std::getline(in, line);) {
        if (starts_with(line, "#if") && contains(line, "defined(__CUDACC__)")) device_only = true;
        if (starts_with(line, "#else") || starts_with(line, "#endif")) device_only = false;
        if (!std::regex_match(line, match, include)) continue;
        all.push_back(match[1]);
        if (!device_only) host.push_back(match[1]);
      }
    }
  return tree;
}

TEST(Architecture, TheTreeKeepsThem) {
  const Tree tree = includes_of_the_tree();
  EXPECT_GT(tree.all.size(), 100u);
  for (const auto& [file, headers] : tree.all) {
    for (const std::string& header : headers) {
      const std::string wrong = complaint(file, header);
      EXPECT_TRUE(wrong.empty()) << file << " includes " << header << ": " << wrong;
    }
    std::set<std::string> seen;
    EXPECT_EQ(is_public(file) ? leak(tree.host, file, seen) : "", "");
  }
}

TEST(Architecture, NoOtherTopLevelFolderHoldsSource) {
  for (const auto& entry : fs::directory_iterator(TALLY_SOURCE_DIR)) {
    const std::string name = entry.path().filename();
    if (!entry.is_directory() || name[0] == '.' || starts_with(name, "build")) continue;
    EXPECT_GE(floor_of(name + "/"), 0) << name;
  }
}

}  // namespace
