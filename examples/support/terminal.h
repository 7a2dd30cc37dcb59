// What the output can show.
#pragma once

#include <cstddef>
#include <functional>

namespace tally::examples {

struct Terminal {
  bool redraws = false;  // a terminal on which a line can be drawn again in place
  bool utf8 = false;
  bool colour = false;
  std::function<std::size_t()> width = [] { return std::size_t{80}; };  // asked anew for each line: windows change

  /// The terminal behind a file descriptor, by isatty, TERM, NO_COLOR and the locale's variables.
  static Terminal of(int descriptor);
};

}  // namespace tally::examples
