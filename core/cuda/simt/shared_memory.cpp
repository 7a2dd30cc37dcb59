#include <tally/core/cuda/simt/shared_memory.h>

#include <algorithm>
#include <cstring>
#include <new>

#include <tally/core/cuda/simt/sanitizer.h>

namespace tally::gpu::simt {

namespace {
constexpr std::size_t kStrip = kAsan ? 0 : 64;
constexpr unsigned char kStripByte = 0xA5;
}  // namespace

SharedMemory::Piece::Piece(std::size_t bytes, std::size_t alignment)
    : bytes(bytes),
      memory(static_cast<unsigned char*>(::operator new(bytes + kStrip, std::align_val_t(alignment))),
             Free{alignment}) {
  std::memset(memory.get() + bytes, kStripByte, kStrip);
  poison();
}

void SharedMemory::Piece::poison() { std::memset(memory.get(), 0xFF, bytes); }

bool SharedMemory::Piece::overrun() const {
  const unsigned char* strip = memory.get() + bytes;
  return std::any_of(strip, strip + kStrip, [](unsigned char byte) { return byte != kStripByte; });
}

void SharedMemory::prepare(std::size_t dynamic_bytes) {
  fixed_.clear();
  dynamic_ = Piece(dynamic_bytes, 16);
}

void SharedMemory::poison() {
  dynamic_.poison();
  for (Fixed& fixed : fixed_) fixed.piece.poison();
}

bool SharedMemory::overrun() const {
  return dynamic_.overrun() ||
         std::any_of(fixed_.begin(), fixed_.end(), [](const Fixed& fixed) { return fixed.piece.overrun(); });
}

void* SharedMemory::fixed(const void* kind, std::size_t bytes, std::size_t alignment, Where where) {
  for (Fixed& fixed : fixed_)
    if (fixed.kind == kind) {
      const bool same = fixed.where.line == where.line && std::strcmp(fixed.where.file, where.file) == 0;
      return same ? fixed.piece.memory.get() : nullptr;
    }
  fixed_.push_back({kind, where, Piece(bytes, std::max<std::size_t>(alignment, 16))});
  return fixed_.back().piece.memory.get();
}

}  // namespace tally::gpu::simt
