#include <tally/ops/unary.h>

#include <limits>

#include <tally/ops/binary.h>
#include <tally/ops/library_loops.h>
#include <tally/ops/operators.h>
#include <tally/ops/unary_ops.h>

namespace tally {
namespace {

template <class Op> Tensor unary(const Op& op, const Tensor& x, Where where) {
  return detail::record_map<detail::LibraryLoops>(op, x, where);
}

}  // namespace

Tensor neg(const Tensor& x, Where where) {
  if (x.dtype() == boolean) throw DTypeError("neg", describe(x) + " has no negative; use logical_not", where);
  return unary(ops::Neg{}, x, where);
}
Tensor abs(const Tensor& x, Where where) { return unary(ops::Abs{}, x, where); }
Tensor sign(const Tensor& x, Where where) { return unary(ops::Sign{}, x, where); }
Tensor square(const Tensor& x, Where where) {
  return unary(ops::Square{}, x.dtype() == boolean ? x.to(int64, where) : x, where);
}
Tensor relu(const Tensor& x, Where where) { return unary(ops::Relu{}, x, where); }

Tensor clamp(const Tensor& x, Number low, Number high, Where where) {
  const double lowest = low.as<double>(), highest = high.as<double>();
  if (!(lowest <= highest))
    throw ValueError("clamp", "bounds " + std::to_string(lowest) + " and " + std::to_string(highest), where);
  const bool real = low.is_real() || high.is_real();
  const ops::Clamp op{lowest, highest, low.as<std::int64_t>(), high.as<std::int64_t>()};
  return unary(op, real && !is_floating(x.dtype()) ? x.to(float32, where) : x, where);
}

Tensor floor(const Tensor& x, Where where) { return unary(ops::Floor{}, x, where); }
Tensor ceil(const Tensor& x, Where where) { return unary(ops::Ceil{}, x, where); }
Tensor round(const Tensor& x, Where where) { return unary(ops::Round{}, x, where); }

Tensor exp(const Tensor& x, Where where) { return unary(ops::Exp{}, x, where); }
Tensor expm1(const Tensor& x, Where where) { return unary(ops::Expm1{}, x, where); }
Tensor log(const Tensor& x, Where where) { return unary(ops::Log{}, x, where); }
Tensor log1p(const Tensor& x, Where where) { return unary(ops::Log1p{}, x, where); }
Tensor sqrt(const Tensor& x, Where where) { return unary(ops::Sqrt{}, x, where); }
Tensor rsqrt(const Tensor& x, Where where) { return unary(ops::Rsqrt{}, x, where); }
Tensor reciprocal(const Tensor& x, Where where) { return unary(ops::Reciprocal{}, x, where); }
Tensor sin(const Tensor& x, Where where) { return unary(ops::Sin{}, x, where); }
Tensor cos(const Tensor& x, Where where) { return unary(ops::Cos{}, x, where); }
Tensor tanh(const Tensor& x, Where where) { return unary(ops::Tanh{}, x, where); }
Tensor erf(const Tensor& x, Where where) { return unary(ops::Erf{}, x, where); }
Tensor sigmoid(const Tensor& x, Where where) { return unary(ops::Sigmoid{}, x, where); }
Tensor softplus(const Tensor& x, Where where) { return unary(ops::Softplus{}, x, where); }
Tensor silu(const Tensor& x, Where where) { return unary(ops::Silu{}, x, where); }
Tensor gelu(const Tensor& x, Where where) { return unary(ops::Gelu{}, x, where); }

Tensor isnan(const Tensor& x, Where where) { return unary(ops::Isnan{}, x, where); }
Tensor isinf(const Tensor& x, Where where) { return unary(ops::Isinf{}, x, where); }
Tensor isfinite(const Tensor& x, Where where) { return unary(ops::Isfinite{}, x, where); }
Tensor logical_not(const Tensor& x, Where where) { return eq(x, 0, where); }

}  // namespace tally
