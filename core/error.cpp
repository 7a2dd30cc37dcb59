#include <tally/core/error.h>

namespace tally::detail {

std::string layout(const std::string& op, const std::string& text, Where where) {
  std::string message = op + ": " + text;
  if (where.line > 0) message += "\n  at " + std::string(where.file) + ":" + std::to_string(where.line);
  return message;
}

}  // namespace tally::detail
