// What verify_op says to its reader.
#include <algorithm>

#include <tally/autograd/verify.h>

namespace tally {

const char* name_of(Check check) {
  const char* names[] = {"laws",  "value",   "gradient", "second_order", "layouts",      "repeat",
                         "edges", "devices", "threads",  "contraction",  "flush_to_zero"};
  return names[static_cast<int>(check)];
}

bool Verification::ok() const {
  return std::none_of(results.begin(), results.end(),
                      [](const CheckResult& one) { return one.outcome == CheckResult::failed; });
}

bool Verification::failed(Check check) const {
  return std::any_of(results.begin(), results.end(), [check](const CheckResult& one) {
    return one.check == check && one.outcome == CheckResult::failed;
  });
}

std::string Verification::explain() const {
  std::string text = ok() ? "verify_op: passed\n" : "verify_op: failed\n";
  for (const CheckResult& one : results) {
    text += std::string("  ") + name_of(one.check) + ": ";
    switch (one.outcome) {
      case CheckResult::passed:
        text += "passed\n";
        break;
      case CheckResult::left_out:
        text += "left out, " + one.text + "\n";
        break;
      case CheckResult::failed:
        text += "FAILED\n    ";
        for (const char c : one.text) text += c == '\n' ? "\n    " : std::string(1, c);
        text += "\n";
    }
  }
  return text;
}

}  // namespace tally
