// Says of an exception that passes through where it came from.
#pragma once

#include <string>

#include <tally/core/where.h>

namespace tally::detail {

/// "model.cpp:17", the file as the compiler was given it.
std::string line_of(Where where);

/// In a handler: throws the exception on as the class it is, with `line` under its message. Only classes of
/// core/error.h and <stdexcept> can take one; any other exception goes on unchanged.
[[noreturn]] void rethrow_with(const std::string& line);

/// The same for what the backward of `op` threw, which was called at `where`. An error that names both already goes on
/// unchanged.
[[noreturn]] void rethrow_from_backward(const char* op, Where where);

}  // namespace tally::detail
