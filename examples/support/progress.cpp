#include <tally/examples/support/progress.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <tally/examples/support/text.h>

namespace tally::examples {

namespace {

constexpr double kRedrawEvery = 0.1, kLineEvery = 5;  // seconds

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string bar(double share, std::size_t width, bool utf8) {
  const double filled = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  const auto whole = static_cast<std::size_t>(filled);
  if (!utf8) return "[" + std::string(whole, '#') + std::string(width - whole, '-') + "]";
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string text = "▕";
  for (std::size_t i = 0; i < whole; ++i) text += "█";
  const auto eighths = static_cast<std::size_t>((filled - static_cast<double>(whole)) * 8);
  text += kEighths[eighths];
  return text + std::string(width - whole - (eighths > 0 ? 1 : 0), ' ') + "▏";
}

std::string right(std::int64_t value, std::int64_t widest) {
  const std::string text = std::to_string(value), width = std::to_string(widest);
  return std::string(width.size() - std::min(width.size(), text.size()), ' ') + text + "/" + width;
}

// The most important first.
std::vector<std::string> measures(const RunState& state, double seconds_left) {
  return {print("loss %.4f", state.loss), duration(seconds_left) + " left", print("acc %4.1f%%", 100 * state.accuracy),
          print("|g| %-5.3g", state.gradient_norm), print("clipped %3.0f%%", 100 * state.clipped_share)};
}

// The order in which they are read.
std::string joined(const std::vector<std::string>& kept) {
  std::string text;
  for (const std::size_t i : {0, 2, 3, 4, 1})
    if (i < kept.size()) text += "  " + kept[i];
  return text;
}

}  // namespace

double RunState::share_done() const {
  const double done = static_cast<double>(epoch - 1) + static_cast<double>(step) / static_cast<double>(steps);
  return done / static_cast<double>(epochs);
}

std::string duration(double seconds) {
  if (!(seconds >= 0 && seconds < 1e9)) return "-:--";
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(whole / 3600),
                  static_cast<int>(whole / 60 % 60), static_cast<int>(whole % 60));
  else
    std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(whole / 60), static_cast<int>(whole % 60));
  return text;
}

std::string bar_line(const RunState& state, double seconds_left, const Terminal& terminal, std::size_t width) {
  constexpr std::size_t kShortest = 8, kLongest = 32, kFrame = 2;
  const std::string head = "epoch " + right(state.epoch, state.epochs) + "  ";
  const std::string share = print(" %3.0f%%", 100 * state.share_done());
  std::vector<std::string> kept = measures(state, seconds_left);
  const auto taken = [&] { return head.size() + kFrame + share.size() + joined(kept).size(); };
  while (!kept.empty() && taken() + kShortest > width) kept.pop_back();
  if (taken() + kShortest > width) return (head + share).substr(0, width);
  const std::string drawn = bar(state.share_done(), std::min(kLongest, width - taken()), terminal.utf8);
  return head + (terminal.colour ? "\x1b[36m" + drawn + "\x1b[0m" : drawn) + share + joined(kept);
}

std::string plain_line(const RunState& state, double seconds_left) {
  return "epoch " + right(state.epoch, state.epochs) + "  step " + right(state.step, state.steps) +
         joined(measures(state, seconds_left));
}

std::string epoch_line(const EpochMetrics& metrics, std::int64_t epochs) {
  return "epoch " + right(metrics.epoch, epochs) + print("  loss %.4f", metrics.train_loss) +
         print("  train %5.2f%%", 100 * metrics.train_accuracy) + print("  test %5.2f%%", 100 * metrics.test_accuracy) +
         print("  |g| %-5.3g", metrics.gradient_norm) + print("  clipped %3.0f%%", 100 * metrics.clipped_share) +
         print("  %.2f s", metrics.seconds);
}

Progress::Progress(std::ostream& out, Terminal terminal, double share_done, std::function<double()> now)
    : out_(out),
      terminal_(std::move(terminal)),
      now_(now ? std::move(now) : steady_seconds),
      share_at_start_(share_done),
      started_(now_()),
      last_draw_(started_) {}

Progress::~Progress() { clear(); }

bool Progress::due() const { return now_() - last_draw_ >= (terminal_.redraws ? kRedrawEvery : kLineEvery); }

double Progress::seconds_left(const RunState& state) const {
  const double done = state.share_done() - share_at_start_;
  return done > 0 ? (now_() - started_) * (1 - state.share_done()) / done : kNotMeasured;
}

void Progress::draw(const RunState& state) {
  const double left = seconds_left(state);
  last_draw_ = now_();
  if (terminal_.redraws) {
    // The last column stays free: a character there makes some terminals begin a new line.
    const std::size_t width = std::max<std::size_t>(terminal_.width(), 2) - 1;
    out_ << "\r" << bar_line(state, left, terminal_, width) << "\x1b[K" << std::flush;
    drawn_ = true;
  } else {
    out_ << plain_line(state, left) << std::endl;
  }
}

void Progress::end_epoch(const EpochMetrics& metrics, std::int64_t epochs) {
  clear();
  out_ << epoch_line(metrics, epochs) << std::endl;
}

void Progress::clear() {
  if (drawn_) out_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace tally::examples
