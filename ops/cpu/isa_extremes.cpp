// Extremes and counts, which need no order, compiled once per instruction set, with TALLY_ISA its name. A list with a
// NaN, or an extreme that is zero where zeros have an order, is left to the general loops.
#include <tally/ops/cpu/processor_note.h>
#include <tally/ops/cpu/reduce_kernels.h>
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
  TALLY_INLINE static Vec<C> best(Vec<C> a, Vec<C> b) { return Largest ? larger<C>(a, b) : smaller<C>(a, b); }
};

/// Whether there was a NaN: looked for among all operands of max and min, or as the processor has noted it.
template <class C> struct LookedFor {
  Seen<C> seen;
  TALLY_INLINE void nan(Vec<C> a, Vec<C> b) { seen.nan(a, b); }
  TALLY_INLINE bool any(Vec<C>) const { return seen.any(); }
};
template <class C> struct Noted {
  Invalid note;
  TALLY_INLINE Noted() { note.clear(); }
  TALLY_INLINE void nan(Vec<C>, Vec<C>) {}
  TALLY_INLINE bool any(Vec<C> end) const { return note.noted(end); }
};

/// The extremes of what stands in each place of a tile's vectors.
template <class Op> [[gnu::noinline]] Vec<typename Op::C> extremes(const typename Op::C* x, int count, auto& nan) {
  using C = typename Op::C;
  constexpr int W = kWidth<C>, K = 8;
  Vec<C> best = Op::part(load_part(x, count, Op::kPad));
  nan.nan(best, best);
  best = Op::best(best, best);  // for the note of a NaN
  int i = W;
  if (count >= K * W) {
    Vec<C> side[K];
    for (int k = 0; k < K; ++k) side[k] = best;
    for (i = 0; i + K * W <= count; i += K * W) {
      TALLY_VECTOR_UNROLL
      for (int k = 0; k < K; k += 2) {
        const Vec<C> one = Op::part(load(x + i + W * k)), next = Op::part(load(x + i + W * (k + 1)));
        nan.nan(one, next);
        side[k] = Op::best(one, side[k]);
        side[k + 1] = Op::best(next, side[k + 1]);
      }
    }
    TALLY_VECTOR_UNROLL
    for (int k = 0; k < K; ++k) best = Op::best(side[k], best);
  }
  for (; i < count; i += W) {
    const Vec<C> one = Op::part(load_part(x + i, count - i, Op::kPad));
    nan.nan(one, one);
    best = Op::best(one, best);
  }
  return best;
}

/// Neighbours pair up.
template <class Op> TALLY_INLINE Vec<typename Op::C> merge(Vec<typename Op::C> a, Vec<typename Op::C> b) {
  using C = typename Op::C;
  return Op::best(even<C>(a, b), odd<C>(a, b));
}

/// f(i) for every four vectors from x + i on of which one has `value`, until it says true; where that is, or what is
/// left.
template <class Op> TALLY_INLINE int equals_by_four(const typename Op::C* x, int count, typename Op::C value, auto f) {
  using C = typename Op::C;
  constexpr int W = kWidth<C>;
  const Vec<C> wanted = splat(value);
  int i = 0;
  for (; i + 8 * W <= count; i += 4 * W) {  // not worth it for less
    Seen<C> seen;
    TALLY_VECTOR_UNROLL
    for (int k = 0; k < 4; ++k) seen.equal(Op::part(load(x + i + W * k)), wanted);
    if (seen.any() && f(i)) break;
  }
  return i;
}

/// Where `value` stands first; it is there.
template <class Op> TALLY_INLINE int place(const typename Op::C* x, int count, typename Op::C value) {
  using C = typename Op::C;
  const Vec<C> wanted = splat(value);
  for (int i = equals_by_four<Op>(x, count, value, [](int) { return true; });; i += kWidth<C>) {
    const Mask<C> equal = load_part(x + i, count - i, Op::kPad) == wanted;
    if (any<Whole<C>>(equal)) return i + first_true<Whole<C>>(equal);
  }
}

template <class Op> TALLY_INLINE int ties(const typename Op::C* x, int count, typename Op::C value) {
  using C = typename Op::C;
  constexpr int W = kWidth<C>;
  const Vec<C> wanted = splat(value);
  int number = 0;
  const auto add = [&](int i) TALLY_LAMBDA { number += count_true<Whole<C>>(Op::part(load(x + i)) == wanted); };
  int i = equals_by_four<Op>(x, count, value, [&](int four) TALLY_LAMBDA {
    for (int k = 0; k < 4; ++k) add(four + W * k);
    return false;
  });
  for (; i + W <= count; i += W) add(i);
  if (i < count) {
    const Mask<C> there = ramp<C>() < splat(static_cast<C>(count - i));
    number += count_true<Whole<C>>((Op::part(load_part(x + i, count - i, Op::kPad)) == wanted) & there);
  }
  return number;
}

template <class Op>
[[gnu::noinline]] TileResult<typename Op::C> result(const typename Op::C* x, int count, typename Op::C value) {
  using C = typename Op::C;
  if constexpr (!Op::kPlaces) return {value, C(0), ties<Op>(x, count, value)};
  const int i = place<Op>(x, count, value);
  return {x[i], C(0), i};
}

/// As many tiles as a vector has places share one tree; false where one of them is not for these loops.
template <class Op, class Nan> TALLY_INLINE bool tiles_together(const TileRows<typename Op::C>& job, std::int64_t t) {
  using C = typename Op::C;
  constexpr int W = kWidth<C>;
  Nan nan;
  Vec<C> best[W], end{};
  TALLY_VECTOR_LOOP
  for (int w = 0; w < W; ++w) {
    best[w] = extremes<Op>(job.x + (t + w) * job.step, job.count, nan);
    end = from_bits<C>(bits<C>(end) | bits<C>(best[w]));
  }
  if (nan.any(end)) return false;
  TALLY_VECTOR_LOOP
  for (int left = W / 2; left > 0; left /= 2) TALLY_VECTOR_LOOP
  for (int k = 0; k < left; ++k) best[k] = merge<Op>(best[2 * k], best[2 * k + 1]);
  if (Op::kZerosAreOrdered && any<Whole<C>>(best[0] == 0)) return false;
  if (job.results) {
    store(job.results + t, best[0]);
    return true;
  }
  C value[W];
  store(value, best[0]);
  TALLY_VECTOR_LOOP
  for (int w = 0; w < W; ++w) job.out[t + w] = result<Op>(job.x + (t + w) * job.step, job.count, value[w]);
  return true;
}

/// False where a tile is not for these loops.
template <class Op> TALLY_INLINE bool one_value(Vec<typename Op::C> best, bool nan, typename Op::C& value) {
  TALLY_VECTOR_UNROLL
  for (int left = kWidth<typename Op::C> / 2; left > 0; left /= 2) best = merge<Op>(best, best);
  value = best[0];
  return !nan && !(Op::kZerosAreOrdered && value == 0);
}

template <class Op, class Nan> std::int64_t separate_rows(const TileRows<typename Op::C>& job) {
  using C = typename Op::C;
  constexpr int kShort = 256;  // so many together stay in the first cache until their extremes are looked for
  constexpr int W = kWidth<C>;
  std::int64_t t = 0;
  while (t < job.tiles) {
    if ((job.results || job.count <= kShort) && t + W <= job.tiles && tiles_together<Op, Nan>(job, t)) {
      t += W;
      continue;
    }
    for (const std::int64_t end = t + W < job.tiles ? t + W : job.tiles; t < end; ++t) {
      const C* x = job.x + t * job.step;
      Nan nan;
      const Vec<C> best = extremes<Op>(x, job.count, nan);
      C value;
      if (!one_value<Op>(best, nan.any(best), value)) return t;
      if (job.results)
        job.results[t] = value;
      else
        job.out[t] = result<Op>(x, job.count, value);
    }
  }
  return t;
}

template <class Op, class Nan> std::int64_t merged_rows(const TileRows<typename Op::C>& job) {
  using C = typename Op::C;
  C best{};
  Nan nan;
  std::int64_t at = 0, number = 0, t = 0;
  for (; t < job.tiles; ++t) {
    const C* x = job.x + t * job.step;
    const Vec<C> some = extremes<Op>(x, job.count, nan);
    const bool has_nan = nan.any(some);
    // Most tiles have nothing that comes near.
    if (t > 0 && !has_nan && !any<Whole<C>>(~Op::beats(splat(best), some))) continue;
    C value;
    if (!one_value<Op>(some, has_nan, value)) break;
    const bool better = t == 0 || Op::beats(value, best);
    if constexpr (!Op::kPlaces)
      if (better || value == best) number = (better ? 0 : number) + result<Op>(x, job.count, value).number;
    if (better) {
      best = value;
      at = t;
    }
  }
  if (t == 0) return 0;
  if constexpr (Op::kPlaces) {
    number = at * job.step + result<Op>(job.x + at * job.step, job.count, best).number;
    best = job.x[number];
  }
  job.out[0] = {best, C(0), number};
  return t;
}

template <class Op> std::int64_t rows(const TileRows<typename Op::C>& job) {
  using C = typename Op::C;
  using Nan = std::conditional_t<Invalid::is_possible(), Noted<C>, LookedFor<C>>;
  if (Invalid::is_possible() && !Invalid::is_kept()) return 0;  // an emulator
  return job.merge ? merged_rows<Op, Nan>(job) : separate_rows<Op, Nan>(job);
}

template <class Op, bool kLooksForNan> [[gnu::noinline]] bool columns_of(const TileColumns<typename Op::C>& job) {
  using C = typename Op::C;
  constexpr int W = kWidth<C>, K = kTileColumns / W, kRows = 8;
  Vec<C> best[K];
  Mask<C> number[K], bad{};
  const int vectors = (job.width + W - 1) / W, whole = job.width / W;
  const auto at = [&](int r, int v) TALLY_LAMBDA {
    const C* x = job.x + job.rows[r] + W * v;
    return Op::part(v < whole ? load(x) : load_part(x, job.width - W * v, Op::kPad));
  };
  for (int v = 0; v < vectors; ++v) {
    best[v] = at(0, v);
    if constexpr (kLooksForNan) bad |= best[v] != best[v];
    best[v] = Op::best(best[v], best[v]);  // for the note of a NaN
    number[v] = Op::kPlaces ? Mask<C>{} : Mask<C>{} + 1;
  }
  const auto some = [&](int r, [[maybe_unused]] auto rows) TALLY_LAMBDA {
    const auto vector = [&](int v, auto get) TALLY_LAMBDA {
      Vec<C> b = best[v];
      Mask<C> m = number[v];
      for (int j = 0; j < decltype(rows)::value; ++j) {
        const Vec<C> x = get(r + j);
        const Mask<C> better = Op::beats(x, b);
        if constexpr (kLooksForNan) bad |= x != x;
        if constexpr (Op::kPlaces)
          m = better ? Mask<C>{} + static_cast<Whole<C>>(r + j) : m;
        else
          m = better ? Mask<C>{} + 1 : m - (x == b);
        b = Op::best(x, b);
      }
      best[v] = b;
      number[v] = m;
    };
    for (int v = 0; v < whole; ++v)
      vector(v, [&](int row) TALLY_LAMBDA { return Op::part(load(job.x + job.rows[row] + W * v)); });
    if (whole < vectors) vector(whole, [&](int row) TALLY_LAMBDA { return at(row, whole); });
  };
  int r = 1;
  for (; r + kRows <= job.count; r += kRows) some(r, std::integral_constant<int, kRows>());
  for (; r < job.count; ++r) some(r, std::integral_constant<int, 1>());
  bool all = true;
  for (int i = 0; i < job.width; ++i) {
    const std::int64_t one = number[i / W][i % W];
    const C value = Op::kPlaces ? job.x[job.rows[one] + i] : best[i / W][i % W];
    job.out[i] = {value, C(0), one};
    all &= job.done[i] = !bad[i % W] && !(Op::kZerosAreOrdered && value == 0);
  }
  return all;
}

/// Where the processor notes a NaN, which most columns do not have, none of them is looked for.
template <class Op> bool columns(const TileColumns<typename Op::C>& job) {
  if constexpr (!Invalid::is_possible()) {
    return columns_of<Op, true>(job);
  } else {
    if (Invalid::is_kept()) {
      const Invalid note;
      note.clear();
      const bool all = columns_of<Op, false>(job);
      if (!note.noted(0.0f)) return all;
    }
    for (int i = 0; i < job.width; ++i) job.done[i] = false;
    return false;
  }
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
  for (int i = 0; i < job.width; ++i) {
    job.out[i].number = number[i / W][i % W];
    job.done[i] = true;
  }
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
