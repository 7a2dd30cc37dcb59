// Two-sided elementwise ops. Shapes broadcast: aligned at the last dim, sizes equal or 1. Dtypes promote
// (core/dtype.h); a C++ number takes the tensor's dtype, but an integer tensor with a real number becomes float32 and a
// bool tensor with an integer int64. Both sides on one device. The gradient of a broadcast side is summed.
//
// Errors: ShapeError for shapes that do not broadcast, DeviceError for sides on different devices, ValueError for a
// number that an integer dtype cannot hold.
#pragma once

#include <tally/ops/elementwise_op.h>

namespace tally {

/// a + b; of two bools, whether one is true.
Tensor add(const Tensor& a, const Operand& b, Where where = Where::here());
/// a - b. DTypeError for two bools (use logical_xor).
Tensor sub(const Tensor& a, const Operand& b, Where where = Where::here());
Tensor sub(Number a, const Tensor& b, Where where = Where::here());
/// a · b.
Tensor mul(const Tensor& a, const Operand& b, Where where = Where::here());
/// True division: integers give float32.
Tensor div(const Tensor& a, const Operand& b, Where where = Where::here());
Tensor div(Number a, const Tensor& b, Where where = Where::here());

/// Towards 0, or down.
enum class Rounding : unsigned char { trunc, floor };
/// The quotient as a whole number, cut towards 0 or rounded down as Python's // does, in the common dtype; an integer
/// over 0 is 0. Gradient 0.
Tensor div(const Tensor& a, const Operand& b, Rounding rounding, Where where = Where::here());
Tensor div(Number a, const Tensor& b, Rounding rounding, Where where = Where::here());

/// a to the power b, with C's special cases; the gradient of x^0 is 0, as is that of the exponent at 0^b, b >= 0.
/// Integers wrap, and a negative exponent cuts to 0, 1 or -1.
Tensor pow(const Tensor& a, const Operand& b, Where where = Where::here());
Tensor pow(Number a, const Tensor& b, Where where = Where::here());

/// The larger (smaller) of two; NaN if one is. A tie gives each side half of the gradient.
Tensor maximum(const Tensor& a, const Operand& b, Where where = Where::here());
Tensor minimum(const Tensor& a, const Operand& b, Where where = Where::here());

// Comparisons: bool, without gradient. With NaN all are false but ne.
Tensor eq(const Tensor& a, const Operand& b, Where where = Where::here());
Tensor ne(const Tensor& a, const Operand& b, Where where = Where::here());
Tensor lt(const Tensor& a, const Operand& b, Where where = Where::here());
Tensor le(const Tensor& a, const Operand& b, Where where = Where::here());
Tensor gt(const Tensor& a, const Operand& b, Where where = Where::here());
Tensor ge(const Tensor& a, const Operand& b, Where where = Where::here());

// Of bools, or of whether elements are not 0.
Tensor logical_and(const Tensor& a, const Tensor& b, Where where = Where::here());
Tensor logical_or(const Tensor& a, const Tensor& b, Where where = Where::here());
Tensor logical_xor(const Tensor& a, const Tensor& b, Where where = Where::here());

}  // namespace tally
