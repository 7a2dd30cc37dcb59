// What a run leaves in --out: metrics.csv, curves.svg, confusion.svg, model.safetensors and checkpoint.safetensors.
#pragma once

#include <string>

#include <tally/examples/classifier/training.h>

namespace tally::examples {

class OutputDirectory {
 public:
  /// Makes the directory and tries to write there, so that a run does not end in a surprise. An empty path writes
  /// nothing; to resume takes a checkpoint there. Throws IoError.
  explicit OutputDirectory(const std::string& path, bool resume = false);

  /// Whether a run that does not resume replaces one.
  bool replaces() const { return replaces_; }
  std::string checkpoint() const { return path_ + "/checkpoint.safetensors"; }
  /// After each epoch: metrics, curves and then the checkpoint.
  void write_epoch(Training& training, const ClassifierOptions& options) const;
  /// At the end: model and confusion matrix.
  void write_result(Training& training, const Confusion& confusion, const std::string& title) const;

 private:
  std::string path_;
  bool replaces_ = false;
};

}  // namespace tally::examples
