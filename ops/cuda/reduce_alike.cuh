// Ops that differ only in what they make of an element or of the accumulator: their kernels are compiled once, and are
// told which one they do.
#pragma once

#include <tally/ops/results.h>
#include <tally/ops/cuda/reduce_quick.cuh>
#include <tally/ops/cuda/reduce_short_rows.cuh>

namespace tally::cuda_loops {

/// Sum and Mean.
struct Total : Sum {
  bool mean;

  explicit Total(const Sum& op) : Sum(op), mean(false) {}
  explicit Total(const Mean& op) : Sum(op), mean(true) {}
  template <class C> TALLY_HD C project(C acc, std::int64_t n, C pivot) const {
    if constexpr (!std::is_integral_v<C>)
      if (mean) return Mean{*this}.project(acc, n, pivot);
    return Sum::project(acc, n, pivot);
  }
};

/// Var and Std.
struct Spread : Var {
  bool root;

  explicit Spread(const Var& op) : Var(op), root(false) {}
  explicit Spread(const Std& op) : Var(op), root(true) {}
  template <class C> TALLY_HD Pair<C, C> project(Moments<C> acc, std::int64_t n, C pivot) const {
    return root ? Std{*this}.project(acc, n, pivot) : Var::project(acc, n, pivot);
  }
};

/// CountNonzero, Any, All and Norm0, whose results are of three types.
struct Count : CountNonzero {
  enum class Of : unsigned char { count, any, all, norm } of;

  explicit Count(const CountNonzero&) : of(Of::count) {}
  explicit Count(const Any&) : of(Of::any) {}
  explicit Count(const All&) : of(Of::all) {}
  explicit Count(const Norm0&) : of(Of::norm) {}
};

/// A number of whose bits those that are not kept are 0 and some others flipped. The bits are a double's; of a float
/// they are the upper half. All of an integer are flipped or none.
template <class C> TALLY_HD C with_bits(C x, std::uint64_t kept, std::uint64_t flipped) {
  if constexpr (std::is_integral_v<C>) {
    return x ^ (static_cast<std::int64_t>(flipped) >> 63);
  } else {
    using Bits = std::conditional_t<sizeof(C) == 4, std::uint32_t, std::uint64_t>;
    constexpr int kAbove = 64 - 8 * sizeof(C);
    return math::bit_cast<C>((math::bit_cast<Bits>(x) & static_cast<Bits>(kept >> kAbove)) ^
                             static_cast<Bits>(flipped >> kAbove));
  }
}
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

/// Max and Min: the largest element or, for the smallest, the largest opposite.
struct FirstExtreme : Max {
  std::uint64_t flipped;

  template <bool Largest> explicit FirstExtreme(const Extreme<Largest>&) : flipped(Largest ? 0 : kSign) {}
  template <class C> TALLY_HD C measure(C x) const { return with_bits(x, UINT64_MAX, flipped); }
  template <class C> TALLY_HD C value(C measure) const { return with_bits(measure, UINT64_MAX, flipped); }
};

/// AMax, AMin and, of the elements' magnitudes, the norms of order inf and -inf.
struct TiedExtreme : AMax {
  std::uint64_t kept, flipped;

  template <bool Largest>
  explicit TiedExtreme(const SharedExtreme<Largest>&) : kept(UINT64_MAX), flipped(Largest ? 0 : kSign) {}
  template <bool Largest>
  explicit TiedExtreme(const NormInf<Largest>&) : kept(UINT64_MAX ^ kSign), flipped(Largest ? 0 : kSign) {}
  template <class C> TALLY_HD C measure(C x) const { return with_bits(x, kept, flipped); }
  template <class C> TALLY_HD C value(C measure) const { return with_bits(measure, UINT64_MAX, flipped); }
};

template <> struct UnitOf<Spread, float> { using type = QuickVar; };
template <> struct UnitOf<FirstExtreme, float> { using type = QuickMax; };
template <> struct UnitOf<TiedExtreme, float> { using type = QuickAMax; };

template <> inline constexpr bool bears_zeros<Total> = true;
template <> inline constexpr bool bears_zeros<Spread> = true;
template <> inline constexpr bool bears_zeros<Count> = true;
template <> inline constexpr bool bears_zeros<FirstExtreme> = true;
template <> inline constexpr bool bears_zeros<TiedExtreme> = true;

/// The op whose kernels do what is asked of Op.
template <class Op> struct CompiledAs { using type = Op; };
template <> struct CompiledAs<Sum> { using type = Total; };
template <> struct CompiledAs<Mean> { using type = Total; };
template <> struct CompiledAs<Var> { using type = Spread; };
template <> struct CompiledAs<Std> { using type = Spread; };
template <bool Largest> struct CompiledAs<Extreme<Largest>> { using type = FirstExtreme; };
template <bool Largest> struct CompiledAs<SharedExtreme<Largest>> { using type = TiedExtreme; };
template <bool Largest> struct CompiledAs<NormInf<Largest>> { using type = TiedExtreme; };
template <> struct CompiledAs<CountNonzero> { using type = Count; };
template <> struct CompiledAs<Any> { using type = Count; };
template <> struct CompiledAs<All> { using type = Count; };
template <> struct CompiledAs<Norm0> { using type = Count; };

}  // namespace tally::cuda_loops

namespace tally {

template <class T> struct Results<cuda_loops::FirstExtreme, T> : Results<Max, T> {
  using C = Compute<T>;

  TALLY_HD void store(const cuda_loops::FirstExtreme& op, std::int64_t o, Placed<C> acc, std::int64_t n,
                      C pivot) const {
    acc.value = op.value(acc.value);
    Results<Max, T>::store(op, o, acc, n, pivot);
  }
};

template <class T> struct Results<cuda_loops::TiedExtreme, T> : Results<AMax, T> {
  using C = Compute<T>;

  TALLY_HD void store(const cuda_loops::TiedExtreme& op, std::int64_t o, Tied<C> acc, std::int64_t n, C pivot) const {
    acc.value = n > 0 ? op.value(acc.value) : C(0);  // the norm of nothing
    Results<AMax, T>::store(op, o, acc, n, pivot);
  }
};

template <class T> struct Results<cuda_loops::Count, T> {
  void* first;  ///< of the type that the op gives
  std::int64_t* second;
  std::int64_t* accumulators;

  TALLY_HD void store(const cuda_loops::Count& op, std::int64_t o, std::int64_t acc, std::int64_t n, Compute<T>) const {
    using Of = cuda_loops::Count::Of;
    if (accumulators) accumulators[o] = acc;
    switch (op.of) {
      case Of::count:
        return put<CountNonzero>(o, acc, n);
      case Of::any:
        return put<Any>(o, acc, n);
      case Of::all:
        return put<All>(o, acc, n);
      case Of::norm:
        if constexpr (is_float_type<T>) put<Norm0>(o, acc, n);
    }
  }

 private:
  template <class Op> TALLY_HD void put(std::int64_t o, std::int64_t acc, std::int64_t n) const {
    using Result = ResultType<Op, T>;
    static_cast<Result*>(first)[o] = convert<Result>(Op().project(acc, n, Compute<T>()));
  }
};

}  // namespace tally
