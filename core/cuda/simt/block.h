// One OS thread's block of CUDA threads, and what they wait for. A thread that must wait is taken from the ready list,
// so nothing polls, and a block in which nobody is ready but not all have returned is stuck.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <tally/core/cuda/simt/fiber.h>
#include <tally/core/cuda/simt/scheduler.h>
#include <tally/core/cuda/simt/shared_memory.h>

namespace tally::gpu::simt {

class Block {
 public:
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Before a launch's first block on this OS thread.
  void prepare(const Launch& launch);
  /// Runs one block in the order that `seed` gives. Throws what a thread threw, or a report.
  void run(uint3 index, std::uint64_t seed);

  // For the running thread.
  void exchange(const Exchange& exchange);
  unsigned vote(const Exchange& exchange, bool predicate);
  int barrier(const char* what, bool predicate, Where where);
  [[noreturn]] void fail(const std::string& text, Where where);
  unsigned lane() const { return current_ % 32; }
  void begin_early() { ++begun_early_; }
  SharedMemory& shared() { return shared_; }

 private:
  struct Abandoned {};  // leaves a thread whose block has failed
  enum class State { ready, exchanging, at_barrier, returned };
  struct Thread {
    Fiber* fiber = nullptr;  // since it has begun
    uint3 index = {0, 0, 0};
    State state = State::returned;
    Exchange exchange = {};  // what and where it waits, at a barrier too
    bool predicate = false;
    unsigned result = 0;  // of a vote or a barrier
  };
  struct Warp {
    unsigned waiting = 0, present = 0;  // lanes, as masks
    unsigned exchanges = 0;
    std::uint64_t meetings[2] = {};  // where ThreadSanitizer sees lanes meet, in turn
  };

  bool choose();
  Fiber* idle_fiber();
  void serve(Fiber* fiber);
  void run_thread();
  void wait();
  void wake(unsigned thread);
  void complete(unsigned mask);
  void check_mask(const Exchange& exchange);
  [[noreturn]] void fail_at_two_barriers(Where where);
  void release_barrier();
  void abandon();
  std::string stuck() const;
  Thread& self() { return threads_[current_]; }

  const Launch* launch_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;  // as many as ever were needed at once
  std::vector<Fiber*> idle_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<unsigned> ready_;
  SharedMemory shared_;
  std::uint64_t random_ = 0;
  unsigned living_ = 0, at_barrier_ = 0, current_ = 0, begun_early_ = 0;
  unsigned barriers_ = 0;
  std::uint64_t meetings_[2] = {}, started_ = 0, ended_ = 0;  // for ThreadSanitizer, as in a warp
  Where barrier_;                                             // where the first that waits came from
  bool abandoned_ = false;
  std::exception_ptr error_;
};

inline std::uint64_t mixed(std::uint64_t x) {  // the finisher of splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The block that this OS thread runs.
inline constinit thread_local Block* current_block = nullptr;

}  // namespace tally::gpu::simt
