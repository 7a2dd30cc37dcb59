#include <tally/examples/support/csv.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <tally/core/error.h>

namespace tally::examples {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',')
      fields.emplace_back();
    else if (c != ' ' && c != '\r')
      fields.back() += c;
    else if (c == ' ' && !fields.back().empty())
      fields.back() += c;
  }
  for (std::string& field : fields) field.erase(field.find_last_not_of(' ') + 1);
  return fields;
}

}  // namespace

void Table::fail(std::size_t row, const std::string& what) const {
  throw ValueError("table", source + ", row " + std::to_string(row + 1) + ": " + what, {});
}

double Table::number(std::size_t row, std::size_t column) const {
  const std::string& text = rows[row][column];
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(value)) fail(row, columns[column] + " is \"" + text + "\", not a number");
  return value;
}

Table parse_table(const std::string& text, const std::string& source) {
  Table table{source, {}, {}};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line == "\r" || line[0] == '#') continue;
    std::vector<std::string> fields = fields_of(line);
    if (table.columns.empty()) {
      table.columns = std::move(fields);
    } else {
      table.rows.push_back(std::move(fields));
      if (table.rows.back().size() != table.columns.size())
        table.fail(table.rows.size() - 1, std::to_string(table.rows.back().size()) + " fields under " +
                                              std::to_string(table.columns.size()) + " columns");
    }
  }
  if (table.rows.empty()) throw ValueError("table", source + " has no rows", {});
  return table;
}

Table read_table(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw IoError("table", path + ": cannot be read", {});
  return parse_table(text.str(), path);
}

}  // namespace tally::examples
