// What the blocks of a split reduction share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::cuda_loops {

/// At least `count` zeros for the current stream, where the kernels of one launch count themselves; each kernel leaves
/// them zero. Work captured into a graph uses those of the stream that it is replayed on.
unsigned* tickets(std::int64_t count);

/// Device memory for the kernels launched while it lives.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T> T* as() const { return static_cast<T*>(memory_); }

 private:
  void* memory_;
  std::size_t bytes_;
};

}  // namespace tally::cuda_loops
