#include <tally/examples/support/options.h>

#include <cmath>
#include <iostream>

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
    number("a whole number from 1 up", [](double x) { return x >= 1 && x <= 1e6 && x == std::floor(x); });
const CLI::Validator kNotNegative = number("a number from 0 up", [](double x) { return x >= 0; });
const CLI::Validator kShare = number("a number from 0 to 1", [](double x) { return x >= 0 && x <= 1; });

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
  } catch (const CLI::Error& error) {
    throw ValueError("options", std::string(error.what()) + "; --help lists what there is", {});
  }
  return true;
}

void add_device(CLI::App& app, std::string& name) {
  app.add_option("--device", name, "cpu or cuda (default: cpu)")->check(one_of("cpu", "cuda"))->type_name("NAME");
}

Device device_of(const std::string& name) {
  const Device device = name == "cuda" ? Device::cuda : Device::cpu;
  if (!is_available(device)) throw DeviceError("options", "--device " + name + ": " + gpu::describe(), {});
  return device;
}

}  // namespace tally::examples
