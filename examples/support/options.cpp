#include <tally/examples/support/options.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <stdexcept>

#include <tally/core/cuda/device.h>
#include <tally/core/error.h>

namespace tally::examples {

CLI::Validator number(const std::string& what, bool (*holds)(double)) {
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        return CLI::detail::lexical_cast(text, value) && holds(value) ? "" : "takes " + what + ", not " + text;
      },
      "");
}

const CLI::Validator kPositive = number("a number above 0", [](double x) { return x > 0; });
const CLI::Validator kCount =
    number("a whole number from 1 to 1000000", [](double x) { return x >= 1 && x <= 1e6 && x == std::floor(x); });
const CLI::Validator kNotNegative = number("a number from 0 up", [](double x) { return x >= 0; });
const CLI::Validator kSeed =
    number("a whole number from 0 up", [](double x) { return x >= 0 && x < 0x1p64 && x == std::floor(x); });
const CLI::Validator kShare = number("a number from 0 to 1", [](double x) { return x >= 0 && x <= 1; });

std::vector<std::int64_t> counts(const std::string& option, const std::string& text) {
  std::vector<std::int64_t> found;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    std::string one = text.substr(start, end - start);
    if (!kCount(one).empty())
      throw ValueError(option, "takes whole numbers from 1 to 1000000 with commas between, not " + text, {});
    found.push_back(static_cast<std::int64_t>(std::stod(one)));
    start = end + 1;
  }
  return found;
}

CLI::Validator one_of(const std::string& a, const std::string& b) {
  return CLI::Validator(
      [=](std::string& text) { return text == a || text == b ? "" : "takes " + a + " or " + b + ", not " + text; }, "");
}

bool parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::ExtrasError&) {
    std::string all;  // CLI11 says them last first
    for (const std::string& one : app.remaining()) all += " " + one;
    throw std::invalid_argument("not expected:" + all + "; --help lists what there is");
  } catch (const CLI::Error& error) {
    throw std::invalid_argument(std::string(error.what()) + "; --help lists what there is");
  }
  return true;
}

void add_device(CLI::App& app, std::string& name) {
  app.add_option("--device", name, "cpu or cuda (default: cpu)")->check(one_of("cpu", "cuda"))->type_name("NAME");
}

Device device_of(const std::string& name) {
  const Device device = name == "cuda" ? Device::cuda : Device::cpu;
  if (!is_available(device))
    throw DeviceError("--device " + name, gpu::describe() + (kHasCuda ? "" : "; for CUDA, build where a toolkit is"),
                      {});
  return device;
}

}  // namespace tally::examples
