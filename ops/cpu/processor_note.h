// What the processor notes beside its arithmetic, at no cost, and keeps until it is cleared. For isa_*.cpp alone.
#pragma once

#include <tally/ops/cpu/vector.h>

namespace tally::cpu_vector::inline TALLY_MATH_ISA {

enum class Noteworthy : unsigned {
  invalid = 0x01,   // a NaN among the operands of max or min
  underflow = 0x10  // a result rounded below the normal numbers, where it has fewer digits
};

/// The note on this thread. What a scope found on it, it leaves on it.
template <Noteworthy What> class ProcessorNote {
 public:
#if defined(__x86_64__)
  TALLY_INLINE ProcessorNote() : before_(read(0.0f)) {}
  TALLY_INLINE ~ProcessorNote() {
    if (before_ & kFlag) write(before_);
  }
  TALLY_INLINE void clear() const { write(before_ & ~kFlag); }
  /// Whether that has happened since the last clear() on the way to `end`.
  template <class V> TALLY_INLINE bool noted(V end) const { return (read(end) & kFlag) != 0; }
  static constexpr bool is_possible() { return true; }
  /// Whether notes are kept, which an emulator of a processor may not do.
  static bool is_kept() {
    static const bool kept = [] {
      volatile float least = 0x1p-126f, nan = __builtin_nanf("");
      const ProcessorNote note;
      note.clear();
      const Vec<float> x = splat(What == Noteworthy::invalid ? nan : least);
      const bool noted = note.noted(What == Noteworthy::invalid ? larger<float>(x, x) : x * (x * 0x1.8p-1f));
      note.clear();  // this one was made on purpose
      return noted;
    }();
    return kept;
  }

 private:
  static constexpr unsigned kFlag = static_cast<unsigned>(What);
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
  static constexpr bool is_possible() { return false; }
  static bool is_kept() { return false; }
#endif
  ProcessorNote(const ProcessorNote&) = delete;
  ProcessorNote& operator=(const ProcessorNote&) = delete;
};

using Invalid = ProcessorNote<Noteworthy::invalid>;
using Underflow = ProcessorNote<Noteworthy::underflow>;

}  // namespace tally::cpu_vector::inline TALLY_MATH_ISA
