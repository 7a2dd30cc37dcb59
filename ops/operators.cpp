#include <tally/ops/operators.h>

#include <tally/ops/binary.h>
#include <tally/ops/unary.h>

namespace tally {

Tensor operator-(const Located& x) { return neg(x.tensor, x.where); }

Tensor operator+(const Located& a, const Operand& b) { return add(a.tensor, b, a.where); }
Tensor operator-(const Located& a, const Operand& b) { return sub(a.tensor, b, a.where); }
Tensor operator*(const Located& a, const Operand& b) { return mul(a.tensor, b, a.where); }
Tensor operator/(const Located& a, const Operand& b) { return div(a.tensor, b, a.where); }
Tensor operator+(Number a, const Located& b) { return add(b.tensor, a, b.where); }
Tensor operator-(Number a, const Located& b) { return sub(a, b.tensor, b.where); }
Tensor operator*(Number a, const Located& b) { return mul(b.tensor, a, b.where); }
Tensor operator/(Number a, const Located& b) { return div(a, b.tensor, b.where); }

Tensor operator==(const Located& a, const Operand& b) { return eq(a.tensor, b, a.where); }
Tensor operator!=(const Located& a, const Operand& b) { return ne(a.tensor, b, a.where); }
Tensor operator<(const Located& a, const Operand& b) { return lt(a.tensor, b, a.where); }
Tensor operator<=(const Located& a, const Operand& b) { return le(a.tensor, b, a.where); }
Tensor operator>(const Located& a, const Operand& b) { return gt(a.tensor, b, a.where); }
Tensor operator>=(const Located& a, const Operand& b) { return ge(a.tensor, b, a.where); }
Tensor operator==(Number a, const Located& b) { return eq(b.tensor, a, b.where); }
Tensor operator!=(Number a, const Located& b) { return ne(b.tensor, a, b.where); }
Tensor operator<(Number a, const Located& b) { return gt(b.tensor, a, b.where); }
Tensor operator<=(Number a, const Located& b) { return ge(b.tensor, a, b.where); }
Tensor operator>(Number a, const Located& b) { return lt(b.tensor, a, b.where); }
Tensor operator>=(Number a, const Located& b) { return le(b.tensor, a, b.where); }

}  // namespace tally
