// What clip_grad_norm_ asks of a device.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <tally/nn/update.h>
#include <tally/ops/reductions.h>

namespace tally::detail {

using ClipOp = std::variant<Norm2, Norm1, NormInf<true>, NormP>;

/// Whether and how gradients are scaled: found on the device, read there.
template <class C> struct ClipDecision {
  C scale;
  bool clips;
};

struct ClipNorm {
  ClipOp op;
  std::vector<Tensor> grads;  // one a place: dense, of one dtype, or undefined
  std::int64_t elements = 0;  // of all
  double max_norm = 0;
  bool raises = true;
  std::int64_t names = 0;  // of name_list, for the report
  Tensor norm, decision;   // results: 0-d, float32 or float64; ClipDecision as bytes
  Where where;
};

/// Reduces each gradient to its accumulator (of none, that of an empty one), combines them and decides. The first place
/// whose gradients are not finite (the number of places where only their total is not), or -1; on CUDA always -1, and
/// the error is reported instead.
std::int64_t decide(Cpu, const ClipNorm& call);
std::int64_t decide(Cuda, const ClipNorm& call);

/// Keeps a list of names for a report that comes later; equal lists share a number.
std::int64_t name_list(std::vector<std::string> names);
[[noreturn]] void throw_not_finite(const char* op, std::int64_t names, std::int64_t place, Where where);

// What both devices compute.
template <class Op, class Acc> TALLY_HD bool is_finite(const Op& op, const Acc& acc, std::int64_t n) {
  if constexpr (std::is_same_v<Op, Norm2>)
    return math::isfinite(acc.m);  // squares have no bounds: only a gradient itself can be infinite
  else if constexpr (std::is_same_v<Op, NormP>)
    return math::isfinite(op.project(acc, n, acc.scale));
  else if constexpr (std::is_same_v<Op, Norm1>)
    return math::isfinite(acc);
  else
    return math::isfinite(acc.value);
}

template <class C, class Op, class Acc>
TALLY_HD ClipDecision<C> clip_decision(const Op& op, const Acc& acc, std::int64_t n, C norm, C max_norm) {
  if (!is_finite(op, acc, n) || norm <= max_norm) return {C(1), false};
  if constexpr (std::is_same_v<Op, Norm2>) {
    // As max_norm / norm, also where the norm is beyond C.
    const Wide<C> root = Norm2::root(acc), limit(max_norm);
    return {Wide<C>(limit.m / root.m, limit.e - root.e).narrow(), true};
  } else {
    return {max_norm / norm, true};
  }
}

/// A gradient element times the decided scale.
template <class T> struct ClipScale {
  using Element = T;
  static constexpr int arrays = 1;
  struct Decided {
    ClipDecision<Compute<T>> decision;
    TALLY_HD bool is_idle() const { return !decision.clips; }
    TALLY_HD void operator()(T& gradient) const {
      gradient = convert<T>(convert<Compute<T>>(gradient) * decision.scale);
    }
  };
  const ClipDecision<Compute<T>>* decision;
  TALLY_HD Decided ready() const { return {*decision}; }
};

template <class T> struct ClipValue {
  using Element = T;
  static constexpr int arrays = 1;
  Compute<T> limit;
  TALLY_HD void operator()(T& gradient) const {
    const auto g = convert<Compute<T>>(gradient);
    if (g > limit) gradient = convert<T>(limit);
    if (g < -limit) gradient = convert<T>(-limit);
  }
};

}  // namespace tally::detail
