// How long each op's backward takes: measured in a scope, shown by to_dot and to_tree.
#pragma once

#include <tally/autograd/graph_mode.h>

namespace tally {

/// In its scope, walks of this thread measure each op's backward. They wait for the device after each, so the sum is
/// more than an undisturbed walk takes.
struct BackwardTimer : detail::Switch {
  BackwardTimer() : Switch(&detail::GraphMode::time, true) {}
};

}  // namespace tally
