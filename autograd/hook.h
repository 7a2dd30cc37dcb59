// Functions that see a tensor's gradient pass by, and may put another in its place.
//
//   HookHandle hook = register_hook(x, [](const Tensor& grad) { return 0.5 * grad; });
//   register_hook(y, [](const Tensor& grad) { std::cout << grad; });  // only looks
//   hook.remove();
//
// A hook runs once a walk, on the whole gradient: after all contributions have been added, before the gradient goes on
// to the op that made the tensor, into a leaf's grad() or to the caller of grad(). Several hooks run in the order they
// were registered, each on what the one before has made of it. A walk that brings the tensor no gradient runs none.
// Under create_graph what a hook computes is recorded.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <tally/core/tensor.h>

namespace tally {

/// Gives the gradient to go on with; an undefined tensor leaves it as it is.
using GradientHook = std::function<Tensor(const Tensor& grad)>;

namespace detail {
struct Hook {
  int output;  // which result of the node; 0 for a leaf
  GradientHook run;
  Where where;
};
}  // namespace detail

/// Removes its hook when asked, not when it goes.
class HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::weak_ptr<detail::Hook> hook) : hook_(std::move(hook)) {}
  /// The hook runs no more. A second call, or one after the tensor is gone, does nothing.
  void remove();

 private:
  std::weak_ptr<detail::Hook> hook_;
};

/// `hook` on the gradient of x, a leaf that requires grad or what an op made of one; AutogradError for any other.
/// What it returns passes the same door as an op's gradients: AutogradError, with the line of this call, unless shape,
/// dtype and device fit. It lives as long as the leaf, or the op, and must not hold x: that would be a cycle.
HookHandle add_hook(const Tensor& x, GradientHook hook, Where where);

/// The same for a function that gives a tensor, or nothing and only looks.
template <class F> HookHandle register_hook(const Tensor& x, F hook, Where where = Where::here()) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&, const Tensor&>>)
    return add_hook(
        x,
        [hook = std::move(hook)](const Tensor& grad) mutable {
          hook(grad);
          return Tensor();
        },
        where);
  else
    return add_hook(x, std::move(hook), where);
}

/// Of one leaf, or of one op.
struct Hooks {
  std::vector<std::shared_ptr<detail::Hook>> list;
};

namespace detail {
/// What the hooks on result `output` make of its gradient.
Tensor run_hooks(const std::shared_ptr<Hooks>& hooks, int output, Tensor grad);
}  // namespace detail

}  // namespace tally
