// The tiles of the reductions that need the order, compiled once per instruction set, with TALLY_ISA its name. A tile's
// 128 lanes are 8 vectors of AVX-512.
#include <tally/ops/cpu/packed_tile.h>
#include <tally/ops/reduction_order.h>

#define TALLY_PASTE_(a, b) a##b
#define TALLY_PASTE(a, b) TALLY_PASTE_(a, b)

namespace tally::detail {
namespace {

using namespace cpu_vector;

/// The results of the first `count` places of a vector; false where one of them is not for these loops.
template <class Op>
TALLY_INLINE bool finish(const AccOf<Op>& acc, int count, int elements, TileResult<ElementOf<Op>>* out) {
  using C = ElementOf<Op>;
  C fields[2][kWidth<C>];
  for (unsigned i = 0; i < sizeof(acc.f) / sizeof(acc.f[0]); ++i) store(fields[i], acc.f[i]);
  bool good = true;
  TALLY_VECTOR_LOOP
  for (int w = 0; w < count; ++w) {
    const C one[2] = {fields[0][w], fields[1][w]};
    good &= Op::finish(one, elements, out[w]);
  }
  return good;
}

/// The same of tiles t on, as the job wants them.
template <class Op>
TALLY_INLINE bool finish_rows(const AccOf<Op>& acc, int count, const TileRows<ElementOf<Op>>& job, std::int64_t t) {
  if constexpr (requires { Op::result(acc); })
    if (job.results) {
      const auto result = Op::result(acc);
      __builtin_memcpy(job.results + t, &result, sizeof(ElementOf<Op>) * static_cast<unsigned>(count));
      return true;
    }
  return finish<Op>(acc, count, job.count, job.out + t);
}

/// W tiles.
template <class Op>
[[gnu::noinline]] bool finish_together(const AccOf<Op>* acc, BadOf<Op> bad, const Weight<ElementOf<Op>>* weights,
                                       const TileRows<ElementOf<Op>>& job, std::int64_t t) {
  using C = ElementOf<Op>;
  const AccOf<Op> all = tree<Op, kInside<C>>([=](int w) TALLY_LAMBDA { return acc[w]; }, 0, weights, bad);
  return finish_rows<Op>(all, kWidth<C>, job, t) && !bad.any(all.f[0]);
}

/// W lists of one row of lanes, `vectors` each: a tree of their first vectors, one of the second, and so on, and the
/// tree over these. The arithmetic is Form's: Op's own or its quick one. False where a list is not for it.
template <class Op, class Form>
[[gnu::noinline]] bool short_lists(const TileRows<ElementOf<Op>>& job, int vectors, std::int64_t t) {
  using C = ElementOf<Op>;
  constexpr int W = kWidth<C>;
  const Weight<C> none{};
  const LaneEnds<C> ends{};
  BadOf<Form> bad;
  AccOf<Form> acc[kLanes / W];
  TALLY_VECTOR_LOOP
  for (int v = 0; v < vectors; ++v) {
    const C* x = job.x + t * job.step + W * v;
    const int there = job.count - W * v;
    BadOf<Form> some;
    const auto all = [&](auto read) TALLY_LAMBDA {
      const auto lanes = [&](int w) TALLY_LAMBDA {
        return Form::lane([&](int) TALLY_LAMBDA { return read(x + w * job.step); }, std::integral_constant<int, 1>(),
                          ends, Vec<C>{}, some);
      };
      return tree<Form, kInside<C>>(lanes, 0, &none, some);
    };
    acc[v] = there >= W ? all([](const C* from) TALLY_LAMBDA { return load(from); })
                        : all([=](const C* from) TALLY_LAMBDA { return load_part(from, there, Form::pad(C(0))); });
    bad.add(some);
  }
  TALLY_VECTOR_LOOP
  for (int left = vectors / 2; left > 0; left /= 2) TALLY_VECTOR_LOOP
  for (int k = 0; k < left; ++k) acc[k] = Form::combine(acc[2 * k], acc[2 * k + 1], none, bad);
  if (bad.any(acc[0].f[0])) return false;
  if constexpr (std::is_same_v<Op, Form>)
    return finish_rows<Op>(acc[0], W, job, t);
  else
    return finish_rows<Op>(Op::from(acc[0]), W, job, t);
}

/// One tile whose first `lanes` places count.
template <class Op>
[[gnu::noinline]] bool finish_one(AccOf<Op> acc, BadOf<Op> bad, const Weight<ElementOf<Op>>* weights, int lanes,
                                  const TileRows<ElementOf<Op>>& job, std::int64_t t) {
  using C = ElementOf<Op>;
  for (int n = 2; n < 2 * lanes && n <= kWidth<C>; n *= 2, weights += Op::kCounts)
    acc = merge<Op>(acc, acc, *weights, bad, n);
  return finish_rows<Op>(acc, 1, job, t) && !bad.any(acc.f[0]);
}

template <class Op> std::int64_t rows(const TileRows<ElementOf<Op>>& job) {
  using C = ElementOf<Op>;
  constexpr int W = kWidth<C>;
  const auto each = [&](const auto& tile, const Weight<C>* weights, int lanes, auto together) {
    const auto one = [&](std::int64_t t, BadOf<Op>& bad)
                         TALLY_LAMBDA { return tile(job.x + t * job.step, job.pivot[t * job.pivot_step], bad); };
    std::int64_t t = 0;
    while (t < job.tiles) {
      if (t + W <= job.tiles && together(one, weights, t)) {
        t += W;
        continue;
      }
      for (const std::int64_t end = t + W < job.tiles ? t + W : job.tiles; t < end; ++t) {
        BadOf<Op> bad;
        const AccOf<Op> acc = one(t, bad);
        if (!finish_one<Op>(acc, bad, weights, lanes, job, t)) return t;
      }
    }
    return t;
  };
  const auto together = [&](auto one, const Weight<C>* weights, std::int64_t t) TALLY_LAMBDA {
    AccOf<Op> acc[W];
    BadOf<Op> bad;
    TALLY_VECTOR_LOOP
    for (int w = 0; w < W; ++w) acc[w] = one(t + w, bad);
    return finish_together<Op>(acc, bad, weights, job, t);
  };
  if (job.count == kTile) {
    const std::conditional_t<has_quick_tiles<Op>(), QuickTile<Op>, FullTile<Op>> tile;
    return each(tile, tile.inside, kLanes, together);
  }
  const PartPlan<Op> plan(job.count);
  const auto part = [&](auto vectors) {
    const PartTile<Op, decltype(vectors)::value> tile{plan};
    return each(tile, tile.inside(), plan.lanes, together);
  };
  const bool one_row = plan.full == 0;
  if constexpr (!Op::kCounts) {
    const PartTile<Op, 0> tile{plan};
    if (one_row)
      return each(tile, tile.inside(), plan.lanes, [&](auto, auto, std::int64_t t) {
        if constexpr (requires { typename Op::Quick; })
          if (short_lists<Op, typename Op::Quick>(job, plan.vectors, t)) return true;
        return short_lists<Op, Op>(job, plan.vectors, t);
      });
  } else if constexpr (sizeof(C) == 4) {  // as most short rows are
    if (one_row && plan.vectors == 1) return part(std::integral_constant<int, 1>());
    if (one_row && plan.vectors == 2) return part(std::integral_constant<int, 2>());
    if (one_row && plan.vectors == 4) return part(std::integral_constant<int, 4>());
  }
  return part(std::integral_constant<int, 0>());
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
  BadOf<Op> bad;
  const auto merged = [&](AccOf<Op> acc, int v, int first, int levels) TALLY_LAMBDA {
    for (int level = first; level < levels; ++level)
      if (size[level] > 0) acc = Op::combine(stack[level][v], acc, weights[level], bad);
    return acc;
  };
  const auto weigh = [&](int level, int n) {
    if constexpr (Op::kCounts) weights[level] = weight_of<C>(size[level], n);
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
    const auto column = [&](int v, auto get, auto rows) TALLY_LAMBDA {
      const Vec<C> pivot = load_part(job.pivot + W * v, job.width - W * v, C(0));
      AccOf<Op> acc = Op::lane(get, rows, ends, pivot, bad);
      for (int below = 0; below < level; ++below) acc = Op::combine(stack[below][v], acc, weights[below], bad);
      stack[level][v] = acc;
    };
    const int whole = job.width / W;
    const auto all = [&](auto rows) TALLY_LAMBDA {
      for (int v = 0; v < whole; ++v)
        column(
            v, [&](int j) { return load(row[j] + W * v); }, rows);
    };
    if (length == kPerLane)
      all(written_out<kPerLane>());
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
    good &= !bad.any(acc.f[0]) &&
            finish<Op>(acc, job.width - W * v < W ? job.width - W * v : W, job.count, job.out + W * v);
  }
  return good;
}

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
