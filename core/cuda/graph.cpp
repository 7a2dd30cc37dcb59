#include <tally/core/cuda/graph.h>

#include <utility>

#include <tally/core/cuda/recording.h>
#include <tally/core/cuda/status.h>
#include <tally/core/error.h>

namespace tally::gpu {

namespace {

thread_local detail::Recording* current_recording = nullptr;

// This thread's work goes into the recording while it lives; a capture that was not finished is thrown away.
class CaptureScope {
 public:
  explicit CaptureScope(detail::Recording& recording)
      : stream_(static_cast<cudaStream_t>(recording.stream.handle())), scope_(recording.stream) {
    // Relaxed: the allocator may ask the driver for memory meanwhile.
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "capture");
    current_recording = &recording;
  }
  ~CaptureScope() {
    current_recording = nullptr;
    if (finished_) return;
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream_, &graph);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();
  }
  cudaGraphExec_t finish() {
    finished_ = true;
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "capture");
    cudaGraphExec_t executable = nullptr;
    const cudaError_t result = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    check(result, "capture");
    return executable;
  }

 private:
  cudaStream_t stream_;
  StreamScope scope_;
  bool finished_ = false;
};

}  // namespace

namespace detail {

Recording* recording() { return current_recording; }

void refuse_in_capture(const char* op) {
  if (current_recording) throw CudaError(op, "would wait for the device inside a capture, where nothing runs", Where{});
}

Recording::~Recording() {
  if (!pinned.empty()) cudaStreamSynchronize(static_cast<cudaStream_t>(home));
  for (void* memory : pinned) cudaFreeHost(memory);
  if (executable) cudaGraphExecDestroy(executable);
  release_graph_memory(this);
}

}  // namespace detail

bool capturing() { return current_recording != nullptr; }

Graph::Graph(std::unique_ptr<detail::Recording> recording) : recording_(std::move(recording)) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

void Graph::replay() {
  check(cudaGraphLaunch(recording_->executable, static_cast<cudaStream_t>(recording_->home)), "replay");
}

Graph capture(const std::function<void()>& work) {
  detail::refuse_in_capture("capture");
  status();  // makes the status word, which a capture could not clear
  auto recording = std::make_unique<detail::Recording>();
  {
    CaptureScope scope(*recording);
    work();
    recording->executable = scope.finish();
  }
  return Graph(std::move(recording));
}

}  // namespace tally::gpu
