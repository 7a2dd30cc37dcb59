// What the sanitizers must be told about fibers: where the stack is (address) and who is ordered after whom (thread).
// Nothing in a build without them.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TALLY_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define TALLY_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TALLY_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define TALLY_TSAN 1
#endif

#if defined(TALLY_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(TALLY_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace tally::gpu::simt {

#if defined(TALLY_ASAN)
constexpr bool kAsan = true;
#else
constexpr bool kAsan = false;
#endif

#if defined(TALLY_TSAN)
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif

/// All that was released at `address` before happened before what follows; and the reverse.
inline void acquire([[maybe_unused]] void* address) {
#if defined(TALLY_TSAN)
  __tsan_acquire(address);
#endif
}
inline void release([[maybe_unused]] void* address) {
#if defined(TALLY_TSAN)
  __tsan_release(address);
#endif
}

/// The runtime's own data is touched by all fibers of a thread, one at a time, which ThreadSanitizer cannot know: it is
/// told to look at kernels' accesses only.
struct Untracked {
  Untracked() { begin(); }
  ~Untracked() { end(); }
  Untracked(const Untracked&) = delete;
  Untracked& operator=(const Untracked&) = delete;

  static void begin() {
#if defined(TALLY_TSAN)
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  }
  static void end() {
#if defined(TALLY_TSAN)
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
  }
};

/// In a fiber, which is untracked from its start: the kernel begins here.
struct Tracked {
  Tracked() { Untracked::end(); }
  ~Tracked() { Untracked::begin(); }
  Tracked(const Tracked&) = delete;
  Tracked& operator=(const Tracked&) = delete;
};

}  // namespace tally::gpu::simt
