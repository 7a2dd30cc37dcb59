#include <tally/autograd/graph_text.h>

#include <cstdio>

namespace tally::detail {

std::string kind_of(DType dtype, const Shape& shape) { return std::string(name_of(dtype)) + " " + to_string(shape); }

std::string file_of(Where where) {
  const std::string path = where.file;
  return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(where.line);
}

std::string keeping_of(const Node& node) {
  if (node.released) return "released";
  std::size_t bytes = 0;
  for (const SavedTensor& saved : node.saved())
    if (saved.tensor.defined()) bytes += static_cast<std::size_t>(saved.tensor.numel()) * size_of(saved.tensor.dtype());
  return "keeps " + std::to_string(bytes) + " bytes";
}

std::string time_of(const Node& node) {
  if (node.seconds < 0) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", 1e6 * node.seconds);
  return text;
}

}  // namespace tally::detail
