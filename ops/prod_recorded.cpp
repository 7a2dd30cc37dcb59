// The gradient of prod as an op that can be derived again.
//
// It gives grad · y with y_i the product of all x_k but x_i. Along a direction c, y changes by
// t_i = sum over j != i of c_j · (the product of all but x_i and x_j). That matrix is symmetric, so t is also the
// gradient of sum(c · y): backward is the recursion for y on dual numbers (value, tangent). No division, so zeros are
// exact; and every product has an unbounded exponent, so that only results may leave the range. Third derivatives are
// those of the same recursion made of recorded ops, in the range of their dtype.
#include <tally/ops/reduce_gradient.h>

#include <vector>

#include <tally/autograd/record.h>
#include <tally/ops/binary.h>
#include <tally/ops/join.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

namespace tally {
namespace {

/// Wide (core/wide.h) for every element: m · step^e, with |m| in [1 / step, step]. Infinities and NaN have the largest
/// e, zeros the smallest.
struct WideTensor {
  Tensor m, e;
};
constexpr std::int64_t kLargest = 1 << 28;
double step_of(const Tensor& m) { return m.dtype() == float64 ? 0x1p500 : 0x1p60; }

// For m in [step^-2, step^2].
WideTensor brought_into_range(const Tensor& m, const Tensor& e) {
  const double step = step_of(m);
  const Tensor size = abs(m), large = size > step, small = size < 1 / step;
  const Tensor moved = where(large, e + 1, where(small, e - 1, e));
  return {where(large, m / step, where(small, m * step, m)),
          where(m == 0, -kLargest, where(isfinite(m), moved, kLargest))};
}
WideTensor operator*(const WideTensor& a, const WideTensor& b) { return brought_into_range(a.m * b.m, a.e + b.e); }
WideTensor operator+(const WideTensor& a, const WideTensor& b) {
  const double step = step_of(a.m);
  const Tensor top = maximum(a.e, b.e);
  // Three steps below the larger one nothing counts.
  const auto shifted = [&](const WideTensor& one) {
    const Tensor apart = top - one.e;
    return where(apart == 0, one.m, where(apart == 1, one.m / step, where(apart == 2, one.m / step / step, 0)));
  };
  return brought_into_range(shifted(a) + shifted(b), top);
}

// To the numbers of the recursion, and back: wide ones for values, the tensors themselves to record.
template <class N> N lifted(const Tensor& x);
template <> Tensor lifted(const Tensor& x) { return x; }
template <> WideTensor lifted(const Tensor& x) {
  const WideTensor once = brought_into_range(x, zeros(x.shape(), {.dtype = int64, .device = x.device()}));
  return brought_into_range(once.m, once.e);
}
Tensor narrowed(const Tensor& x) { return x; }
Tensor narrowed(const WideTensor& x) {
  const double step = step_of(x.m);
  Tensor value = x.m;
  for (int e = 0; e < 4; ++e) value = where(x.e > e, value * step, where(x.e < -e, value / step, value));
  return value;
}

template <class N> struct Dual { N value, tangent; };
template <class N> Dual<N> operator*(const Dual<N>& a, const Dual<N>& b) {
  return {a.value * b.value, a.value * b.tangent + a.tangent * b.value};
}

// Some elements of the last dim, and two such parts behind each other.
Tensor part(const Tensor& x, std::int64_t from, std::int64_t count) { return narrow(x, -1, from, count); }
WideTensor part(const WideTensor& x, std::int64_t from, std::int64_t count) {
  return {part(x.m, from, count), part(x.e, from, count)};
}
template <class N> Dual<N> part(const Dual<N>& x, std::int64_t from, std::int64_t count) {
  return {part(x.value, from, count), part(x.tangent, from, count)};
}
Tensor joined(const Tensor& a, const Tensor& b) { return cat({a, b}, -1); }
WideTensor joined(const WideTensor& a, const WideTensor& b) { return {joined(a.m, b.m), joined(a.e, b.e)}; }
template <class N> Dual<N> joined(const Dual<N>& a, const Dual<N>& b) {
  return {joined(a.value, b.value), joined(a.tangent, b.tangent)};
}

// Of n numbers: pairs multiply, the half as long list is solved, and each of a pair gets its partner. n log n
// multiplications. `one` is the product of nothing.
template <class N> Dual<N> product_of_others(const Dual<N>& x, std::int64_t n, const Dual<N>& one) {
  if (n <= 1) return part(one, 0, n);
  if (n == 2) return joined(part(x, 1, 1), part(x, 0, 1));
  const std::int64_t half = n / 2, left = n % 2;
  const Dual<N> a = part(x, 0, half), b = part(x, half, half);
  const Dual<N> others = product_of_others(joined(a * b, part(x, 2 * half, left)), half + left, one);
  const Dual<N> of_pairs = part(others, 0, half);
  return joined(joined(of_pairs * b, of_pairs * a), part(others, half, left));
}

// Lists as rows, whatever dims were reduced.
class Rows {
 public:
  Rows(const Shape& shape, const Shape& kept_shape, std::int64_t n) : back_(static_cast<std::size_t>(shape.size())) {
    for (const bool reduced : {false, true})
      for (int d = 0; d < shape.size(); ++d) {
        if ((shape[d] != kept_shape[d]) != reduced) continue;  // one of size 1 counts as kept, which is the same
        back_[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(order_.size());
        order_.push_back(d);
        permuted_.push_back(shape[d]);
      }
    flat_ = {n > 0 ? shape.numel() / n : kept_shape.numel(), n};
  }
  Tensor of(const Tensor& x) const { return reshape(permute(x, order_), flat_); }
  Tensor back(const Tensor& rows) const { return permute(reshape(rows, permuted_), back_); }

 private:
  std::vector<std::int64_t> order_, back_;
  Shape permuted_, flat_;
};

// What both inputs get for the gradient c of the result.
template <class N>
std::vector<Tensor> backward(const Tensor& c, const Tensor& x, const Tensor& grad, const Rows& rows, std::int64_t n) {
  const Tensor lists = rows.of(x), directions = rows.of(c);
  const Tensor first = ones({lists.size(0), 1}, {.dtype = x.dtype(), .device = x.device()});
  const N upstream = lifted<N>(reshape(grad, first.shape())), direction = lifted<N>(directions);
  const Dual<N> others =
      product_of_others<N>({lifted<N>(lists), direction}, n, {lifted<N>(first), lifted<N>(first - 1)});
  return {rows.back(narrowed(upstream * others.tangent)),
          reshape(sum(narrowed(direction * others.value), 1), grad.shape())};
}

}  // namespace

Tensor recorded_prod_gradient(const Tensor& x, const Tensor& grad, std::int64_t n, const Tensor& value) {
  return record(
      "prod_gradient", {x, grad}, value, saving(x, grad), [n](const Tensor& c, const Tensor& x, const Tensor& grad) {
        const DType dtype = x.dtype(), wide = dtype == float64 ? float64 : float32;
        const Rows rows(x.shape(), grad.shape(), n);
        const auto found =
            (grad_enabled() ? backward<Tensor> : backward<WideTensor>)(c.to(wide), x.to(wide), grad.to(wide), rows, n);
        return std::vector{found[0].to(dtype), found[1].to(dtype)};
      });
}

}  // namespace tally
