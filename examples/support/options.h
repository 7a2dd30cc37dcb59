// The command line as all programs take it, through CLI11: what it gets wrong is one clear line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <tally/core/device.h>

namespace tally::examples {

/// Accepts numbers for which `holds`; CLI11's own checks say more than anybody wants to know.
CLI::Validator number(const std::string& what, bool (*holds)(double));
extern const CLI::Validator kPositive, kCount, kNotNegative, kSeed, kShare;

CLI::Validator one_of(const std::string& a, const std::string& b);

/// The numbers of a list such as 256,128, each as kCount takes it; else ValueError "option: ...".
std::vector<std::int64_t> counts(const std::string& option, const std::string& text);

/// False after --help, which is printed here. std::invalid_argument for what the line gets wrong.
bool parse(CLI::App& app, int argc, const char* const* argv);

/// --device cpu|cuda; after parse(), device_of gives the device, or throws DeviceError where there is none.
void add_device(CLI::App& app, std::string& name);
Device device_of(const std::string& name);

}  // namespace tally::examples
