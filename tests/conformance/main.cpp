// conformance FILE... [--device cpu|cuda] [--list]
//
// Runs cases from outside: one JSON object a line, with an op's inputs, the call, and the values and gradients that
// another library found in float64. Prints a line for each case that fails or is skipped and for each op Tally does not
// have, then "N passed, N failed, N skipped". Exits with 0 if nothing failed, 1 if something did, 2 on bad usage, 77
// without the device.
//
// With --list it prints the ops it has instead; the cases are not run.

#include <fstream>
#include <iostream>

#include <tally/core/device.h>

#include "check.h"

namespace {

using namespace tally;
using namespace tally::conformance;

constexpr int kNoDevice = 77;  // "skipped" to ctest

int usage(const std::string& problem) {
  std::cerr << "conformance: " << problem << "\nusage: conformance FILE... [--device cpu|cuda] [--list]\n";
  return 2;
}

struct Totals {
  int passed = 0, failed = 0, skipped = 0;
  std::map<std::string, int> missing;

  void add(const Json& record, const Outcome& outcome) {
    const std::string id = record.at("id").get<std::string>();
    switch (outcome.kind) {
      case Outcome::passed:
        ++passed;
        break;
      case Outcome::failed:
        ++failed;
        std::cout << id << ": " << outcome.reason << '\n';
        break;
      case Outcome::skipped:
        ++skipped;
        std::cout << id << ": skipped: " << outcome.reason << '\n';
        break;
      case Outcome::missing:
        ++missing[record.at("op").get<std::string>()];
        break;
    }
  }
  void report() {
    for (const auto& [op, count] : missing) {
      std::cout << op << ": no such op, " << count << (count == 1 ? " case" : " cases") << '\n';
      skipped += count;
    }
    std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped" << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  Device device = cpu;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--list") {
      list = true;
    } else if (argument == "--device") {
      const std::string name = ++i < argc ? argv[i] : "";
      if (name != "cpu" && name != "cuda") return usage("--device is cpu or cuda, not \"" + name + "\"");
      device = name == "cpu" ? Device::cpu : Device::cuda;
    } else if (argument.starts_with("-")) {
      return usage("unknown option " + argument);
    } else {
      files.push_back(argument);
    }
  }
  if (list) {
    for (const auto& [name, call] : ops()) std::cout << name << '\n';
    return 0;
  }
  if (files.empty()) return usage("no file");
  if (!is_available(device)) {
    std::cerr << "conformance: no device " << name_of(device) << " here\n";
    return kNoDevice;
  }

  Totals totals;
  for (const std::string& name : files) {
    std::ifstream file(name);
    if (!file) return usage("cannot read " + name);
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (line.empty()) continue;
      try {
        const Json record = Json::parse(line);
        totals.add(record, check(record, device));
      } catch (const Json::exception& error) {
        ++totals.failed;
        std::cout << name << ':' << number << ": no case: " << error.what() << '\n';
      }
    }
    if (file.bad()) return usage("cannot read " + name);
  }
  totals.report();
  return totals.failed == 0 ? 0 : 1;
}
