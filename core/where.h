// The caller's file and line, taken by a last defaulted argument: `Where where = Where::here()`.
// std::source_location is missing in clang 14; the two builtins work in g++, clang and nvcc alike.
#pragma once

namespace tally {

struct Where {
  const char* file = "";
  int line = 0;

  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

}  // namespace tally
