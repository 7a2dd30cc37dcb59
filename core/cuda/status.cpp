#include <tally/core/cuda/status.h>

#include <cstring>
#include <mutex>
#include <vector>

#include <tally/core/cuda/recording.h>
#include <tally/core/cuda/runtime.h>

namespace tally::cuda {

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
    std::lock_guard lock(mutex_);
    std::size_t i = 0;
    while (i < sites_.size() && !same(sites_[i], site)) ++i;
    if (i == sites_.size()) sites_.push_back(site);
    return {word_, static_cast<int>(i) + 1};
  }

  void check_now() {
    Site site;
    Report report;
    {
      std::lock_guard lock(mutex_);
      const cudaStream_t stream = current_stream();
      if (!sites_.empty())
        check(cudaMemcpyAsync(copy_, word_, sizeof(StatusWord), cudaMemcpyDeviceToHost, stream), "status");
      check(cudaStreamSynchronize(stream), "synchronize");
      if (sites_.empty() || copy_->site <= 0) return;
      clear();
      site = sites_[copy_->site - 1];
      report = copy_->report;
    }
    site.raise(site.op, site.where, report);
  }

 private:
  void clear() { check(cudaMemsetAsync(word_, 0, sizeof(StatusWord), current_stream()), "status"); }

  std::mutex mutex_;
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

}  // namespace tally::cuda
