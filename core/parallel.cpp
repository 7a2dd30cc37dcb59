#include <tally/core/parallel.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tally {
namespace {

thread_local bool inside = false;  // a piece is running on this thread

/// Workers that wait for a job, take pieces until none is left, and spin a little before they sleep.
class Pool {
 public:
  explicit Pool(int workers) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      round_.fetch_add(1);
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
    std::lock_guard one_job(job_mutex_);
    {
      std::lock_guard lock(mutex_);
      piece_ = &piece;
      pieces_ = pieces;
      next_.store(0);
      error_ = nullptr;
      busy_.store(static_cast<int>(threads_.size()));
      round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    take_pieces();
    while (busy_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work() {
    std::uint64_t seen = 0;
    while (true) {
      for (int spin = 0; spin < 2000 && round_.load(std::memory_order_acquire) == seen; ++spin)
        if (spin % 64 == 63) std::this_thread::yield();
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return round_.load() != seen; });
        seen = round_.load();
        if (stop_) return;
      }
      take_pieces();
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  void take_pieces() {
    inside = true;
    {
      FloatGuard guard;
      for (std::int64_t i; (i = next_.fetch_add(1)) < pieces_;) {
        try {
          (*piece_)(i);
        } catch (...) {
          std::lock_guard lock(mutex_);
          if (!error_) error_ = std::current_exception();
        }
      }
    }
    inside = false;
  }

  std::mutex mutex_, job_mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::int64_t> next_{0};
  std::atomic<int> busy_{0};
  const std::function<void(std::int64_t)>* piece_ = nullptr;
  std::int64_t pieces_ = 0;
  std::exception_ptr error_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

int default_threads() {
  if (const char* text = std::getenv("TALLY_NUM_THREADS"))
    if (const int count = std::atoi(text); count > 0) return count;
  return std::max(1u, std::thread::hardware_concurrency());
}

std::mutex pool_mutex;
std::shared_ptr<Pool> pool;
std::atomic<int> threads{0};

// A child of fork() has none of the pool's threads, and what they or others held locked stays so. It begins without a
// pool; the old one is never destroyed, as that would wait for them.
void begin_child() {
  std::construct_at(&pool_mutex);
  std::construct_at(&pool);
}
[[maybe_unused]] const int at_fork = ::pthread_atfork(nullptr, nullptr, begin_child);

std::shared_ptr<Pool> current_pool() {
  std::lock_guard lock(pool_mutex);
  if (!pool) pool = std::make_shared<Pool>(num_threads() - 1);
  return pool;
}

}  // namespace

int num_threads() {
  int count = threads.load();
  if (count == 0) threads.store(count = default_threads());
  return count;
}

void set_num_threads(int count) {
  std::shared_ptr<Pool> old;  // its threads end after the lock does
  std::lock_guard lock(pool_mutex);
  threads.store(std::max(1, count));
  old.swap(pool);
}

void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& f) {
  if (count <= 0) return;
  const std::int64_t limit = (count + grain - 1) / grain;
  const std::int64_t pieces = inside ? 1 : std::min<std::int64_t>(limit, num_threads() == 1 ? 1 : 4 * num_threads());
  if (pieces <= 1) {
    FloatGuard guard;
    return f(0, count);
  }
  const std::int64_t step = (count + pieces - 1) / pieces;
  current_pool()->run(pieces, [&](std::int64_t i) {
    const std::int64_t begin = i * step, end = std::min(count, begin + step);
    if (begin < end) f(begin, end);
  });
}

#if defined(__x86_64__)
FloatGuard::FloatGuard() : before_(_mm_getcsr()) {
  constexpr unsigned kStandard = 0x1f80;  // all exceptions masked, nearest, no flush to zero
  if ((before_ & ~0x3fu) != kStandard) _mm_setcsr(kStandard);
}
FloatGuard::~FloatGuard() {
  if ((before_ & ~0x3fu) != 0x1f80) _mm_setcsr(before_);
}
#else
FloatGuard::FloatGuard() : before_(0) {}
FloatGuard::~FloatGuard() = default;
#endif

}  // namespace tally
