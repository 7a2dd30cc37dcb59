// A block's shared memory: poisoned with 0xFF (a NaN in every floating type) before each block, and of exact size, so
// that AddressSanitizer sees the first byte past the end. Without it, a strip behind each piece shows a write there.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <tally/core/where.h>

namespace tally::gpu::simt {

class SharedMemory {
 public:
  void prepare(std::size_t dynamic_bytes);
  void poison();
  /// Whether a strip was written.
  bool overrun() const;

  void* dynamic() const { return dynamic_.bytes == 0 ? nullptr : dynamic_.memory.get(); }
  /// The piece for `kind`. Null if another line has asked for the same kind.
  void* fixed(const void* kind, std::size_t bytes, std::size_t alignment, Where where);

 private:
  struct Free {
    std::size_t alignment;
    void operator()(unsigned char* memory) const { ::operator delete(memory, std::align_val_t(alignment)); }
  };
  struct Piece {
    Piece(std::size_t bytes, std::size_t alignment);
    void poison();
    bool overrun() const;
    std::size_t bytes;
    std::unique_ptr<unsigned char, Free> memory;
  };
  struct Fixed {
    const void* kind;
    Where where;
    Piece piece;
  };
  Piece dynamic_{0, 16};
  std::vector<Fixed> fixed_;
};

}  // namespace tally::gpu::simt
