#include <tally/examples/support/program.h>

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

#include <tally/core/error.h>

namespace tally::examples {

int run_program(const char* name, const std::function<void()>& f) {
  const auto report = [name](const std::exception& error, int status) {
    const std::string text = error.what();
    std::cerr << name << ": " << text.substr(0, text.find('\n')) << std::endl;
    return status;
  };
  try {
    f();
    if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout))
      throw std::runtime_error("standard output cannot be written");
    return 0;
  } catch (const std::invalid_argument& error) {
    return report(error, 2);
  } catch (const IoError& error) {
    return report(error, 2);
  } catch (const IndexError& error) {
    return report(error, 2);
  } catch (const std::exception& error) {
    return report(error, 1);
  }
}

}  // namespace tally::examples
