#include <tally/core/cuda/simt/block.h>

#include <cfenv>
#include <cstdio>
#include <cstring>
#include <map>

#include <tally/core/cuda/simt/device.h>
#include <tally/core/error.h>

namespace tally::cuda::simt {

namespace {

struct Abandoned {};  // leaves a thread whose block has failed

std::string hex(unsigned mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

std::string at(Where where) { return std::string(where.file) + ":" + std::to_string(where.line); }

std::string list(const std::vector<unsigned>& sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(sorted[i]);
    if (last > i) text += "-" + std::to_string(sorted[last]);
    i = last + 1;
  }
  return (sorted.size() == 1 ? "thread " : "threads ") + text;
}

std::string lanes(unsigned mask) {
  std::string text;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) text += (text.empty() ? "" : ", ") + std::to_string(lane);
  return text;
}

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
  at_barrier_ = 0;
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

void Block::fail(const std::string& text, Where where) {
  const std::string block =
      std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " + std::to_string(blockIdx.z);
  if (!error_)
    error_ = std::make_exception_ptr(
        CudaError(launch_->name, "thread " + std::to_string(current_) + " of block (" + block + ") " + text, where));
  throw Abandoned();
}

void Block::exchange(const Exchange& exchange) {
  Warp& warp = warps_[current_ / 32];
  const unsigned mask = exchange.mask;
  if (!(mask >> lane() & 1))
    fail("is lane " + std::to_string(lane()) + " and calls " + exchange.what + " with mask " + hex(mask) +
             ", which does not name it",
         exchange.where);
  if (const unsigned gone = mask & ~warp.present)
    fail("calls " + std::string(exchange.what) + " with mask " + hex(mask) +
             ", but these lanes have returned or never were: " + lanes(gone),
         exchange.where);
  if (exchange.bytes > 0 && !(mask >> exchange.source & 1))
    fail("reads from lane " + std::to_string(exchange.source) + " in " + exchange.what + ", which mask " + hex(mask) +
             " does not name",
         exchange.where);
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
  if (!same_place(barrier_, where)) fail("is at another barrier than those that wait at " + at(barrier_), where);
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

std::string Block::stuck() const {
  std::map<std::string, std::vector<unsigned>> groups;
  for (unsigned i = 0; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    const Exchange& wait = thread.exchange;
    if (thread.state == State::returned)
      groups["returned"].push_back(i);
    else
      groups[std::string("waits at ") + wait.what + (wait.mask != 0 ? " with mask " + hex(wait.mask) : "") + " at " +
             at(wait.where)]
          .push_back(i);
  }
  std::string text = "is stuck in block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
                     std::to_string(blockIdx.z) + "), its threads wait for one another";
  for (const auto& [what, threads] : groups) text += "\n  " + list(threads) + ": " + what;
  return text;
}

}  // namespace tally::cuda::simt
