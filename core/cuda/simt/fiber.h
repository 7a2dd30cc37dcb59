// A fiber: a function with a stack of its own that can leave the processor in the middle and go on later.
#pragma once

#include <functional>

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <tally/core/cuda/simt/sanitizer.h>

namespace tally::gpu::simt {

// On Boost.Context's switch itself, not its fiber class: that one unwinds the stack by an exception at the end and
// enters it at the start, both of which the sanitizers would have to be told about.
class Fiber {
 public:
  /// `body` starts with the first `resume`; it must neither return nor let an exception out.
  explicit Fiber(std::function<void()> body);
  /// The body must hold nothing where it last yielded: its stack just goes.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Called from outside: goes on with the body until it yields.
  void resume();
  /// Called from the body: goes back to who resumed it.
  void yield();

 private:
  static void enter(boost::context::detail::transfer_t outside);

  std::function<void()> body_;
  boost::context::stack_context stack_;
  boost::context::detail::fcontext_t inside_ = nullptr, outside_ = nullptr;
#if defined(TALLY_ASAN)
  const void* outside_stack_ = nullptr;
  std::size_t outside_bytes_ = 0;
#endif
#if defined(TALLY_TSAN)
  void *inside_thread_ = nullptr, *outside_thread_ = nullptr;
#endif
};

}  // namespace tally::gpu::simt
