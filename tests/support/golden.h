// Bit patterns kept in a file: what the library computes today it must compute tomorrow, on every device. The inputs
// are tests/support/numbers.h's. A change that means to change bits raises kOrderVersion and writes the file anew:
//
//   TALLY_WRITE_GOLDEN=1 build/tests/tally_ops_tests --gtest_filter='Golden*cpu*'     (and tally_nn_tests)
//
// A line is a name, a dtype and, for each input, either the bits of the result, or of longer results and of gradients a
// checksum. All NaNs count as one.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <tally/core/tensor.h>
#include <tally/ops/reduction.h>

namespace tally::test {

namespace detail {

inline std::string hex(std::uint64_t bits, std::size_t bytes) {
  char text[17];
  std::snprintf(text, sizeof text, "%0*llx", static_cast<int>(2 * bytes), static_cast<unsigned long long>(bits));
  return text;
}

/// Each element's bits, NaN as all ones.
inline std::vector<std::uint64_t> bits_of(const Tensor& x) {
  return visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<std::uint64_t> all;
    for (const T value : x.to_vector<T>()) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof value);  // little endian
      const double wide = static_cast<double>(value);
      all.push_back(wide != wide ? ~std::uint64_t{0} >> (64 - 8 * sizeof value) : bits);
    }
    return all;
  });
}

}  // namespace detail

/// The bits of one element, else the 64-bit FNV-1a checksum of all.
inline std::string fingerprint(const Tensor& x) {
  const std::vector<std::uint64_t> all = detail::bits_of(x);
  if (all.size() == 1) return detail::hex(all[0], size_of(x.dtype()));
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const std::uint64_t bits : all)
    for (int shift = 0; shift < 64; shift += 8) sum = (sum ^ (bits >> shift & 0xff)) * 0x100000001b3u;
  return "#" + detail::hex(sum, 8);
}

/// Compares lines with those of a file, or collects them for a new one.
class Golden {
 public:
  explicit Golden(std::string path) : path_(std::move(path)), writes_(std::getenv("TALLY_WRITE_GOLDEN") != nullptr) {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      const std::size_t colon = line.find(": ");
      known_[line.substr(0, colon)] = colon == std::string::npos ? "" : line.substr(colon + 2);
    }
    check("order_version", std::to_string(kOrderVersion));
  }

  void check(const std::string& name, const std::string& bits) {
    lines_.push_back(name + ": " + bits);
    asked_.insert(name);
    if (writes_) return;
    const auto found = known_.find(name);
    if (found == known_.end())
      ADD_FAILURE() << path_ << " has no line for " << name;
    else
      EXPECT_EQ(bits, found->second) << name;
  }

  /// Every line of the file whose name begins with `part` was asked for; a new file has all that were asked for so far.
  void finish(const std::string& part = "") {
    if (writes_) {
      std::ofstream file(path_);
      file << "# Bit patterns of every op whose order is promised: see tests/support/golden.h.\n";
      for (const std::string& line : lines_) file << line << "\n";
      return;
    }
    const auto in_part = [&](const std::string& name) { return name.rfind(part, 0) == 0; };
    for (const auto& [name, bits] : known_)
      EXPECT_TRUE(!in_part(name) || asked_.count(name)) << path_ << " has a line that nothing asks for: " << name;
    asked_.clear();
  }

  /// Of the lines in the file.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, bits] : known_) all.push_back(name);
    return all;
  }

 private:
  std::string path_;
  bool writes_;
  std::map<std::string, std::string> known_;
  std::vector<std::string> lines_;
  std::set<std::string> asked_;
};

}  // namespace tally::test
