#include <tally/ops/binary.h>

#include <tally/ops/binary_ops.h>
#include <tally/ops/library_loops.h>
#include <tally/ops/operators.h>
#include <tally/ops/unary.h>
#include <tally/ops/where.h>

namespace tally {
namespace {

template <class Op> Tensor binary(const Op& op, const char* name, const Operand& a, const Operand& b, Where where) {
  return detail::record_zip<detail::LibraryLoops>(op, name, a, b, where);
}

Tensor difference(const Operand& a, const Operand& b, Where where) {
  const auto is_bool = [](const Operand& x) {
    return x.is_tensor() ? x.tensor().defined() && x.tensor().dtype() == boolean
                         : x.number().kind() == Number::Kind::boolean;
  };
  if (is_bool(a) && is_bool(b))
    throw DTypeError("sub",
                     describe(a.is_tensor() ? a.tensor() : b.tensor()) + ": bools have no difference; use logical_xor",
                     where);
  return binary(ops::Sub{}, "sub", a, b, where);
}

Tensor whole_quotient(const Operand& a, const Operand& b, Rounding rounding, Where where) {
  return rounding == Rounding::floor ? binary(ops::FloorDiv{}, "div", a, b, where)
                                     : binary(ops::TruncDiv{}, "div", a, b, where);
}

}  // namespace

Tensor add(const Tensor& a, const Operand& b, Where where) { return binary(ops::Add{}, "add", a, b, where); }
Tensor sub(const Tensor& a, const Operand& b, Where where) { return difference(a, b, where); }
Tensor sub(Number a, const Tensor& b, Where where) { return difference(a, b, where); }
Tensor mul(const Tensor& a, const Operand& b, Where where) { return binary(ops::Mul{}, "mul", a, b, where); }
Tensor div(const Tensor& a, const Operand& b, Where where) { return binary(ops::Div{}, "div", a, b, where); }
Tensor div(Number a, const Tensor& b, Where where) { return binary(ops::Div{}, "div", a, b, where); }
Tensor div(const Tensor& a, const Operand& b, Rounding rounding, Where where) {
  return whole_quotient(a, b, rounding, where);
}
Tensor div(Number a, const Tensor& b, Rounding rounding, Where where) { return whole_quotient(a, b, rounding, where); }
Tensor pow(const Tensor& a, const Operand& b, Where where) {
  if (!b.is_tensor() && b.number().as<double>() == 2 && is_floating(a.dtype())) return square(a, where);
  return binary(ops::Pow{}, "pow", a, b, where);
}
Tensor pow(Number a, const Tensor& b, Where where) { return binary(ops::Pow{}, "pow", a, b, where); }
Tensor maximum(const Tensor& a, const Operand& b, Where where) {
  return binary(ops::Maximum{}, "maximum", a, b, where);
}
Tensor minimum(const Tensor& a, const Operand& b, Where where) {
  return binary(ops::Minimum{}, "minimum", a, b, where);
}

Tensor eq(const Tensor& a, const Operand& b, Where where) { return binary(ops::Equal{}, "eq", a, b, where); }
Tensor ne(const Tensor& a, const Operand& b, Where where) { return binary(ops::NotEqual{}, "ne", a, b, where); }
Tensor lt(const Tensor& a, const Operand& b, Where where) { return binary(ops::Less{}, "lt", a, b, where); }
Tensor le(const Tensor& a, const Operand& b, Where where) { return binary(ops::LessEqual{}, "le", a, b, where); }
Tensor gt(const Tensor& a, const Operand& b, Where where) { return binary(ops::Less{}, "gt", b, a, where); }
Tensor ge(const Tensor& a, const Operand& b, Where where) { return binary(ops::LessEqual{}, "ge", b, a, where); }

// Of bools, `and` is the smaller, `or` the larger, `xor` whether they differ.
Tensor logical_and(const Tensor& a, const Tensor& b, Where where) {
  return binary(ops::Minimum{}, "logical_and", a.to(boolean, where), b.to(boolean, where), where);
}
Tensor logical_or(const Tensor& a, const Tensor& b, Where where) {
  return binary(ops::Maximum{}, "logical_or", a.to(boolean, where), b.to(boolean, where), where);
}
Tensor logical_xor(const Tensor& a, const Tensor& b, Where where) {
  return binary(ops::NotEqual{}, "logical_xor", a.to(boolean, where), b.to(boolean, where), where);
}

}  // namespace tally
