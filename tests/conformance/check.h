// Runs one case: its values, then its gradients.
#pragma once

#include "table.h"

namespace tally::conformance {

struct Outcome {
  enum Kind { passed, failed, skipped, missing } kind;
  std::string reason = {};  // what differs, or why it was skipped
};

Outcome check(const Json& record, Device device);

}  // namespace tally::conformance
