// The front end of all elementwise ops: dtype and shape rules, the loop, the graph. It exists once (elementwise.cpp):
// an op comes as a table of functions that know its type.
#pragma once

#include <memory>
#include <type_traits>

#include <tally/core/error.h>
#include <tally/ops/cpu/elementwise.h>
#include <tally/ops/elementwise_loop.h>

namespace tally {

Tensor mul(const Tensor& a, const Operand& b, Where where);

namespace detail {

[[noreturn]] void throw_host_only(const char* name, Where where);

/// One side of a two-sided op; `tensor` is undefined for a number.
struct Side {
  Tensor tensor;
  Number number = 0;
  Input input() const { return tensor.defined() ? Input(tensor) : Input(number); }
  bool wants_grad() const { return tensor.defined() && tensor.requires_grad(); }
};

/// Both sides in the common dtype. Throws DeviceError, ShapeError, ValueError (a number that the dtype cannot hold).
struct Pair {
  Pair(const char* name, Result result, const Operand& left, const Operand& right, Where where);
  Side a, b;
  Shape shape;
  DType dtype;
  Device device;
};

inline Options like(DType dtype, Device device) { return {.dtype = dtype, .device = device}; }

/// A loop over an op whose type is forgotten.
template <std::size_t N>
using Loop = void (*)(const void* op, const Tensor& out, const Inputs<N>& inputs, DType dtype, const char* name,
                      Where where);

/// The op as backward keeps it; null where it is an empty struct.
using KeptOp = std::shared_ptr<const void>;
template <class Op> inline constexpr bool kKeepsNothing = std::is_empty_v<Op>&& std::is_default_constructible_v<Op>;
template <class Op> Op op_from(const void* op) {
  if constexpr (kKeepsNothing<Op>)
    return Op{};
  else
    return *static_cast<const Op*>(op);
}
using KeepOp = KeptOp (*)(const void* op);
template <class Op> constexpr KeepOp keep_op() {
  if constexpr (kKeepsNothing<Op>)
    return nullptr;
  else
    return [](const void* op) -> KeptOp { return std::make_shared<const Op>(*static_cast<const Op*>(op)); };
}

/// Kind<Op> is Forward, Pull, ...
template <class Loops, template <class> class Kind, class Op, std::size_t N> constexpr Loop<N> loop_of() {
  return [](const void* op, const Tensor& out, const Inputs<N>& inputs, DType dtype, const char* name, Where where) {
    Loops::run(Kind<Op>{op_from<Op>(op)}, out, inputs, dtype, name, where);
  };
}

/// A one-sided op.
struct MapRule {
  Result result;
  Curvature curvature;
  bool from_result;  // what backward keeps: the result, or x
  KeepOp keep;
  Loop<1> forward;
  Loop<2> pull;  // null where there is no derivative
  /// The gradient as recorded ops; null where it is not written so.
  Tensor (*recorded)(const void* op, const Tensor& grad, const Tensor& kept, Where where);
};
Tensor record_map(const MapRule& rule, const char* name, const void* op, const Tensor& input, Where where);

template <class Loops, class Op> constexpr MapRule map_rule() {
  MapRule rule{
      result_of<Op>(), curvature_of<Op>(), FromResult<Op>, keep_op<Op>(), loop_of<Loops, Forward, Op, 1>(), nullptr,
      nullptr};
  if constexpr (FromResult<Op> || FromInput<Op>) {
    rule.pull = loop_of<Loops, Pull, Op, 2>();
    if constexpr (curvature_of<Op>() == Curvature::recorded)
      rule.recorded = [](const void* op, const Tensor& grad, const Tensor& kept, Where where) {
        return mul(grad, derivative(op_from<Op>(op), kept), where);
      };
  }
  return rule;
}
template <class Loops, class Op> inline constexpr MapRule kMapRule = map_rule<Loops, Op>();

template <class Loops, class Op> Tensor record_map(const Op& op, const Tensor& input, Where where) {
  return record_map(kMapRule<Loops, Op>, op.name, &op, input, where);
}

/// f(a, b), each a Tensor or, where it is a number or was not kept, a double.
template <class F> __attribute__((visibility("hidden"))) auto with_sides(const Side& a, const Side& b, F&& f) {
  const double x = a.number.as<double>(), y = b.number.as<double>();
  if (a.tensor.defined()) return b.tensor.defined() ? f(a.tensor, b.tensor) : f(a.tensor, y);
  return b.tensor.defined() ? f(x, b.tensor) : f(x, y);
}

/// One side's derivative.
struct PartialRule {
  Reads reads;
  Loop<3> pull;                        // null where there is none
  double (*constant)(const void* op);  // null where it reads anything
  Tensor (*recorded)(const void* op, const Tensor& grad, const Side& a, const Side& b, Where where);  // or null
};

/// A two-sided op.
struct ZipRule {
  Result result;
  Curvature curvature;
  KeepOp keep;
  Loop<2> forward;
  PartialRule left, right;
};
Tensor record_zip(const ZipRule& rule, const char* name, const void* op, const Operand& left, const Operand& right,
                  Where where);

/// kPull is PullLeft or PullRight, Partial{}(op, a, b) calls da or db.
template <class Loops, template <class> class kPull, class Op, class Partial>
constexpr PartialRule partial_rule(Reads reads, Partial) {
  PartialRule rule{reads, loop_of<Loops, kPull, Op, 3>(), nullptr, nullptr};
  if (reads == Reads::nothing)
    rule.constant = [](const void* op) { return static_cast<double>(Partial{}(op_from<Op>(op), 0.0, 0.0)); };
  else if constexpr (curvature_of<Op>() == Curvature::recorded)
    rule.recorded = [](const void* op, const Tensor& grad, const Side& a, const Side& b, Where where) {
      const Op one = op_from<Op>(op);
      return with_sides(a, b, [&](const auto& x, const auto& y) { return mul(grad, Partial{}(one, x, y), where); });
    };
  return rule;
}

template <class Loops, class Op> constexpr ZipRule zip_rule() {
  ZipRule rule{result_of<Op>(), curvature_of<Op>(), keep_op<Op>(), loop_of<Loops, Forward, Op, 2>(), {}, {}};
  if constexpr (requires(const Op op) { op.da(1.f, 1.f), op.db(1.f, 1.f); }) {
    rule.left = partial_rule<Loops, PullLeft, Op>(
        da_reads<Op>(), [](const Op& op, const auto& a, const auto& b) { return op.da(a, b); });
    rule.right = partial_rule<Loops, PullRight, Op>(
        db_reads<Op>(), [](const Op& op, const auto& a, const auto& b) { return op.db(a, b); });
  }
  return rule;
}
template <class Loops, class Op> inline constexpr ZipRule kZipRule = zip_rule<Loops, Op>();

template <class Loops, class Op>
Tensor record_zip(const Op& op, const char* name, const Operand& left, const Operand& right, Where where) {
  return record_zip(kZipRule<Loops, Op>, name, &op, left, right, where);
}

}  // namespace detail
}  // namespace tally
