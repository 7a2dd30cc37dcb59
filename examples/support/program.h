// How a program ends.
#pragma once

#include <functional>

namespace tally::examples {

/// f(), or one line about what it throws, without the library's own line. Exit status 0, 2 for bad input, 1 for what
/// goes wrong otherwise, such as output that cannot be written.
int run_program(const char* name, const std::function<void()>& f);

}  // namespace tally::examples
