#include <tally/autograd/no_grad.h>

namespace tally {
namespace {
thread_local bool enabled = true;
}  // namespace

bool grad_enabled() { return enabled; }
GradMode::GradMode(bool on) : before_(std::exchange(enabled, on)) {}
GradMode::~GradMode() { enabled = before_; }

}  // namespace tally
