#include <tally/core/cuda/simt/block.h>

#include <cfenv>
#include <cstring>

#include <tally/core/cuda/simt/device.h>
#include <tally/core/error.h>

namespace tally::gpu::simt {

namespace {

bool same_place(Where a, Where b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

bool fit(const Exchange& a, const Exchange& b) {
  return a.mask == b.mask && a.bytes == b.bytes && std::strcmp(a.what, b.what) == 0;
}

}  // namespace

void Block::prepare(const Launch& launch) {
  launch_ = &launch;
  const dim3& size = launch.block;
  shared_.prepare(launch.shared_bytes);
  threads_.assign(std::size_t{size.x} * size.y * size.z, {});
  warps_.resize((threads_.size() + 31) / 32);
  for (unsigned i = 0; i < threads_.size(); ++i)
    threads_[i].index = {i % size.x, i / size.x % size.y, i / (size.x * size.y)};
}

void Block::run(uint3 index, std::uint64_t seed) {
  shared_.poison();
  random_ = seed;
  blockIdx = index;
  blockDim = launch_->block;
  gridDim = launch_->grid;
  const unsigned count = static_cast<unsigned>(threads_.size());
  for (Warp& warp : warps_) warp.present = warp.waiting = 0;
  ready_.clear();
  idle_.clear();
  for (const std::unique_ptr<Fiber>& fiber : fibers_) idle_.push_back(fiber.get());
  for (unsigned i = 0; i < count; ++i) {
    threads_[i].fiber = nullptr;
    warps_[i / 32].present |= 1u << i % 32;
    wake(i);
  }
  living_ = count;
  at_barrier_ = begun_early_ = 0;
  abandoned_ = false;
  error_ = nullptr;
  current_block = this;
  release(&started_);
  while (choose()) {
    if (!self().fiber) self().fiber = idle_fiber();
    self().fiber->resume();
  }
  if (living_ > 0 && !error_) error_ = std::make_exception_ptr(CudaError(launch_->name, stuck(), Where{}));
  if (living_ > 0) abandon();
  if (!error_ && shared_.overrun())
    error_ = std::make_exception_ptr(CudaError(launch_->name, "writes past the end of its shared memory", Where{}));
  if (!error_ && launch_->early && begun_early_ != count)
    error_ = std::make_exception_ptr(
        CudaError(launch_->name, "is launched early, but not all its threads call begin_early() once", Where{}));
  acquire(&ended_);
  current_block = nullptr;
  if (error_) std::rethrow_exception(error_);
}

// Any thread that is ready may be the next, so that every order will be met with some seed.
bool Block::choose() {
  if (ready_.empty() || error_) return false;
  random_ = mixed(random_);
  std::swap(ready_[(random_ >> 32) * ready_.size() >> 32], ready_.back());
  current_ = ready_.back();
  ready_.pop_back();
  threadIdx = self().index;
  return true;
}

Fiber* Block::idle_fiber() {
  if (idle_.empty()) {
    const std::size_t number = fibers_.size();
    fibers_.push_back(std::make_unique<Fiber>([this, number] { serve(fibers_[number].get()); }));
    return fibers_.back().get();
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

// A fiber runs one thread after another: if none of them waits, the block needs no switch at all. ThreadSanitizer would
// take what one fiber does for ordered, so there each thread of a block has its own.
void Block::serve(Fiber* fiber) {
  std::fesetenv(FE_DFL_ENV);  // a fast-math library in the process may have set the caller's to flush subnormals
  for (;;) {
    run_thread();
    if (!kTsan && choose()) {
      if (!self().fiber) {
        self().fiber = fiber;
        continue;
      }
      ready_.push_back(current_);
    }
    if (!kTsan) idle_.push_back(fiber);
    fiber->yield();
  }
}

void Block::run_thread() {
  acquire(&started_);
  try {
    Tracked tracked;
    launch_->body();
  } catch (const Abandoned&) {
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
  release(&ended_);
  self().state = State::returned;
  warps_[current_ / 32].present &= ~(1u << lane());
  --living_;
  if (living_ > 0 && at_barrier_ == living_ && !abandoned_) release_barrier();
}

// Each thread that has begun leaves through an exception, so that what it holds is released.
void Block::abandon() {
  abandoned_ = true;
  for (current_ = 0; current_ < threads_.size(); ++current_)
    if (self().fiber && self().state != State::returned) self().fiber->resume();
}

void Block::wait() {
  self().fiber->yield();
  if (abandoned_) throw Abandoned();
}

void Block::wake(unsigned thread) {
  threads_[thread].state = State::ready;
  ready_.push_back(thread);
}

void Block::exchange(const Exchange& exchange) {
  Warp& warp = warps_[current_ / 32];
  const unsigned mask = exchange.mask;
  check_mask(exchange);
  void* meeting = exchange.orders_memory ? &warp.meetings[warp.exchanges % 2] : nullptr;
  if (meeting) release(meeting);
  self().exchange = exchange;
  self().state = State::exchanging;
  warp.waiting |= 1u << lane();
  bool whole = (warp.waiting & mask) == mask;
  const Thread* first = &threads_[current_ / 32 * 32];
  for (unsigned i = 0; whole && i < 32; ++i)
    if (mask >> i & 1) whole = fit(first[i].exchange, exchange);
  if (whole)
    complete(mask);
  else
    wait();
  if (meeting) acquire(meeting);
}

void Block::complete(unsigned mask) {
  const unsigned first = current_ / 32 * 32;
  unsigned votes = 0;
  for (unsigned i = 0; i < 32; ++i)
    if ((mask >> i & 1) && threads_[first + i].predicate) votes |= 1u << i;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    Thread& thread = threads_[first + i];
    const Exchange& wish = thread.exchange;
    if (wish.bytes > 0) std::memcpy(wish.result, threads_[first + wish.source].exchange.value, wish.bytes);
    thread.result = votes;
    if (first + i != current_) wake(first + i);
  }
  self().state = State::ready;
  warps_[current_ / 32].waiting &= ~mask;
  ++warps_[current_ / 32].exchanges;
}

unsigned Block::vote(const Exchange& exchange, bool predicate) {
  self().predicate = predicate;
  this->exchange(exchange);
  return self().result;
}

int Block::barrier(const char* what, bool predicate, Where where) {
  if (at_barrier_ == 0) barrier_ = where;
  if (!same_place(barrier_, where)) fail_at_two_barriers(where);
  self().exchange = {what, where, 0, nullptr, nullptr, 0, 0, false};
  self().predicate = predicate;
  self().state = State::at_barrier;
  void* meeting = &meetings_[barriers_ % 2];
  release(meeting);
  if (++at_barrier_ == living_) release_barrier();
  wait();
  acquire(meeting);
  return static_cast<int>(self().result);
}

void Block::release_barrier() {
  unsigned votes = 0;
  for (unsigned i = 0; i < threads_.size(); ++i)
    votes += threads_[i].state == State::at_barrier && threads_[i].predicate;
  for (unsigned i = 0; i < threads_.size(); ++i) {
    if (threads_[i].state != State::at_barrier) continue;
    threads_[i].result = votes;
    wake(i);
  }
  at_barrier_ = 0;
  ++barriers_;
}

}  // namespace tally::gpu::simt
