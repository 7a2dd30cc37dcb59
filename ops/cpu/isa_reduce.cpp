// The tiles of the reductions that need the order, compiled once per instruction set, with TALLY_ISA its name. A tile's
// 128 lanes are 8 vectors of AVX-512.
#include <tally/ops/cpu/packed_columns.h>
#include <tally/ops/cpu/packed_rows.h>

#define TALLY_PASTE_(a, b) a##b
#define TALLY_PASTE(a, b) TALLY_PASTE_(a, b)

namespace tally::detail {
namespace {

using namespace cpu_vector;

template <class C> void shares(const C* x, std::int64_t n, C max, C sum, C* out) {
  constexpr int W = kWidth<C>;
  four_vectors_at_a_time<C>(n, [=](std::int64_t i, auto number) TALLY_LAMBDA {
    const bool whole = i + number() * W <= n;
    Vec<C> y[number()];
    steps(0, number, [&](int k) TALLY_LAMBDA {
      y[k] = (whole ? load(x + i + W * k) : load_part(x + i, static_cast<int>(n - i), max)) - max;
    });
    exp_at_most_0<C>(y);
    steps(0, number, [&](int k) TALLY_LAMBDA {
      y[k] /= sum;
      if (whole)
        store(out + i + W * k, y[k]);
      else
        __builtin_memcpy(out + i, &y[k], sizeof(C) * static_cast<std::size_t>(n - i));
    });
  });
}

template <class Op> TileKernels<ElementOf<Op>> kernels() { return {rows<Op>, columns<Op>}; }

template <class C> TileKernels<C> choose(TileKind kind) {
  switch (kind) {
    case TileKind::sum:
      return kernels<PackedSum<C, false>>();
    case TileKind::norm1:
      return kernels<PackedSum<C, true>>();
    case TileKind::norm2:
      return kernels<PackedSquares<C>>();
    case TileKind::prod:
      return kernels<PackedProduct<C>>();
    case TileKind::moments:
      return kernels<PackedMoments<C>>();
    case TileKind::exponentials:
      return {rows<PackedExponentials<C>>, columns<PackedExponentials<C>>, shares<C>};
    default:
      return {nullptr, nullptr};
  }
}

}  // namespace

TileKernels<float> TALLY_PASTE(sum_kernels_, TALLY_ISA)(TileKind kind, float) { return choose<float>(kind); }
TileKernels<double> TALLY_PASTE(sum_kernels_, TALLY_ISA)(TileKind kind, double) { return choose<double>(kind); }

}  // namespace tally::detail
