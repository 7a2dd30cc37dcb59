// Operators on tensors: elementwise, as the functions of binary.h, with C++ numbers on either side. Comparisons give a
// bool tensor, so `==` asks per element; is_same() asks whether two handles are one tensor.
#pragma once

#include <tally/ops/elementwise_op.h>

namespace tally {

/// A tensor in an operator, with the line the operator stands on: an operator takes no further argument.
class Located {
 public:
  Located(const Tensor& x, Where line = Where::here()) : tensor(x), where(line) {}  // NOLINT
  const Tensor& tensor;
  Where where;
};

/// neg(x).
Tensor operator-(const Located& x);

/// add, sub, mul and div.
Tensor operator+(const Located& a, const Operand& b);
Tensor operator-(const Located& a, const Operand& b);
Tensor operator*(const Located& a, const Operand& b);
Tensor operator/(const Located& a, const Operand& b);
Tensor operator+(Number a, const Located& b);
Tensor operator-(Number a, const Located& b);
Tensor operator*(Number a, const Located& b);
Tensor operator/(Number a, const Located& b);

/// eq, ne, lt, le, gt and ge.
Tensor operator==(const Located& a, const Operand& b);
Tensor operator!=(const Located& a, const Operand& b);
Tensor operator<(const Located& a, const Operand& b);
Tensor operator<=(const Located& a, const Operand& b);
Tensor operator>(const Located& a, const Operand& b);
Tensor operator>=(const Located& a, const Operand& b);
Tensor operator==(Number a, const Located& b);
Tensor operator!=(Number a, const Located& b);
Tensor operator<(Number a, const Located& b);
Tensor operator<=(Number a, const Located& b);
Tensor operator>(Number a, const Located& b);
Tensor operator>=(Number a, const Located& b);

}  // namespace tally
