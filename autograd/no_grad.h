// Whether ops record. A flag of each thread: a new thread starts recording, whatever its parent does.
#pragma once

#include <utility>

#include <tally/autograd/graph_mode.h>

namespace tally {

/// Whether this thread records.
bool grad_enabled();

/// Sets the flag for a scope and restores it, also when an exception leaves.
struct GradMode : detail::Switch {
  explicit GradMode(bool enabled) : Switch(&detail::GraphMode::record, enabled) {}
};

/// A scope that records nothing.
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};

/// f() without recording.
template <class F> decltype(auto) no_grad(F&& f) {
  NoGrad guard;
  return std::forward<F>(f)();
}

}  // namespace tally
