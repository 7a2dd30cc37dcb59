#include <tally/ops/scan.h>

#include <limits>

#include <tally/autograd/record.h>
#include <tally/core/dims.h>
#include <tally/core/error.h>
#include <tally/core/require.h>
#include <tally/ops/binary.h>
#include <tally/ops/join.h>
#include <tally/ops/operators.h>
#include <tally/ops/scan_ops.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

namespace tally {

ScanLists::ScanLists(const ScanCall& call) : length(call.y.shape()[call.dim]), reverse(call.reverse) {
  Shape shape = call.y.shape();
  shape[call.dim] = 1;
  const Shape none = contiguous_strides(shape);
  const Shape& b = call.b.defined() ? call.b.strides() : none;
  kept = Strided<3>(shape, {&call.y.strides(), &call.x.strides(), &b});
  steps[0] = call.y.strides()[call.dim];
  steps[1] = call.x.strides()[call.dim];
  steps[2] = b[call.dim];
}

namespace {

/// Which way a scan goes along which dim.
struct Way {
  int dim;
  bool reverse = false;
  Way back() const { return {dim, !reverse}; }
};

Tensor run(const Scan& op, const Tensor& x, const Tensor& b, Way way, Where where) {
  const Tensor y = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()}, where);
  if (y.numel() > 0) on(y.device(), [&](auto backend) { scan(backend, op, {y, x, b, way.dim, way.reverse}); });
  return y;
}

/// Each element's predecessor; the first one's is `first`, of size 1 along the dim.
Tensor before(const Tensor& x, const Tensor& first, Way way, Where where) {
  if (x.numel() == 0) return x;
  const std::int64_t left = x.shape()[way.dim] - 1;
  if (way.reverse) return cat({narrow(x, way.dim, 1, left, where), first}, way.dim, where);
  return cat({first, narrow(x, way.dim, 0, left, where)}, way.dim, where);
}
Tensor before(const Tensor& x, double first, Way way, Where where) {
  Shape shape = x.shape();
  shape[way.dim] = 1;
  return before(x, full(shape, first, {.dtype = x.dtype(), .device = x.device()}), way, where);
}

Tensor sum_along(const Tensor& x, Way way, Where where) {
  return record(
      "cumsum", {x}, run(CumSum{}, x, {}, way, where),
      [=](const Tensor& grad) { return std::vector{sum_along(grad, way.back(), where)}; }, where);
}

// With s[i] = grad[i] + a[i + 1]·s[i + 1]: the gradient of b is s, that of a is s[i]·y[i - 1].
Tensor recur_along(const Tensor& a, const Tensor& b, Way way, Where where) {
  return record(
      "recurrence", {a, b}, run(Recurrence{}, a, b, way, where), saving(a, output),
      [=](const Tensor& grad, const Tensor& a, const Tensor& y) {
        const Tensor s = recur_along(before(a, 0, way.back(), where), grad, way.back(), where);
        return std::vector{s * before(y, 0, way, where), s};
      },
      where);
}

// d y[k] / d x[i] is y[i - 1] times the product of x from i + 1 to k: no division.
Tensor product_along(const Tensor& x, Way way, Where where) {
  return record(
      "cumprod", {x}, run(CumProd{}, x, {}, way, where), saving(x, output),
      [=](const Tensor& grad, const Tensor& x, const Tensor& y) {
        const Tensor rest = recur_along(before(x, 0, way.back(), where), grad, way.back(), where);
        return std::vector{before(y, 1, way, where) * rest};
      },
      where);
}

// d y[k] / d x[i] is exp(x[i] - y[i]) times exp(y[i] - y[k]), and the latter telescopes; both are at most 1. Among
// +inf, of which `counts` says how many there were so far, the two are 1 / counts[i] and counts[i] / counts[k].
Tensor log_sum_gradient(const Tensor& grad, const Tensor& x, const Tensor& y, Way way, Where where) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto next = [&](const Tensor& t) {
    if (t.numel() == 0) return t;
    return before(t, narrow(t, way.dim, way.reverse ? 0 : t.shape()[way.dim] - 1, 1, where), way.back(), where);
  };
  const Tensor counts = sum_along((x == infinity).to(x.dtype()), way, where);
  const auto exp_unless = [&](const Tensor& special, const Tensor& difference, const Operand& value) {
    return tally::where(special, value, exp(tally::where(special, 0, difference, where), where), where);
  };
  const Tensor step = exp_unless(logical_and(isinf(y), y == next(y)), y - next(y),
                                 tally::where(y == infinity, counts / next(counts), 1, where));
  const Tensor weight = exp_unless(isinf(x), x - y, tally::where(x == infinity, 1 / counts, 0, where));
  return weight * recur_along(step, grad, way.back(), where);
}

Tensor log_sum_along(const Tensor& x, Way way, Where where) {
  return record(
      "logcumsumexp", {x}, run(LogCumSumExp{}, x, {}, way, where), saving(x, output),
      [=](const Tensor& grad, const Tensor& x, const Tensor& y) {
        return std::vector{log_sum_gradient(grad, x, y, way, where)};
      },
      where);
}

// The front end: checks, one dim at least, the type that the loops compute in, and back.
template <class F> Tensor along(const char* op, const Tensor& x, std::int64_t dim, Where where, F&& f) {
  detail::require_defined(op, x, where);
  const int d = normalize_dim(op, dim, x.dim(), where);
  const bool half = x.dtype() == float16 || x.dtype() == bfloat16;
  const Tensor input = half ? x.to(float32, where) : is_floating(x.dtype()) ? x : x.to(int64, where);
  const Tensor y = x.dim() == 0 ? reshape(f(reshape(input, {1}, where), Way{0}), {}, where) : f(input, Way{d});
  return half ? y.to(x.dtype(), where) : y;
}

void require_floating(const char* op, const Tensor& x, Where where) {
  detail::require_defined(op, x, where);
  if (!is_floating(x.dtype())) throw DTypeError(op, describe(x) + " is not floating; use .to(float32)", where);
}

}  // namespace

Tensor cumsum(const Tensor& x, std::int64_t dim, Where where) {
  return along("cumsum", x, dim, where, [&](const Tensor& x, Way way) { return sum_along(x, way, where); });
}
Tensor cumsum(const Tensor& x, std::int64_t dim, DType dtype, Where where) {
  return cumsum(x.to(dtype, where), dim, where).to(dtype, where);
}

Tensor cumprod(const Tensor& x, std::int64_t dim, Where where) {
  return along("cumprod", x, dim, where, [&](const Tensor& x, Way way) { return product_along(x, way, where); });
}
Tensor cumprod(const Tensor& x, std::int64_t dim, DType dtype, Where where) {
  return cumprod(x.to(dtype, where), dim, where).to(dtype, where);
}

Tensor logcumsumexp(const Tensor& x, std::int64_t dim, Where where) {
  require_floating("logcumsumexp", x, where);
  return along("logcumsumexp", x, dim, where, [&](const Tensor& x, Way way) { return log_sum_along(x, way, where); });
}

Tensor recurrence(const Tensor& a, const Tensor& b, std::int64_t dim, Where where) {
  require_floating("recurrence", a, where);
  detail::require_defined("recurrence", b, where);
  if (a.device() != b.device())
    throw DeviceError("recurrence", describe(a) + " and " + describe(b) + " are on different devices", where);
  if (a.shape() != b.shape())
    throw ShapeError("recurrence", describe(a) + " and " + describe(b) + " differ in shape", where);
  if (a.dtype() != b.dtype())
    throw DTypeError("recurrence", describe(a) + " and " + describe(b) + " differ in dtype", where);
  return along("recurrence", a, dim, where, [&](const Tensor& a, Way way) {
    return recur_along(a, reshape(b.to(a.dtype(), where), a.shape(), where), way, where);
  });
}

}  // namespace tally
