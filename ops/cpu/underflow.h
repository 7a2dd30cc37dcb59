// What the processor notes beside its arithmetic, at no cost: that a result was rounded below the normal numbers, where
// it has fewer digits. For isa_*.cpp alone.
#pragma once

#include <tally/ops/cpu/vector.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

/// The note on this thread. A scope leaves it as it found it.
class Underflow {
 public:
#if defined(__x86_64__)
  TALLY_INLINE Underflow() : before_(read(0.0f)) {}
  TALLY_INLINE ~Underflow() {
    if (before_ & kUnderflow) write(before_);
  }
  TALLY_INLINE void clear() const { write(before_ & ~kUnderflow); }
  /// Whether a step on the way to `end` was rounded so since the last clear().
  template <class V> TALLY_INLINE bool noted(V end) const { return (read(end) & kUnderflow) != 0; }
  /// Whether notes are kept, which an emulator of a processor may not do.
  static bool is_kept() {
    static const bool kept = [] {
      volatile float least = 0x1p-126f;
      const Underflow note;
      note.clear();
      return note.noted(splat(least * 0x1.8p-1f) * least);
    }();
    return kept;
  }

 private:
  static constexpr unsigned kUnderflow = 0x10;
  // Neither what leads to `end` nor a load moves across these.
  template <class V> TALLY_INLINE static unsigned read(V end) {
    unsigned state;
    asm volatile("stmxcsr %0" : "=m"(state) : "x"(end) : "memory");
    return state;
  }
  TALLY_INLINE static void write(unsigned state) { asm volatile("ldmxcsr %0" : : "m"(state) : "memory"); }
  unsigned before_;
#else
  TALLY_INLINE void clear() const {}
  template <class V> TALLY_INLINE bool noted(V) const { return true; }
  static bool is_kept() { return false; }
#endif
  Underflow(const Underflow&) = delete;
  Underflow& operator=(const Underflow&) = delete;
};

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
