#include <tally/examples/support/terminal.h>

#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace tally::examples {

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The variables, not the C library's locale: setting that would change how numbers are printed.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = variable(name);
    if (locale.empty()) continue;
    const std::string_view codeset = locale.substr(std::min(locale.find('.'), locale.size()));
    return ::strncasecmp(codeset.data(), ".utf-8", 6) == 0 || ::strncasecmp(codeset.data(), ".utf8", 5) == 0;
  }
  return false;
}

}  // namespace

Terminal Terminal::of(int descriptor) {
  Terminal terminal;
  const std::string_view kind = variable("TERM");
  terminal.redraws = ::isatty(descriptor) == 1 && !kind.empty() && kind != "dumb";
  terminal.utf8 = locale_is_utf8();
  terminal.colour = terminal.redraws && variable("NO_COLOR").empty();
  terminal.width = [descriptor]() -> std::size_t {
    winsize size{};
    return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  };
  return terminal;
}

}  // namespace tally::examples
