// The list of scans: the accumulators of reductions (ops/reduction.h), read off at every element, and what the two
// devices are asked for.
#pragma once

#include <variant>

#include <tally/core/strided.h>
#include <tally/core/tensor.h>
#include <tally/ops/reductions.h>

namespace tally {

inline constexpr int kChunk = 8;

struct CumSum : Sum {
  static constexpr auto name = "cumsum";
  static constexpr int inputs = 1;
};

struct CumProd : Prod {
  static constexpr auto name = "cumprod";
  static constexpr int inputs = 1;
};

struct LogCumSumExp : LogSumExp {
  static constexpr auto name = "logcumsumexp";
  static constexpr int inputs = 1;
  template <class C> TALLY_HD Shifted<C> lift(C x) const { return {x, C(1)}; }
};

/// y -> a·y + b, one after the other. `a` of the list's first element multiplies nothing.
struct Recurrence {
  static constexpr auto name = "recurrence";
  static constexpr int inputs = 2;
  template <class T> static constexpr bool accepts = floats_only<T>;
  template <class C> struct Map { Wide<C> a, b; };
  template <class C> using Acc = Map<C>;
  template <class C> TALLY_HD Map<C> lift(C a, C b) const { return {Wide<C>(a), Wide<C>(b)}; }
  template <class C> TALLY_HD Map<C> combine(Map<C> first, Map<C> then) const {
    return {then.a * first.a, then.b + then.a * first.b};
  }
  template <class C> TALLY_HD C project(Map<C> acc, std::int64_t, C) const { return acc.b.narrow(); }
};

using Scan = std::variant<CumSum, CumProd, LogCumSumExp, Recurrence>;

/// One call: operands are y (dense), x and, for two inputs, b, all of one shape and of dtype float32, float64 or int64.
struct ScanCall {
  Tensor y, x, b;
  int dim = 0;
  bool reverse = false;  // from the last element to the first
};

/// Where the lists lie. Plain data, so a kernel takes it by value.
struct ScanLists {
  explicit ScanLists(const ScanCall& call);
  TALLY_HD std::int64_t tiles() const { return (length + kTile - 1) / kTile; }
  /// Offset in operand k of element i of a list whose first lies at `list`.
  TALLY_HD std::int64_t at(const std::int64_t (&list)[3], int k, std::int64_t i) const {
    return list[k] + (reverse ? length - 1 - i : i) * steps[k];
  }

  Strided<3> kept;  // one element a list
  std::int64_t steps[3];
  std::int64_t length;
  bool reverse;
};

void scan(Cpu, const Scan& op, const ScanCall& call);
void scan(Cuda, const Scan& op, const ScanCall& call);

}  // namespace tally
