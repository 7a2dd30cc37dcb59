// Progress of a training run: a bar that is drawn again in place on a terminal, plain lines now and then elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include <tally/examples/support/metrics.h>
#include <tally/examples/support/terminal.h>

namespace tally::examples {

/// Where a run stands. The measures are those of the current epoch so far.
struct RunState {
  std::int64_t epoch = 1, epochs = 1;  // the current epoch counts from 1
  std::int64_t step = 0, steps = 1;    // done and all, of the current epoch
  double loss = kNotMeasured, accuracy = kNotMeasured, gradient_norm = kNotMeasured, clipped_share = kNotMeasured;

  double share_done() const;
};

/// "0:42", "12:05", "1:02:03"; "-:--" for what is not known.
std::string duration(double seconds);

/// One line of at most `width` columns: the measures that matter least go first where it is narrow.
std::string bar_line(const RunState& state, double seconds_left, const Terminal& terminal, std::size_t width);
std::string plain_line(const RunState& state, double seconds_left);
std::string epoch_line(const EpochMetrics& metrics, std::int64_t epochs);

class Progress {
 public:
  /// The clock starts here, with `share_done` of the run done before (a resumed one). `now` gives seconds; the default
  /// is the steady clock.
  Progress(std::ostream& out, Terminal terminal, double share_done = 0, std::function<double()> now = {});
  /// Takes the bar away, so that an error's line starts on a line of its own.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// True when the next line may be drawn, ten a second on a terminal, one in five seconds elsewhere. Ask before
  /// reading the measures from a device: reading waits for it.
  bool due() const;
  /// The time left is taken from the share of the run done since the clock started.
  void draw(const RunState& state);
  /// The epoch's line, which stays.
  void end_epoch(const EpochMetrics& metrics, std::int64_t epochs);
  void clear();

 private:
  double seconds_left(const RunState& state) const;

  std::ostream& out_;
  Terminal terminal_;
  std::function<double()> now_;
  double share_at_start_, started_, last_draw_;
  bool drawn_ = false;
};

}  // namespace tally::examples
