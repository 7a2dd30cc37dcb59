// How the compiler and the process do floating point here, found by trying.
#pragma once

namespace tally {

/// What of IEEE arithmetic does not hold.
struct FloatMode {
  bool contracts = false;  // a·b + c is rounded once (fma) where the source rounds twice
  bool flushes = false;    // subnormal results of this thread become zero

  /// Of the translation unit that this is written in, as it is compiled there: inlined always, so that the linker
  /// cannot put another unit's code in its place.
  [[gnu::always_inline]] static FloatMode here() {
    volatile double x = 1 + 0x1p-27, tiny = 0x1p-1022;
    const double a = x, rounded = -(1 + 0x1p-26);  // a² rounds to 1 + 2^-26
    return {a * a + rounded != 0, tiny * 0.5 == 0};
  }
};

}  // namespace tally
