#include <tally/core/cuda/simt/fiber.h>

namespace tally::cuda::simt {

namespace {

namespace context = boost::context;

#if defined(TALLY_ASAN) || defined(TALLY_TSAN)
constexpr std::size_t kStackBytes = 256 * 1024;
#else
constexpr std::size_t kStackBytes = 64 * 1024;
#endif

}  // namespace

// The stack has a guard page: a kernel that needs more than it holds crashes at once instead of writing elsewhere.
Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {
  context::protected_fixedsize_stack stacks(kStackBytes);
  stack_ = stacks.allocate();
  inside_ = context::fiber(std::allocator_arg, context::preallocated(stack_.sp, stack_.size, stack_), stacks,
                           [this](context::fiber&& outside) { return enter(std::move(outside)); });
}

Fiber::~Fiber() {
#if defined(TALLY_TSAN)
  __tsan_destroy_fiber(inside_thread_);
#endif
}

context::fiber Fiber::enter(context::fiber&& outside) {
  outside_ = std::move(outside);
#if defined(TALLY_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &outside_stack_, &outside_bytes_);
#endif
  body_();
#if defined(TALLY_ASAN)
  __sanitizer_start_switch_fiber(nullptr, outside_stack_, outside_bytes_);
#endif
#if defined(TALLY_TSAN)
  __tsan_switch_to_fiber(outside_thread_, __tsan_switch_to_fiber_no_sync);
#endif
  return std::move(outside_);
}

void Fiber::resume() {
#if defined(TALLY_ASAN)
  void* own = nullptr;
  __sanitizer_start_switch_fiber(&own, static_cast<char*>(stack_.sp) - stack_.size, stack_.size);
#endif
#if defined(TALLY_TSAN)
  outside_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(inside_thread_, __tsan_switch_to_fiber_no_sync);
#endif
  inside_ = std::move(inside_).resume();
#if defined(TALLY_ASAN)
  __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
#endif
}

void Fiber::yield() {
#if defined(TALLY_ASAN)
  void* own = nullptr;
  __sanitizer_start_switch_fiber(&own, outside_stack_, outside_bytes_);
#endif
#if defined(TALLY_TSAN)
  __tsan_switch_to_fiber(outside_thread_, __tsan_switch_to_fiber_no_sync);
#endif
  outside_ = std::move(outside_).resume();
#if defined(TALLY_ASAN)
  __sanitizer_finish_switch_fiber(own, &outside_stack_, &outside_bytes_);
#endif
}

}  // namespace tally::cuda::simt
