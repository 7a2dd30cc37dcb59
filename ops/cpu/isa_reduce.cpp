// The tiles of the reductions that need the order, compiled once per instruction set, with TALLY_ISA its name. A tile's
// 128 lanes are 8 vectors of AVX-512.
#include <tally/ops/cpu/packed_ops.h>
#include <tally/ops/reduction_order.h>

#define TALLY_PASTE_(a, b) a##b
#define TALLY_PASTE(a, b) TALLY_PASTE_(a, b)

namespace tally::detail {
namespace {

using namespace cpu_vector;

template <class Op> using AccOf = typename Op::Acc;
template <class Op> using ElementOf = typename Op::C;

/// Neighbours pair up: the even and odd lanes of two accumulators, merged.
template <class Op>
TALLY_INLINE AccOf<Op> merge(const AccOf<Op>& a, const AccOf<Op>& b, const Weight<ElementOf<Op>>& weight,
                             Mask<ElementOf<Op>>& bad) {
  using C = ElementOf<Op>;
  AccOf<Op> first, second;
  for (unsigned i = 0; i < sizeof(a.f) / sizeof(a.f[0]); ++i) {
    first.f[i] = even<C>(a.f[i], b.f[i]);
    second.f[i] = odd<C>(a.f[i], b.f[i]);
  }
  return Op::combine(first, second, weight, bad);
}

/// Of two accumulators of n elements each.
template <class C> TALLY_INLINE Weight<C> equal_weight(int n) {
  return {splat(C(0.5)), splat(static_cast<C>(n) * C(0.5)), Mask<C>{}};
}
template <class C> TALLY_INLINE Weight<C> weight_of(Vec<C> a, Vec<C> b) {
  const Vec<C> share = b / (a + b);
  return {share, a * share, b == 0};
}

template <class Op>
TALLY_INLINE bool finish(const AccOf<Op>& acc, Mask<ElementOf<Op>> bad, int count, TileResult<ElementOf<Op>>& out) {
  using C = ElementOf<Op>;
  if (any<Whole<C>>(bad)) return false;
  C fields[2];
  for (unsigned i = 0; i < sizeof(acc.f) / sizeof(acc.f[0]); ++i) fields[i] = acc.f[i][0];
  return Op::finish(fields, count, out);
}

template <class Op> bool full_tile(const ElementOf<Op>* x, ElementOf<Op> first, TileResult<ElementOf<Op>>& out) {
  using C = ElementOf<Op>;
  constexpr int W = kWidth<C>, K = kLanes / W;
  const LaneEnds<C> ends{splat(C(kPerLane)), ~Mask<C>{}};
  const Vec<C> pivot = splat(first);
  Mask<C> bad{};
  AccOf<Op> acc[K];
  for (int k = 0; k < K; ++k)
    acc[k] = Op::lane([=](int j) { return load(x + kLanes * j + W * k); }, kPerLane, ends, pivot, bad);
  int n = kPerLane;
  for (int left = K / 2; left > 0; left /= 2, n *= 2)
    for (int k = 0; k < left; ++k) acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], equal_weight<C>(n), bad);
  for (int left = W / 2; left > 0; left /= 2, n *= 2) acc[0] = merge<Op>(acc[0], acc[0], equal_weight<C>(n), bad);
  return finish<Op>(acc[0], bad, kTile, out);
}

/// Any count: lanes that have no element are nothing, which merging passes over.
template <class Op>
bool part_tile(const ElementOf<Op>* x, int count, ElementOf<Op> first, TileResult<ElementOf<Op>>& out) {
  using C = ElementOf<Op>;
  constexpr int W = kWidth<C>, K = kLanes / W;
  const int lanes = count < kLanes ? count : kLanes, rest = count % kLanes, full = count / kLanes;
  const int rows = full + (rest > 0);
  const Vec<C> pivot = splat(first);
  Mask<C> bad{};
  AccOf<Op> acc[K];
  Vec<C> n[Op::kCounts ? K : 1];
  int vectors = 1;
  while (vectors * W < lanes) vectors *= 2;
  for (int k = 0; k < vectors; ++k) {
    const int there = rest - W * k;  // of the last row in this vector
    LaneEnds<C> ends{splat(C(1)), ~Mask<C>{}};
    if constexpr (Op::kCounts) {
      const Vec<C> base = splat(static_cast<C>(full));
      const Mask<C> longer = ramp<C>() < splat(static_cast<C>(there));
      n[k] = longer ? base + 1 : base;
      ends.length = n[k] == 0 ? splat(C(1)) : n[k];
      if (rest > 0) ends.last = longer;
    }
    const C* from = x + W * k;
    acc[k] = k * W >= lanes ? Op::nothing()
                            : Op::lane(
                                  [=](int j) {
                                    return j < full ? load(from + kLanes * j)
                                                    : load_part(from + kLanes * j, there, Op::pad(first));
                                  },
                                  rows, ends, pivot, bad);
  }
  const auto merge_at = [&](int to, int a, int b) __attribute__((always_inline)) {
    Weight<C> weight{};
    if constexpr (Op::kCounts) {
      const Vec<C> low = even<C>(n[a], n[b]), high = odd<C>(n[a], n[b]);
      weight = weight_of<C>(low, high);
      n[to] = low + high;
    }
    acc[to] = merge<Op>(acc[a], acc[b], weight, bad);
  };
  for (int left = vectors / 2; left > 0; left /= 2)
    for (int k = 0; k < left; ++k) merge_at(k, 2 * k, 2 * k + 1);
  for (int left = lanes < W ? lanes : W; left > 1; left = (left + 1) / 2) merge_at(0, 0, 0);
  return finish<Op>(acc[0], bad, count, out);
}

template <class Op> std::int64_t rows(const TileRows<ElementOf<Op>>& job) {
  for (std::int64_t t = 0; t < job.tiles; ++t) {
    const ElementOf<Op>* x = job.x + t * job.step;
    const ElementOf<Op> pivot = job.pivot[t * job.pivot_step];
    if (!(job.count == kTile ? full_tile<Op>(x, pivot, job.out[t]) : part_tile<Op>(x, job.count, pivot, job.out[t])))
      return t;
  }
  return job.tiles;
}

/// Lane after lane of all columns; a binary counter over the lanes makes the tree.
template <class Op> bool columns(const TileColumns<ElementOf<Op>>& job) {
  using C = ElementOf<Op>;
  constexpr int W = kWidth<C>, K = kTileColumns / W;
  constexpr int kLevels = 8;
  AccOf<Op> stack[kLevels][K];
  int size[kLevels] = {};  // elements in the lanes at each level
  Weight<C> weights[kLevels];
  const int vectors = (job.width + W - 1) / W, used = job.count < kLanes ? job.count : kLanes;
  Mask<C> bad{};
  const auto merged = [&](AccOf<Op> acc, int v, int first, int levels) __attribute__((always_inline)) {
    for (int level = first; level < levels; ++level)
      if (size[level] > 0) acc = Op::combine(stack[level][v], acc, weights[level], bad);
    return acc;
  };
  const auto weigh = [&](int level, int n) {
    if constexpr (Op::kCounts)
      weights[level] = weight_of<C>(splat(static_cast<C>(size[level])), splat(static_cast<C>(n)));
  };
  for (int l = 0; l < used; ++l) {
    const int length = (job.count - l + kLanes - 1) / kLanes;
    const C* row[kPerLane];
    for (int j = 0; j < length; ++j) row[j] = job.x + job.rows[l + kLanes * j];
    int level = 0, n = length;
    for (; size[level] > 0; ++level) {
      weigh(level, n);
      n += size[level];
    }
    const LaneEnds<C> ends{splat(static_cast<C>(length)), ~Mask<C>{}};
    const auto column = [&](int v, auto get, auto rows) __attribute__((always_inline)) {
      const Vec<C> pivot = load_part(job.pivot + W * v, job.width - W * v, C(0));
      AccOf<Op> acc = Op::lane(get, rows, ends, pivot, bad);
      for (int below = 0; below < level; ++below) acc = Op::combine(stack[below][v], acc, weights[below], bad);
      stack[level][v] = acc;
    };
    const int whole = job.width / W;
    const auto all = [&](auto rows) __attribute__((always_inline)) {
      for (int v = 0; v < whole; ++v)
        column(
            v, [&](int j) { return load(row[j] + W * v); }, rows);
    };
    if (length == kPerLane)
      all(std::integral_constant<int, kPerLane>());
    else if (length == 1)
      all(std::integral_constant<int, 1>());
    else
      all(length);
    for (int v = whole; v < vectors; ++v)
      column(
          v, [&](int j) { return load_part(row[j] + W * v, job.width - W * v, Op::pad(C(0))); }, length);
    for (int below = 0; below < level; ++below) size[below] = 0;
    size[level] = n;
  }
  int lowest = 0;
  while (size[lowest] == 0) ++lowest;
  for (int level = lowest + 1, n = size[lowest]; level < kLevels; ++level)
    if (size[level] > 0) {
      weigh(level, n);
      n += size[level];
    }
  bool good = true;
  for (int v = 0; v < vectors; ++v) {
    const AccOf<Op> acc = merged(stack[lowest][v], v, lowest + 1, kLevels);
    C fields[2][W];
    for (unsigned i = 0; i < sizeof(acc.f) / sizeof(acc.f[0]); ++i) store(fields[i], acc.f[i]);
    for (int w = 0; w < W && W * v + w < job.width; ++w) {
      const C one[2] = {fields[0][w], fields[1][w]};
      good &= Op::finish(one, job.count, job.out[W * v + w]);
    }
  }
  return good && !any<Whole<C>>(bad);
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
      return kernels<PackedExponentials<C>>();
    default:
      return {nullptr, nullptr};
  }
}

}  // namespace

TileKernels<float> TALLY_PASTE(sum_kernels_, TALLY_ISA)(TileKind kind, float) { return choose<float>(kind); }
TileKernels<double> TALLY_PASTE(sum_kernels_, TALLY_ISA)(TileKind kind, double) { return choose<double>(kind); }

}  // namespace tally::detail
