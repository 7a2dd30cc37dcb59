#include <tally/examples/support/confusion.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include <tally/core/error.h>
#include <tally/examples/support/text.h>

namespace tally::examples {

namespace {

std::vector<std::string> numbered(std::int64_t classes) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace

Confusion::Confusion(std::vector<std::string> names)
    : names_(std::move(names)), counts_(names_.size() * names_.size()) {}

Confusion::Confusion(std::int64_t classes) : Confusion(numbered(classes)) {}

std::size_t Confusion::place(std::int64_t truth, std::int64_t predicted) const {
  for (const std::int64_t index : {truth, predicted})
    if (index < 0 || index >= classes())
      throw IndexError("Confusion", "class " + std::to_string(index) + " of " + std::to_string(classes()), {});
  return static_cast<std::size_t>(truth * classes() + predicted);
}

void Confusion::add(std::int64_t truth, std::int64_t predicted) { ++counts_[place(truth, predicted)]; }

std::int64_t Confusion::count(std::int64_t truth, std::int64_t predicted) const {
  return counts_[place(truth, predicted)];
}

std::int64_t Confusion::total() const { return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0}); }

std::int64_t Confusion::correct() const {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < classes(); ++i) sum += count(i, i);
  return sum;
}

std::int64_t Confusion::total_of(std::int64_t truth) const {
  std::int64_t sum = 0;
  for (std::int64_t predicted = 0; predicted < classes(); ++predicted) sum += count(truth, predicted);
  return sum;
}

double Confusion::accuracy() const { return static_cast<double>(correct()) / static_cast<double>(total()); }

double Confusion::recall(std::int64_t truth) const {
  return static_cast<double>(count(truth, truth)) / static_cast<double>(total_of(truth));
}

std::string Confusion::str() const {
  std::size_t label = 4, cell = std::to_string(classes() - 1).size() + 1;
  for (std::int64_t i = 0; i < classes(); ++i) label = std::max(label, display_width(name(i)));
  for (const std::int64_t n : counts_) cell = std::max(cell, std::to_string(n).size() + 1);
  const auto right = [](const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
  };
  // Long names stand once, at the rows; the columns have their numbers.
  const bool numbers = std::any_of(names_.begin(), names_.end(), [&](const auto& name) { return name.size() >= cell; });
  const std::size_t index = numbers ? std::to_string(classes() - 1).size() + 1 : 0;
  std::string text = std::string(index, ' ') + "true" + std::string(label - 4, ' ') + " |";
  for (std::int64_t i = 0; i < classes(); ++i) text += right(numbers ? std::to_string(i) : name(i), cell);
  text += " | recall\n" + std::string(index + label + 1, '-') + "+" +
          std::string(cell * static_cast<std::size_t>(classes()) + 1, '-') + "+--------\n";
  for (std::int64_t truth = 0; truth < classes(); ++truth) {
    if (numbers) text += right(std::to_string(truth), index - 1) + " ";
    text += name(truth) + std::string(label - display_width(name(truth)), ' ') + " |";
    for (std::int64_t predicted = 0; predicted < classes(); ++predicted) {
      const std::int64_t n = count(truth, predicted);
      text += right(n == 0 ? "." : std::to_string(n), cell);
    }
    text += " | " + (total_of(truth) == 0 ? "     -" : print("%5.1f%%", 100 * recall(truth))) + "\n";
  }
  return text;
}

}  // namespace tally::examples
