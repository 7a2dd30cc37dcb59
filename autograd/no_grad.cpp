#include <tally/autograd/no_grad.h>

namespace tally {

detail::GraphMode& detail::graph_mode() {
  thread_local GraphMode mode;
  return mode;
}

bool grad_enabled() { return detail::graph_mode().record; }

}  // namespace tally
