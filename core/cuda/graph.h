// CUDA graphs: the device work of a function, recorded once and replayed with one call.
#pragma once

#include <functional>
#include <memory>

namespace tally::gpu {

namespace detail {
struct Recording;
}

/// What `capture` recorded. Memory that the function allocated stays reserved for the graph until it is destroyed, so
/// replays find it; tensors from outside that it uses must outlive it.
class Graph {
 public:
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// Runs the work once more, on the stream that was current when it was captured. Does not wait.
  void replay();

 private:
  friend Graph capture(const std::function<void()>& work);
  explicit Graph(std::unique_ptr<detail::Recording> recording);
  std::unique_ptr<detail::Recording> recording_;
};

/// Records what `work` gives to the device, without running it. Reading a value or `synchronize` inside throws
/// CudaError, as does a nested capture; whatever `work` throws, the device stays usable. Copies from the host keep the
/// bytes they had at the capture. Other threads may go on working meanwhile.
Graph capture(const std::function<void()>& work);

/// Whether this thread is inside `capture`.
bool capturing();

}  // namespace tally::gpu
