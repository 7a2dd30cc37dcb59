// Numbers of a call that make no sense.
#pragma once

#include <cstdio>
#include <string>

#include <tally/core/error.h>

namespace tally::detail {

/// ValueError "op: what is -0.1; it has to be `range`" unless `holds`.
inline void require_range(bool holds, const char* op, const char* what, double value, const char* range, Where where) {
  if (holds) return;
  char number[32];
  std::snprintf(number, sizeof number, "%g", value);
  throw ValueError(op, std::string(what) + " is " + number + "; it has to be " + range, where);
}

}  // namespace tally::detail
