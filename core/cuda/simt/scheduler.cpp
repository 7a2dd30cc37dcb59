#include <tally/core/cuda/simt/scheduler.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>

#include <tally/core/cuda/blocks.h>
#include <tally/core/cuda/simt/block.h>
#include <tally/core/cuda/simt/device.h>

namespace tally::gpu::simt {

namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::atomic<std::uint64_t> seed = from_environment("TALLY_SIMT_SEED", 1);
std::atomic<int> threads = static_cast<int>(std::max<std::uint64_t>(
    from_environment("TALLY_SIMT_THREADS", std::min(std::thread::hardware_concurrency(), 8u)), 1));

// Visits 0..count-1 in an order that the seed gives: i -> first + i * step mod count, step without common divisor.
struct Order {
  Order(std::uint64_t count, std::uint64_t seed) : count(count), first(mixed(seed) % count), step(1) {
    for (std::uint64_t i = 1; count > 2; ++i) {
      step = mixed(seed + i) % count;
      if (std::gcd(step, count) == 1) break;
    }
  }
  std::uint64_t operator()(std::uint64_t i) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(i) * step + first) % count);
  }
  std::uint64_t count, first, step;
};

// One launch: what is left of its blocks, and the first error.
struct Job {
  const Launch& launch;
  Order order;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr error = nullptr;  // of whoever set `failed`

  uint3 index(std::uint64_t linear) const {
    const std::uint64_t x = launch.grid.x, y = launch.grid.y;
    return {unsigned(linear % x), unsigned(linear / x % y), unsigned(linear / (x * y))};
  }

  void work() {
    thread_local Block block;
    Untracked untracked;
    try {
      block.prepare(launch);
      for (std::uint64_t i; !failed && (i = next++) < order.count;)
        block.run(index(order(i)), mixed(seed + mixed(order(i))));
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
};

// Threads that help the one that launches.
class Helpers {
 public:
  ~Helpers() {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Runs the job with so many helpers and the calling thread; returns when all are done.
  void run(Job& job, int helpers) {
    {
      std::lock_guard lock(mutex_);
      while (static_cast<int>(threads_.size()) < helpers) threads_.emplace_back([this] { live(); });
      job_ = &job;
      wanted_ = helpers;
    }
    if (helpers > 0) changed_.notify_all();
    job.work();
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // who has not begun need not
    changed_.wait(lock, [&] { return busy_ == 0; });
  }

 private:
  void live() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closing_ || wanted_ > 0; });
      if (closing_) return;
      --wanted_;
      ++busy_;
      lock.unlock();
      job_->work();
      lock.lock();
      if (--busy_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  Job* job_ = nullptr;
  int wanted_ = 0, busy_ = 0;
  bool closing_ = false;
};

}  // namespace

void set_seed(std::uint64_t value) { seed = value; }
void set_threads(int count) { threads = std::max(count, 1); }

void run(const Launch& launch) {
  static std::mutex one_kernel;
  static Helpers helpers;
  std::lock_guard lock(one_kernel);
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  Job job{launch, Order(blocks, seed)};
  helpers.run(job, static_cast<int>(std::min<std::uint64_t>(threads, blocks)) - 1);
  if (job.error) std::rethrow_exception(job.error);
}

void exchange(const Exchange& exchange) {
  Untracked untracked;
  current_block->exchange(exchange);
}

unsigned vote(const char* what, unsigned mask, bool predicate, Where where) {
  Untracked untracked;
  return current_block->vote({what, where, mask, nullptr, nullptr, 0, 0, false}, predicate);
}

int barrier(const char* what, bool predicate, Where where) {
  Untracked untracked;
  return current_block->barrier(what, predicate, where);
}

// ThreadSanitizer knows no fences: all that a thread did before its fence is before what another does after a later
// one.
void begin_early() { current_block->begin_early(); }

void fence() {
  static char meeting_point;
  std::atomic_signal_fence(std::memory_order_seq_cst);
#if !defined(TALLY_TSAN)
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  release(&meeting_point);
  acquire(&meeting_point);
}

void look_again(unsigned looked) {
  Untracked untracked;
  if (looked > 1u << 25) current_block->fail("waits for what no other block stores", Where{});
  std::this_thread::yield();
}

int lane_index() { return static_cast<int>(current_block->lane()); }

void* dynamic_shared() {
  Untracked untracked;
  return current_block->shared().dynamic();
}

void* static_shared(const void* kind, std::size_t bytes, std::size_t alignment, Where where) {
  Untracked untracked;
  void* memory = current_block->shared().fixed(kind, bytes, alignment, where);
  if (!memory)
    current_block->fail("names a type in shared<T>() that another line names too: they are one memory", where);
  return memory;
}

void misaligned(const void* address, std::size_t bytes) {
  Untracked untracked;
  const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(address) % bytes;
  current_block->fail("accesses " + std::to_string(bytes) + " bytes at an address that is " + std::to_string(past) +
                          " past a multiple of that",
                      Where{});
}

}  // namespace tally::gpu::simt
