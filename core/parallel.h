// The CPU's threads. Work is split at fixed places, and no result depends on how many threads there are.
#pragma once

#include <cstdint>
#include <functional>

namespace tally {

/// Threads the CPU kernels use; from TALLY_NUM_THREADS, else the hardware's count. A child of fork() starts its own.
int num_threads();
/// Sets it for the process. At least 1.
void set_num_threads(int count);

/// f(begin, end) over [0, count), in pieces of at least `grain`; runs here alone where one piece is all there is.
/// An exception of a piece is thrown here after all pieces have ended. Inside f, a nested call runs alone.
void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& f);

/// Standard float behaviour for a scope: round to nearest, subnormals kept. One fast-math library in the process is
/// enough to change that for all threads.
class FloatGuard {
 public:
  /// On this thread; the destructor restores what was.
  FloatGuard();
  ~FloatGuard();
  FloatGuard(const FloatGuard&) = delete;
  FloatGuard& operator=(const FloatGuard&) = delete;

 private:
  unsigned before_;
};

}  // namespace tally
