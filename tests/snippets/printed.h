// What the snippets of the pages may use, and what they print.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <tally/autograd/gtest.h>
#include <tally/tally.h>

namespace snippets {

/// Collects what std::cout gets while it lives.
class Printed {
 public:
  Printed() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~Printed() { std::cout.rdbuf(before_); }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

}  // namespace snippets
