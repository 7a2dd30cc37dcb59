#include <tally/examples/classifier/report.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <tally/core/error.h>
#include <tally/examples/support/curves.h>
#include <tally/nn/file.h>
#include <tally/nn/safetensors.h>

namespace tally::examples {

OutputDirectory::OutputDirectory(const std::string& path, bool resume) : path_(path) {
  if (path_.empty()) return;
  std::error_code error;
  const bool holds_run = std::filesystem::exists(checkpoint(), error);
  replaces_ = holds_run && !resume;
  if (resume && !holds_run) throw IoError("--resume", path_ + " holds no checkpoint; start without it", {});
  std::filesystem::create_directories(path_, error);
  if (error) throw IoError("--out", path_ + ": " + error.message(), {});
  std::string probe = path_ + "/XXXXXX";
  const int descriptor = ::mkstemp(probe.data());
  if (descriptor < 0) FileSite{"--out", path_, {}}.fail_errno("cannot be written");
  ::close(descriptor);
  ::unlink(probe.c_str());
}

void OutputDirectory::write_epoch(Training& training, const ClassifierOptions& options) const {
  if (path_.empty()) return;
  write_metrics(path_ + "/metrics.csv", training.history().epochs);
  write_atomically(path_ + "/curves.svg",
                   curves_svg(training.history(), options.data.empty() ? "digits" : options.data, options.clip));
  // Last: what is killed before it does the epoch again, what is killed after it lacks nothing.
  training.save(checkpoint());
}

void OutputDirectory::write_result(Training& training, const Confusion& confusion, const std::string& title) const {
  if (path_.empty()) return;
  write_atomically(path_ + "/confusion.svg", confusion.svg(title));
  nn::save_safetensors(path_ + "/model.safetensors", nn::state_dict(training.model()));
}

}  // namespace tally::examples
