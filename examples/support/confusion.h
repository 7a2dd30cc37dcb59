// The confusion matrix of a classifier: counted, as text and as confusion.svg.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tally::examples {

class Confusion {
 public:
  /// The names of the classes; their number is the number of classes.
  explicit Confusion(std::vector<std::string> names);
  /// Classes named 0, 1, ...
  explicit Confusion(std::int64_t classes);

  /// Throws IndexError for a class that is not there.
  void add(std::int64_t truth, std::int64_t predicted);

  std::int64_t classes() const { return static_cast<std::int64_t>(names_.size()); }
  const std::string& name(std::int64_t of) const { return names_[static_cast<std::size_t>(of)]; }
  std::int64_t count(std::int64_t truth, std::int64_t predicted) const;
  std::int64_t total() const;
  std::int64_t correct() const;
  std::int64_t total_of(std::int64_t truth) const;
  /// Correct shares; NaN where nothing was counted.
  double accuracy() const;
  double recall(std::int64_t truth) const;

  /// A table: a row a true class, a column a predicted one, the recall at the end.
  std::string str() const;
  std::string svg(const std::string& title) const;

 private:
  std::size_t place(std::int64_t truth, std::int64_t predicted) const;

  std::vector<std::string> names_;
  std::vector<std::int64_t> counts_;
};

}  // namespace tally::examples
