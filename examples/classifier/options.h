// What a user can choose on train_classifier's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tally/core/device.h>

namespace tally::examples {

struct ClassifierOptions {
  std::string data;  // directory of IDX files; empty: the digits that the program carries
  std::string out;   // directory for results; empty: none are written
  bool resume = false;
  Device device = Device::cpu;
  std::uint64_t seed = 0;
  std::int64_t epochs = 0, batch = 128;
  double learning_rate = 0, momentum = 0.9, weight_decay = 0;
  std::string optimizer = "adam", schedule = "cosine";
  double clip = 1;  // largest gradient norm; 0: none
  std::vector<std::int64_t> widths{256, 128};
};

/// Reads the command line; for --help prints it and returns nothing. Throws std::invalid_argument with one clear line
/// for a flag or value that makes no sense.
std::optional<ClassifierOptions> parse_options(int argc, const char* const* argv);

}  // namespace tally::examples
