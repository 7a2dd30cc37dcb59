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
template <class Op> using BadOf = typename Op::Bad;
/// Levels of a tree inside a vector.
template <class C> inline constexpr int kInside = kWidth<C> == 2 ? 1 : kWidth<C> == 4 ? 2 : kWidth<C> == 8 ? 3 : 4;

/// Neighbours pair up: the even and odd lanes of two accumulators, merged; n as even() has it.
template <class Op>
TALLY_INLINE AccOf<Op> merge(const AccOf<Op>& a, const AccOf<Op>& b, const Weight<ElementOf<Op>>& weight,
                             BadOf<Op>& bad, int n = 0) {
  using C = ElementOf<Op>;
  AccOf<Op> first, second;
  for (unsigned i = 0; i < sizeof(a.f) / sizeof(a.f[0]); ++i) {
    first.f[i] = even<C>(a.f[i], b.f[i], n);
    second.f[i] = odd<C>(a.f[i], b.f[i], n);
  }
  return Op::combine(first, second, weight, bad);
}

/// 2^Levels vectors, get(first) and on: the tree inside each, all in one, so that no lane idles.
template <class Op, int Levels>
TALLY_INLINE AccOf<Op> tree(auto get, int first, const Weight<ElementOf<Op>>* weights, BadOf<Op>& bad) {
  if constexpr (Levels == 0) {
    return get(first);
  } else if constexpr (Op::kLong) {
    AccOf<Op> acc[1 << Levels];
    TALLY_VECTOR_LOOP
    for (int k = 0; k < 1 << Levels; ++k) acc[k] = get(first + k);
    TALLY_VECTOR_LOOP
    for (int n = 2; n <= 1 << Levels; n *= 2, weights += Op::kCounts) {
      const int pairs = (1 << Levels) / n;
      TALLY_VECTOR_LOOP
      for (int k = 0; k < pairs; ++k) acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], *weights, bad, n);
    }
    return acc[0];
  } else {
    const AccOf<Op> a = tree<Op, Levels - 1>(get, first, weights, bad),
                    b = tree<Op, Levels - 1>(get, first + (1 << (Levels - 1)), weights, bad);
    return merge<Op>(a, b, *weights, bad, 1 << Levels);
  }
}

/// Of two accumulators of n elements each.
template <class C> TALLY_INLINE Weight<C> equal_weight(int n) {
  return {splat(C(0.5)), splat(static_cast<C>(n) * C(0.5)), Mask<C>{}};
}
template <class C> TALLY_INLINE Weight<C> weight_of(int a, int b) {
  const C share = static_cast<C>(b) / static_cast<C>(a + b);
  return {splat(share), splat(static_cast<C>(a) * share), Mask<C>{}};
}

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

/// A whole tile.
template <class Op> struct FullTile {
  using C = ElementOf<Op>;
  static constexpr int W = kWidth<C>, K = kLanes / W;
  /// For merging inside the vector, level after level.
  Weight<C> inside[Op::kCounts ? kInside<C> : 1];
  FullTile() {
    if constexpr (Op::kCounts)
      for (int level = 0; level < kInside<C>; ++level) inside[level] = equal_weight<C>(K * kPerLane << level);
  }

  /// Its lanes, merged down to one vector.
  [[gnu::noinline]] AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    const LaneEnds<C> ends{splat(C(kPerLane)), ~Mask<C>{}};
    const Vec<C> pivot = splat(first);
    AccOf<Op> acc[K];
    steps(0, written_out<K>(), [&](int k) TALLY_LAMBDA {
      const auto at = [=](int j) TALLY_LAMBDA { return x + kLanes * j + W * k; };
      // Lanes run criss-cross over a tile, which no prefetcher foresees: they ask for the next one, line by line.
      if (W * k * sizeof(C) % 64 == 0)
        steps(0, written_out<kPerLane>(), [&](int j) TALLY_LAMBDA { __builtin_prefetch(at(j) + kTile); });
      acc[k] = Op::lane([=](int j) TALLY_LAMBDA { return load(at(j)); }, written_out<kPerLane>(), ends, pivot, bad);
    });
    int left = K / 2, n = kPerLane, k = 0;
    steps(0, written_out<K - 1>(), [&](int) TALLY_LAMBDA {
      acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], equal_weight<C>(n), bad);
      if (++k < left) return;
      k = 0;
      left /= 2;
      n *= 2;
    });
    return acc[0];
  }
};

/// A whole tile in Op's quick form where no number leaves its range, and else as FullTile has it.
template <class Op> struct QuickTile : FullTile<Op> {
  using C = ElementOf<Op>;
  FullTile<typename Op::Quick> quick;
  TALLY_INLINE AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    BadOf<typename Op::Quick> some;
    const auto acc = quick(x, first, some);
    return some.any(acc.f[0]) ? FullTile<Op>::operator()(x, first, bad) : Op::from(acc);
  }
};
/// For ops that have such a form, and where so few factors meet in one place that they seldom leave the range.
template <class Op> constexpr bool has_quick_tiles() {
  constexpr bool few = sizeof(ElementOf<Op>) == 8 || kVectorBytes == 64;
  return few && requires { typename Op::Quick; };
}

/// How tiles of one count lie in vectors and merge.
template <class Op> struct PartPlan {
  using C = ElementOf<Op>;
  static constexpr int W = kWidth<C>, K = kLanes / W;
  explicit PartPlan(int count)
      : lanes(count < kLanes ? count : kLanes),
        full(count / kLanes),
        rest(count % kLanes),
        rows(full + (rest > 0)),
        vectors(1) {
    while (vectors * W < lanes) vectors *= 2;
    if constexpr (Op::kCounts) weigh();
  }
  void weigh() {
    Vec<C> n[K];  // elements in the accumulators
    for (int k = 0; k < vectors; ++k) {
      const Vec<C> base = splat(static_cast<C>(full));
      const Mask<C> longer = ramp<C>() < splat(static_cast<C>(rest - W * k));
      n[k] = longer ? base + 1 : base;
      ends[k] = {n[k] == 0 ? splat(C(1)) : n[k], rest > 0 ? longer : ~Mask<C>{}};
    }
    int number = 0;
    const auto merge = [&](int to, int a, int b, int level = 0) {
      const Vec<C> low = even<C>(n[a], n[b], level), high = odd<C>(n[a], n[b], level), share = high / (low + high);
      weights[number++] = {share, low * share, high == 0};
      n[to] = low + high;
    };
    for (int left = vectors / 2; left > 0; left /= 2)
      for (int k = 0; k < left; ++k) merge(k, 2 * k, 2 * k + 1);
    for (int level = 2; level <= W; level *= 2) merge(0, 0, 0, level);
  }

  int lanes, full, rest, rows, vectors;
  LaneEnds<C> ends[Op::kCounts ? K : 1];
  Weight<C> weights[Op::kCounts ? K + 4 : 1];  // in the order of the merges
};

/// Any count: lanes that have no element are nothing, which merging passes over. Vectors: how many, where known and
/// there is one row.
template <class Op, int Vectors> struct PartTile {
  using C = ElementOf<Op>;
  static constexpr int W = kWidth<C>, K = kLanes / W;
  const PartPlan<Op>& plan;

  TALLY_INLINE AccOf<Op> operator()(const C* x, C first, BadOf<Op>& bad) const {
    const auto vectors = this->vectors();
    const Vec<C> pivot = splat(first);
    AccOf<Op> acc[Vectors > 0 ? Vectors : K];
    steps(0, vectors, [&](int k) TALLY_LAMBDA {
      const int there = plan.rest - W * k;  // of the last row in this vector
      const C* from = x + W * k;
      const LaneEnds<C>& ends = plan.ends[Op::kCounts ? k : 0];
      if (k * W >= plan.lanes)
        acc[k] = Op::nothing();
      else if constexpr (Vectors > 0)
        acc[k] = Op::lane([=](int) TALLY_LAMBDA { return load_part(from, there, Op::pad(first)); },
                          std::integral_constant<int, 1>(), ends, pivot, bad);
      else
        acc[k] = Op::lane(
            [=, full = plan.full](int j) TALLY_LAMBDA {
              return j < full ? load(from + kLanes * j) : load_part(from + kLanes * j, there, Op::pad(first));
            },
            plan.rows, ends, pivot, bad);
    });
    int left = vectors / 2, k = 0;
    steps(0, one_less(vectors), [&](int number) TALLY_LAMBDA {
      acc[k] = merge<Op>(acc[2 * k], acc[2 * k + 1], plan.weights[Op::kCounts ? number : 0], bad);
      if (++k < left) return;
      k = 0;
      left /= 2;
    });
    return acc[0];
  }
  const Weight<C>* inside() const { return plan.weights + (Op::kCounts ? vectors() - 1 : 0); }
  auto vectors() const {
    if constexpr (Vectors > 0)
      return std::integral_constant<int, Vectors>();
    else
      return plan.vectors;
  }

 private:
  template <int N> static std::integral_constant<int, N - 1> one_less(std::integral_constant<int, N>) { return {}; }
  static int one_less(int n) { return n - 1; }
};

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
