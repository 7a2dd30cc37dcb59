// Small tables from text: comma-separated, a header first, no quotes.
#pragma once

#include <string>
#include <vector>

namespace tally::examples {

struct Table {
  std::string source;  // of the text, for messages
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  /// ValueError, with source and line, for text that is no finite number.
  double number(std::size_t row, std::size_t column) const;
  [[noreturn]] void fail(std::size_t row, const std::string& what) const;
};

/// Lines that are empty or start with # are passed over. ValueError for a row that is longer or shorter than the
/// header, or for no row at all.
Table parse_table(const std::string& text, const std::string& source);

/// IoError for a file that cannot be read.
Table read_table(const std::string& path);

}  // namespace tally::examples
