#include <tally/autograd/hook.h>

#include <algorithm>

#include <tally/autograd/blame.h>
#include <tally/autograd/node.h>
#include <tally/core/error.h>

namespace tally {

void HookHandle::remove() {
  if (const auto hook = hook_.lock()) hook->run = nullptr;
}

HookHandle add_hook(const Tensor& x, GradientHook hook, Where where) {
  if (!x.defined()) throw AutogradError("register_hook", "the tensor is undefined", where);
  if (!x.requires_grad())
    throw AutogradError("register_hook", describe(x) + " does not require grad: no gradient will pass", where);
  TensorBody& body = x.body();
  std::shared_ptr<Hooks>& hooks = body.node ? body.node->hooks : body.hooks;
  if (!hooks) hooks = std::make_shared<Hooks>();
  hooks->list.erase(
      std::remove_if(hooks->list.begin(), hooks->list.end(), [](const auto& one) { return one->run == nullptr; }),
      hooks->list.end());
  hooks->list.push_back(std::make_shared<detail::Hook>(detail::Hook{body.output, std::move(hook), where}));
  return HookHandle(hooks->list.back());
}

Tensor detail::run_hooks(const std::shared_ptr<Hooks>& hooks, int output, Tensor grad) {
  if (!hooks || !grad.defined()) return grad;
  const std::vector<std::shared_ptr<Hook>> list = hooks->list;  // a hook may register or remove hooks
  for (const auto& hook : list) {
    const GradientHook run = hook->run;
    if (!run || hook->output != output) continue;
    Tensor other;
    try {
      other = run(grad);
    } catch (...) {
      rethrow_with("in the hook registered at " + line_of(hook->where));
    }
    if (!other.defined()) continue;
    if (other.shape() != grad.shape() || other.dtype() != grad.dtype() || other.device() != grad.device())
      throw AutogradError("register_hook", "the hook returned " + describe(other) + " for " + describe(grad),
                          hook->where);
    grad = std::move(other);
  }
  return grad;
}

}  // namespace tally
