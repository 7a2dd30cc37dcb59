// The loops of the library's own elementwise ops for each instruction set. The attributes inline everything into the
// one function that has the set, so the linker finds no other body compiled for it. Only where -ffp-contract=off: these
// sets have fused multiply-adds.
#pragma once

#include <tally/ops/cpu/elementwise.h>
#include <tally/ops/cpu/isa.h>

namespace tally::detail {

/// The others wait for memory at any width, or, as those over doubles, are too seldom waited for to be worth their
/// bytes.
template <class F> inline constexpr bool kComputes = !F::on_integers;
template <class Op> inline constexpr bool kComputes<PullLeft<Op>> = false;
template <class Op> inline constexpr bool kComputes<PullRight<Op>> = false;

struct __attribute__((visibility("hidden"))) IsaLoops {
  template <class F, class C, class R, std::size_t N> static DenseLoop<C, R> best() {
#if defined(__x86_64__)
    if constexpr (kComputes<F> && std::is_same_v<C, float>) {
      if (isa() == Isa::avx512) return avx512<F, C, R, N>;
      if (isa() == Isa::avx2) return avx2<F, C, R, N>;
    }
#endif
    return DenseLoops::run<F, C, R, N>;
  }

 private:
#if defined(__x86_64__)
  template <class F, class C, class R, std::size_t N>
  [[gnu::flatten, gnu::target("avx2,fma")]] static void avx2(const void* functor, R* out, const C* const* inputs,
                                                             std::int64_t count) {
    loop_body<F, C, R, N>(functor, out, inputs, count);
  }
  template <class F, class C, class R, std::size_t N>
  [[gnu::flatten, gnu::target("avx512f,avx512dq,avx512bw,avx512vl,fma")]] static void avx512(const void* functor,
                                                                                             R* out,
                                                                                             const C* const* inputs,
                                                                                             std::int64_t count) {
    loop_body<F, C, R, N>(functor, out, inputs, count);
  }
#endif
};

}  // namespace tally::detail
