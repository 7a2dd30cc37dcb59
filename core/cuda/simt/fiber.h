// A fiber: a function with a stack of its own that can leave the processor in the middle and go on later.
#pragma once

#include <functional>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <tally/core/cuda/simt/sanitizer.h>

namespace tally::cuda::simt {

class Fiber {
 public:
  /// `body` starts with the first `resume`; it must not let an exception out.
  explicit Fiber(std::function<void()> body);
  ~Fiber();  // the body must have returned
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Called from outside: goes on with the body until it yields or returns.
  void resume();
  /// Called from the body: goes back to who resumed it.
  void yield();

 private:
  boost::context::fiber enter(boost::context::fiber&& outside);

  std::function<void()> body_;
  boost::context::stack_context stack_;
  boost::context::fiber inside_, outside_;
#if defined(TALLY_ASAN)
  const void* outside_stack_ = nullptr;
  std::size_t outside_bytes_ = 0;
#endif
#if defined(TALLY_TSAN)
  void* inside_thread_ = __tsan_create_fiber(0);
  void* outside_thread_ = nullptr;
#endif
};

}  // namespace tally::cuda::simt
