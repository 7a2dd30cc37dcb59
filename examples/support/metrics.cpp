#include <tally/examples/support/metrics.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <tally/nn/file.h>

namespace tally::examples {

namespace {

struct Column {
  const char* name;
  double EpochMetrics::*value;
};

constexpr std::array kColumns{
    Column{"learning_rate", &EpochMetrics::learning_rate},   Column{"train_loss", &EpochMetrics::train_loss},
    Column{"train_accuracy", &EpochMetrics::train_accuracy}, Column{"test_loss", &EpochMetrics::test_loss},
    Column{"test_accuracy", &EpochMetrics::test_accuracy},   Column{"gradient_norm", &EpochMetrics::gradient_norm},
    Column{"clipped_share", &EpochMetrics::clipped_share},   Column{"seconds", &EpochMetrics::seconds}};

std::string names() {
  std::string line = "epoch";
  for (const Column& column : kColumns) line += std::string(",") + column.name;
  return line;
}

template <class Number> std::string text_of(Number value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string_view cut(std::string_view& rest, char at) {
  const std::string_view part = rest.substr(0, rest.find(at));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

template <class Number> bool parse(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_line(std::string_view line, EpochMetrics& epoch) {
  bool whole = parse(cut(line, ','), epoch.epoch);
  for (const Column& column : kColumns) whole = parse(cut(line, ','), epoch.*column.value) && whole;
  return whole && line.empty();
}

}  // namespace

void write_metrics(const std::string& path, std::span<const EpochMetrics> epochs) {
  std::string text = names() + "\n";
  for (const EpochMetrics& epoch : epochs) {
    text += text_of(epoch.epoch);
    for (const Column& column : kColumns) text += "," + text_of(epoch.*column.value);
    text += "\n";
  }
  write_atomically(path, text, {});
}

std::vector<EpochMetrics> read_metrics(const std::string& path) {
  const FileSite site{"read_metrics", path, {}};
  const std::vector<std::byte> bytes = read_bytes(site);
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (cut(rest, '\n') != names()) site.fail("does not start with the line " + names());
  std::vector<EpochMetrics> epochs;
  while (!rest.empty()) {
    epochs.emplace_back();
    if (!parse_line(cut(rest, '\n'), epochs.back()))
      site.fail("line " + std::to_string(epochs.size() + 1) + " does not hold " + std::to_string(kColumns.size() + 1) +
                " numbers");
  }
  return epochs;
}

}  // namespace tally::examples
