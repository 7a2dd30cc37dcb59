#include <tally/ops/reduce_gradient.h>

#include <vector>

#include <tally/ops/binary.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

namespace tally {
namespace {

// a / b, and 0 where b is 0; the derivatives there are 0 too.
Tensor ratio(const Tensor& a, const Tensor& b) {
  const Tensor none = b == 0;
  return where(none, 0, a / where(none, 1, b));
}

struct Gradient {
  const Tensor &x, &y;
  std::int64_t n;
  DType dtype;  // of the op: x and y may be wider
  const std::function<Tensor(const Tensor& grad)>& fused;

  // Piecewise constant derivatives: the numbers are all there is.
  template <class Op> Tensor operator()(const Op&) const { return slope(); }
  Tensor operator()(const Norm2&) const { return ratio(x, y); }
  Tensor operator()(const NormP& op) const {
    // sign(x) (|x| / y)^(p - 1), 0 at a zero entry and where the norm is 0.
    const Tensor none = logical_or(x == 0, y == 0);
    const Tensor size = where(none, 1, abs(x) / where(y == 0, 1, y));
    return where(none, 0, sign(x) * pow(size, op.p - 1));
  }
  Tensor operator()(const Var& op) const { return deviation() * 2 / divisor(op); }
  Tensor operator()(const Std& op) const { return ratio(deviation() / divisor(op), y); }
  Tensor operator()(const LogSumExp&) const {
    const Tensor finite = isfinite(y);
    return where(finite, exp(where(finite, x - y, 0)), slope());
  }

 private:
  Tensor slope() const { return fused(ones(y.shape(), {.dtype = dtype, .device = y.device()})); }
  // The dims along which x was reduced (or was not); one of size 1 counts as kept, which is the same.
  std::vector<std::int64_t> dims(bool reduced) const {
    std::vector<std::int64_t> found;
    for (int d = 0; d < x.dim(); ++d)
      if ((x.shape()[d] != y.shape()[d]) == reduced) found.push_back(d);
    return found;
  }
  Tensor deviation() const { return n == 1 ? x - x : x - mean(x, dims(true), keepdim); }
  double divisor(const Var& op) const {
    const double divisor = static_cast<double>(n) - op.correction;
    return divisor > 0 ? divisor : NAN;
  }
};

}  // namespace

Tensor recorded_gradient(const Reduction& op, const Tensor& x, const Tensor& y, const Tensor& grad, std::int64_t n,
                         const std::function<Tensor(const Tensor& grad)>& fused) {
  if (std::holds_alternative<Prod>(op)) return recorded_prod_gradient(x, grad, n, fused(grad));
  // The two-byte floats round once, at the end.
  const bool narrow_type = y.dtype() == float16 || y.dtype() == bfloat16;
  const Tensor wide_x = narrow_type && x.defined() ? x.to(float32) : x;
  const Tensor wide_y = narrow_type ? y.to(float32) : y;
  const Tensor gradient = grad * std::visit(Gradient{wide_x, wide_y, n, y.dtype(), fused}, op);
  return gradient.to(y.dtype());
}

}  // namespace tally
