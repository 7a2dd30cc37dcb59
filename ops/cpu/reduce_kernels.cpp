#include <tally/ops/cpu/reduce_kernels.h>

#include <tally/ops/cpu/isa.h>

namespace tally::detail {
namespace {

template <class C> TileKernels<C> choose(TileKind kind) {
  const bool extreme = kind >= TileKind::max;
  switch (isa()) {
#if defined(__x86_64__)
    case Isa::avx512:
      return extreme ? extreme_kernels_avx512(kind, C()) : sum_kernels_avx512(kind, C());
    case Isa::avx2:
      return extreme ? extreme_kernels_avx2(kind, C()) : sum_kernels_avx2(kind, C());
#endif
    default:
      return extreme ? extreme_kernels_baseline(kind, C()) : sum_kernels_baseline(kind, C());
  }
}

}  // namespace

TileKernels<float> tile_kernels(TileKind kind, float) { return choose<float>(kind); }
TileKernels<double> tile_kernels(TileKind kind, double) { return choose<double>(kind); }

}  // namespace tally::detail
