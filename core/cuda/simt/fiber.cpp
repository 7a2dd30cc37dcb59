#include <tally/core/cuda/simt/fiber.h>

#include <atomic>

namespace tally::gpu::simt {

namespace {

namespace context = boost::context::detail;

#if defined(TALLY_ASAN) || defined(TALLY_TSAN)
constexpr std::size_t kStackBytes = 256 * 1024;
#else
constexpr std::size_t kStackBytes = 64 * 1024;
#endif

// Has a guard page: a kernel that needs more than it holds crashes at once instead of writing elsewhere.
boost::context::protected_fixedsize_stack stacks(kStackBytes);

}  // namespace

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)),
      stack_(stacks.allocate()),
      inside_(context::make_fcontext(stack_.sp, stack_.size, enter)) {
#if defined(TALLY_TSAN)
  inside_thread_ = __tsan_create_fiber(0);
  outside_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(inside_thread_, 0);
  Untracked::begin();
  __tsan_switch_to_fiber(outside_thread_, 0);
#endif
}

Fiber::~Fiber() {
#if defined(TALLY_TSAN)
  outside_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(inside_thread_, 0);
  Untracked::end();
  __tsan_switch_to_fiber(outside_thread_, 0);
  __tsan_destroy_fiber(inside_thread_);
#endif
  stacks.deallocate(stack_);
}

void Fiber::enter(context::transfer_t outside) {
  Fiber& fiber = *static_cast<Fiber*>(outside.data);
  fiber.outside_ = outside.fctx;
#if defined(TALLY_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &fiber.outside_stack_, &fiber.outside_bytes_);
#endif
  fiber.body_();
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
  inside_ = context::jump_fcontext(inside_, this).fctx;
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
  outside_ = context::jump_fcontext(outside_, nullptr).fctx;
#if defined(TALLY_ASAN)
  __sanitizer_finish_switch_fiber(own, &outside_stack_, &outside_bytes_);
#endif
}

}  // namespace tally::gpu::simt
