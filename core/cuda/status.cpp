#include <tally/core/cuda/status.h>

#include <cstring>
#include <mutex>
#include <vector>

#include <tally/core/cuda/recording.h>
#include <tally/core/cuda/runtime.h>

namespace tally::gpu {

namespace {

struct Site {
  const char* op;
  Where where;
  Raise raise;
};

bool same(const Site& a, const Site& b) {
  return a.raise == b.raise && a.where.line == b.where.line && std::strcmp(a.where.file, b.where.file) == 0 &&
         std::strcmp(a.op, b.op) == 0;
}

// The word on the device, its copy on the host, and who may report.
class Board {
 public:
  Board() {
    check(cudaMalloc(&word_, sizeof(StatusWord)), "status");
    check(cudaMallocHost(&copy_, sizeof(StatusWord)), "status");
    clear();
    check(cudaStreamSynchronize(current_stream()), "status");  // other streams may look at it next
  }

  Status status() const { return {word_, 0}; }

  Status watch(const Site& site) {
    std::lock_guard lock(sites_mutex_);
    std::size_t i = 0;
    while (i < sites_.size() && !same(sites_[i], site)) ++i;
    if (i == sites_.size()) sites_.push_back(site);
    return {word_, static_cast<int>(i) + 1};
  }

  void check_now() {
    const cudaStream_t stream = current_stream();
    if (empty()) return check(cudaStreamSynchronize(stream), "synchronize");
    StatusWord read;
    {
      std::lock_guard lock(copy_mutex_);  // one thread at a time waits here; `watch` need not
      check(cudaMemcpyAsync(copy_, word_, sizeof(StatusWord), cudaMemcpyDeviceToHost, stream), "status");
      check(cudaStreamSynchronize(stream), "synchronize");
      read = *copy_;
      if (read.site > 0) clear();
    }
    if (read.site <= 0) return;
    const Site site = at(read.site);
    site.raise(site.op, site.where, read.report);
  }

 private:
  void clear() { check(cudaMemsetAsync(word_, 0, sizeof(StatusWord), current_stream()), "status"); }

  bool empty() {
    std::lock_guard lock(sites_mutex_);
    return sites_.empty();
  }
  Site at(int site) {
    std::lock_guard lock(sites_mutex_);
    return sites_[site - 1];
  }

  std::mutex sites_mutex_, copy_mutex_;
  std::vector<Site> sites_;
  StatusWord* word_ = nullptr;
  StatusWord* copy_ = nullptr;
};

Board& board() {
  static Board& board = *new Board;
  return board;
}

}  // namespace

Status status() { return board().status(); }
Status watch(const char* op, Where where, Raise raise) { return board().watch({op, where, raise}); }
void check_status() { board().check_now(); }

}  // namespace tally::gpu
