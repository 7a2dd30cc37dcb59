// Extremes and counts, which need no order, compiled once per instruction set, with TALLY_ISA its name. A list with a
// NaN, or an extreme that is zero where zeros have an order, is left to the general loops.
#include <tally/ops/cpu/reduce_kernels.h>
#include <tally/ops/cpu/vector.h>
#include <tally/ops/reduction_order.h>

#define TALLY_PASTE_(a, b) a##b
#define TALLY_PASTE(a, b) TALLY_PASTE_(a, b)

namespace tally::detail {
namespace {

using namespace cpu_vector;

/// Places: the number is where the first extreme stands; else how many tie.
template <class T, bool Largest, bool Magnitude, bool Places> struct Extremes {
  using C = T;
  static constexpr bool kPlaces = Places, kZerosAreOrdered = !Places && !Magnitude;
  static constexpr C kPad = Magnitude && Largest ? C(0) : C(Largest ? -__builtin_inf() : __builtin_inf());
  TALLY_INLINE static Vec<C> part(Vec<C> x) { return Magnitude ? abs<C>(x) : x; }
  TALLY_INLINE static auto beats(auto a, auto b) { return Largest ? a > b : a < b; }
  TALLY_INLINE static Vec<C> best(Vec<C> a, Vec<C> b) { return Largest ? (a > b ? a : b) : (a < b ? a : b); }
};

/// The extreme of the tile; false if there is a NaN.
template <class Op> TALLY_INLINE bool extreme(const typename Op::C* x, int count, typename Op::C& value) {
  using C = typename Op::C;
  constexpr int W = kWidth<C>, K = 8;
  Vec<C> best = Op::part(load_part(x, count, Op::kPad));
  Mask<C> bad = best != best;
  int i = 0;
  if (count >= K * W) {
    Vec<C> side[K];
    for (int k = 0; k < K; ++k) side[k] = best;
    for (; i + K * W <= count; i += K * W) {
      TALLY_VECTOR_UNROLL
      for (int k = 0; k < K; ++k) {
        const Vec<C> one = Op::part(load(x + i + W * k));
        bad |= one != one;
        side[k] = Op::best(one, side[k]);
      }
    }
    TALLY_VECTOR_UNROLL
    for (int k = 0; k < K; ++k) best = Op::best(side[k], best);
  }
  for (; i < count; i += W) {
    const Vec<C> one = Op::part(load_part(x + i, count - i, Op::kPad));
    bad |= one != one;
    best = Op::best(one, best);
  }
  TALLY_VECTOR_UNROLL
  for (int left = W / 2; left > 0; left /= 2) best = Op::best(even<C>(best, best), odd<C>(best, best));
  value = best[0];
  return !any<Whole<C>>(bad);
}

template <class Op> TALLY_INLINE int place(const typename Op::C* x, int count, typename Op::C value) {
  using C = typename Op::C;
  const Vec<C> wanted = splat(value);
  for (int i = 0;; i += kWidth<C>) {
    const Mask<C> equal = load_part(x + i, count - i, Op::kPad) == wanted;
    if (any<Whole<C>>(equal)) return i + first_true<Whole<C>>(equal);
  }
}

template <class Op> TALLY_INLINE int ties(const typename Op::C* x, int count, typename Op::C value) {
  using C = typename Op::C;
  const Vec<C> wanted = splat(value);
  Mask<C> number{};
  int i = 0;
  for (; i + kWidth<C> <= count; i += kWidth<C>) number -= Op::part(load(x + i)) == wanted;
  const Mask<C> there = ramp<C>() < splat(static_cast<C>(count - i));
  number -= (Op::part(load_part(x + i, count - i, Op::kPad)) == wanted) & there;
  int all = 0;
  for (int w = 0; w < kWidth<C>; ++w) all += static_cast<int>(number[w]);
  return all;
}

template <class Op> std::int64_t rows(const TileRows<typename Op::C>& job) {
  using C = typename Op::C;
  C best{};
  std::int64_t at = 0, number = 0, t = 0;
  for (; t < job.tiles; ++t) {
    const C* x = job.x + t * job.step;
    C value;
    if (!extreme<Op>(x, job.count, value) || (Op::kZerosAreOrdered && value == 0)) break;
    if (job.merge) {
      const bool better = t == 0 || Op::beats(value, best);
      if constexpr (!Op::kPlaces)
        if (better || value == best) number = (better ? 0 : number) + ties<Op>(x, job.count, value);
      if (better) {
        best = value;
        at = t;
      }
    } else if constexpr (Op::kPlaces) {
      const int i = place<Op>(x, job.count, value);
      job.out[t] = {x[i], C(0), i};
    } else {
      job.out[t] = {value, C(0), ties<Op>(x, job.count, value)};
    }
  }
  if (job.merge && t > 0) {
    if constexpr (Op::kPlaces) {
      number = at * job.step + place<Op>(job.x + at * job.step, job.count, best);
      best = job.x[number];
    }
    job.out[0] = {best, C(0), number};
  }
  return t;
}

template <class Op> bool columns(const TileColumns<typename Op::C>& job) {
  using C = typename Op::C;
  constexpr int W = kWidth<C>, K = kTileColumns / W, kRows = 8;
  Vec<C> best[K];
  Mask<C> number[K], bad{};
  const int vectors = (job.width + W - 1) / W, whole = job.width / W;
  const auto at = [&](int r, int v) __attribute__((always_inline)) {
    const C* x = job.x + job.rows[r] + W * v;
    return Op::part(v < whole ? load(x) : load_part(x, job.width - W * v, Op::kPad));
  };
  for (int v = 0; v < vectors; ++v) {
    best[v] = at(0, v);
    bad |= best[v] != best[v];
    number[v] = Op::kPlaces ? Mask<C>{} : Mask<C>{} + 1;
  }
  const auto some = [&](int r, [[maybe_unused]] auto rows) __attribute__((always_inline)) {
    for (int v = 0; v < vectors; ++v) {
      Vec<C> b = best[v];
      Mask<C> m = number[v];
      for (int j = 0; j < decltype(rows)::value; ++j) {
        const Vec<C> x = at(r + j, v);
        const Mask<C> better = Op::beats(x, b);
        bad |= x != x;
        if constexpr (Op::kPlaces)
          m = better ? Mask<C>{} + static_cast<Whole<C>>(r + j) : m;
        else
          m = better ? Mask<C>{} + 1 : m - (x == b);
        b = Op::best(x, b);
      }
      best[v] = b;
      number[v] = m;
    }
  };
  int r = 1;
  for (; r + kRows <= job.count; r += kRows) some(r, std::integral_constant<int, kRows>());
  for (; r < job.count; ++r) some(r, std::integral_constant<int, 1>());
  if (any<Whole<C>>(bad)) return false;
  for (int i = 0; i < job.width; ++i) {
    const std::int64_t one = number[i / W][i % W];
    const C value = Op::kPlaces ? job.x[job.rows[one] + i] : best[i / W][i % W];
    if (Op::kZerosAreOrdered && value == 0) return false;
    job.out[i] = {value, C(0), one};
  }
  return true;
}

/// How many are not zero; NaN is not.
template <class C> std::int64_t nonzero_rows(const TileRows<C>& job) {
  constexpr int W = kWidth<C>;
  std::int64_t all = 0;
  for (std::int64_t t = 0; t < job.tiles; ++t) {
    const C* x = job.x + t * job.step;
    Mask<C> number{};
    int i = 0, one = 0;
    for (; i + W <= job.count; i += W) number -= load(x + i) != 0;
    if (i < job.count) number -= load_part(x + i, job.count - i, C(0)) != 0;
    for (int w = 0; w < W; ++w) one += static_cast<int>(number[w]);
    all += one;
    if (!job.merge) job.out[t].number = one;
  }
  if (job.merge) job.out[0].number = all;
  return job.tiles;
}

template <class C> bool nonzero_columns(const TileColumns<C>& job) {
  constexpr int W = kWidth<C>, K = kTileColumns / W;
  Mask<C> number[K] = {};
  for (int r = 0; r < job.count; ++r) {
    const C* x = job.x + job.rows[r];
    for (int v = 0; v * W < job.width; ++v) number[v] -= load_part(x + W * v, job.width - W * v, C(0)) != 0;
  }
  for (int i = 0; i < job.width; ++i) job.out[i].number = number[i / W][i % W];
  return true;
}

template <class Op> TileKernels<typename Op::C> kernels() { return {rows<Op>, columns<Op>}; }

template <class C> TileKernels<C> choose(TileKind kind) {
  switch (kind) {
    case TileKind::max:
      return kernels<Extremes<C, true, false, true>>();
    case TileKind::min:
      return kernels<Extremes<C, false, false, true>>();
    case TileKind::amax:
      return kernels<Extremes<C, true, false, false>>();
    case TileKind::amin:
      return kernels<Extremes<C, false, false, false>>();
    case TileKind::largest_magnitude:
      return kernels<Extremes<C, true, true, false>>();
    case TileKind::smallest_magnitude:
      return kernels<Extremes<C, false, true, false>>();
    case TileKind::nonzero:
      return {nonzero_rows<C>, nonzero_columns<C>};
    default:
      return {nullptr, nullptr};
  }
}

}  // namespace

TileKernels<float> TALLY_PASTE(extreme_kernels_, TALLY_ISA)(TileKind kind, float) { return choose<float>(kind); }
TileKernels<double> TALLY_PASTE(extreme_kernels_, TALLY_ISA)(TileKind kind, double) { return choose<double>(kind); }

}  // namespace tally::detail
