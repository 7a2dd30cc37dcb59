// What is said of kernels that break a rule.
#include <cstdio>
#include <map>

#include <tally/core/cuda/simt/block.h>
#include <tally/core/cuda/simt/device.h>
#include <tally/core/error.h>

namespace tally::gpu::simt {

namespace {

std::string hex(unsigned mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

std::string at(Where where) { return std::string(where.file) + ":" + std::to_string(where.line); }

std::string this_block() {
  return "block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
         std::to_string(blockIdx.z) + ")";
}

// "0-30, 32, 40-63"
std::string ranges(const std::vector<unsigned>& sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(sorted[i]);
    if (last > i) text += "-" + std::to_string(sorted[last]);
    i = last + 1;
  }
  return text;
}

std::string lanes(unsigned mask) {
  std::vector<unsigned> set;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) set.push_back(lane);
  return ranges(set);
}

}  // namespace

void Block::fail(const std::string& text, Where where) {
  if (!error_)
    error_ = std::make_exception_ptr(
        CudaError(launch_->name, "thread " + std::to_string(current_) + " of " + this_block() + " " + text, where));
  throw Abandoned();
}

void Block::check_mask(const Exchange& exchange) {
  const unsigned mask = exchange.mask;
  const auto call = [&] { return exchange.what + (" with mask " + hex(mask)); };
  if (!(mask >> lane() & 1))
    fail("is lane " + std::to_string(lane()) + " and calls " + call() + ", which does not name it", exchange.where);
  if (const unsigned gone = mask & ~warps_[current_ / 32].present)
    fail("calls " + call() + ", but these lanes have returned or never were: " + lanes(gone), exchange.where);
  if (exchange.bytes > 0 && !(mask >> exchange.source & 1))
    fail("reads lane " + std::to_string(exchange.source) + " by " + call() + ", which does not name it",
         exchange.where);
}

void Block::fail_at_two_barriers(Where where) {
  fail("is at another barrier than those that wait at " + at(barrier_), where);
}

std::string Block::stuck() const {
  std::map<std::string, std::vector<unsigned>> groups;
  for (unsigned i = 0; i < threads_.size(); ++i) {
    const Exchange& wait = threads_[i].exchange;
    const std::string mask = wait.mask != 0 ? " with mask " + hex(wait.mask) : "";
    const bool returned = threads_[i].state == State::returned;
    groups[returned ? "returned" : "wait at " + (wait.what + mask) + " at " + at(wait.where)].push_back(i);
  }
  std::string text = "is stuck in " + this_block() + ", its threads wait for one another";
  for (const auto& [what, threads] : groups) text += "\n  threads " + ranges(threads) + " " + what;
  return text;
}

}  // namespace tally::gpu::simt
