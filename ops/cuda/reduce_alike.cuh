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

/// Max and Min: the largest element or, for the smallest, the largest of those turned over.
struct FirstExtreme : Max {
  float sign;

  template <bool Largest> explicit FirstExtreme(const Extreme<Largest>&) : sign(Largest ? 1.0f : -1.0f) {}
  template <class C> TALLY_HD C measure(C x) const { return turned(x); }
  /// Of Min it orders the other way round. Floats by a product, which is exact and which the units that compare do not
  /// have to do.
  template <class C> TALLY_HD C turned(C x) const {
    if constexpr (std::is_integral_v<C>)
      return sign < 0 ? ~x : x;  // the smallest has no negative
    else
      return x * static_cast<C>(sign);
  }
};

/// AMax and AMin or, of the elements' sizes, the norms of order inf and -inf.
template <bool kSizes> struct TiedExtreme : AMax {
  FirstExtreme order;

  template <bool Largest> explicit TiedExtreme(const SharedExtreme<Largest>&) : order(Extreme<Largest>()) {}
  template <bool Largest> explicit TiedExtreme(const NormInf<Largest>&) : order(Extreme<Largest>()) {}
  template <class C> TALLY_HD C turned(C x) const { return order.turned(x); }
  template <class C> TALLY_HD C measure(C x) const {
    if constexpr (kSizes)
      return turned(math::abs(x));
    else
      return turned(x);
  }
};

template <> struct UnitOf<Spread, float> { using type = QuickVar; };
template <> struct UnitOf<FirstExtreme, float> { using type = QuickMax; };
template <bool kSizes> struct UnitOf<TiedExtreme<kSizes>, float> { using type = QuickAMax; };

template <> inline constexpr bool bears_zeros<Total> = true;
template <> inline constexpr bool bears_zeros<Spread> = true;
template <> inline constexpr bool bears_zeros<Count> = true;
template <> inline constexpr bool bears_zeros<FirstExtreme> = true;
template <bool kSizes> inline constexpr bool bears_zeros<TiedExtreme<kSizes>> = true;

/// The op whose kernels do what is asked of Op.
template <class Op> struct CompiledAs { using type = Op; };
template <> struct CompiledAs<Sum> { using type = Total; };
template <> struct CompiledAs<Mean> { using type = Total; };
template <> struct CompiledAs<Var> { using type = Spread; };
template <> struct CompiledAs<Std> { using type = Spread; };
template <bool Largest> struct CompiledAs<Extreme<Largest>> { using type = FirstExtreme; };
template <bool Largest> struct CompiledAs<SharedExtreme<Largest>> { using type = TiedExtreme<false>; };
template <bool Largest> struct CompiledAs<NormInf<Largest>> { using type = TiedExtreme<true>; };
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
    acc.value = op.turned(acc.value);
    Results<Max, T>::store(op, o, acc, n, pivot);
  }
};

template <bool kSizes, class T> struct Results<cuda_loops::TiedExtreme<kSizes>, T> : Results<AMax, T> {
  using C = Compute<T>;

  TALLY_HD void store(const cuda_loops::TiedExtreme<kSizes>& op, std::int64_t o, Tied<C> acc, std::int64_t n,
                      C pivot) const {
    acc.value = n > 0 ? op.turned(acc.value) : C(0);  // the norm of nothing
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
