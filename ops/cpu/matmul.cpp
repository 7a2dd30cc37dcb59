#include <tally/ops/cpu/matmul.h>

#include <algorithm>

#include <tally/core/parallel.h>
#include <tally/core/raw.h>
#include <tally/ops/cpu/isa.h>
#include <tally/ops/cpu/matmul_panel.h>

namespace tally::detail {
namespace {

// Of `outer` runs of `inner` elements: whether each run is dense and no two overlap.
bool dense_runs(std::int64_t outer, std::int64_t inner, std::int64_t outer_stride, std::int64_t inner_stride) {
  return (inner <= 1 || inner_stride == 1) && (outer <= 1 || outer_stride >= inner);
}

struct Sides {
  explicit Sides(const Tensor& x)
      : rows(x.size(-2)),
        columns(x.size(-1)),
        row_stride(x.strides()[x.dim() - 2]),
        column_stride(x.strides()[x.dim() - 1]) {}
  bool row_major() const { return dense_runs(rows, columns, row_stride, column_stride); }
  bool column_major() const { return dense_runs(columns, rows, column_stride, row_stride); }
  std::int64_t rows, columns, row_stride, column_stride;
};

MatrixLayout layout_of(const Tensor& x) {
  const Sides s(x);
  if (s.row_major()) return {false, std::max<std::int64_t>(s.rows > 1 ? s.row_stride : s.columns, 1)};
  return {true, std::max<std::int64_t>(s.columns > 1 ? s.column_stride : s.rows, 1)};
}

Shape without_matrix(Shape shape) {
  shape.erase(shape.size() - 1);
  shape.erase(shape.size() - 1);
  return shape;
}

Strided<3> stack_of(const Tensor& out, const Tensor& a, const Tensor& b) {
  const Shape c_strides = without_matrix(out.strides()), a_strides = without_matrix(a.strides()),
              b_strides = without_matrix(b.strides());
  return {without_matrix(out.shape()), {&c_strides, &a_strides, &b_strides}};
}

using Multiply = void (*)(const Panel&);

Multiply fastest() {
  switch (isa()) {
#if defined(__x86_64__)
    case Isa::avx512:
      return multiply_avx512;
    case Isa::avx2:
      return multiply_avx2;
#endif
    default:
      return multiply_baseline;
  }
}

template <class T> T* shifted(T* data, std::int64_t elements, std::int64_t size) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return static_cast<Byte*>(data) + elements * size;
}

}  // namespace

Tensor as_matrices(const Tensor& x) {
  const Sides s(x);
  if (s.row_major() || s.column_major()) return x;
  Tensor dense = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  raw::copy(dense, x);
  return dense;
}

Product::Product(const Tensor& out, const Tensor& left, const Tensor& right)
    : m(out.size(-2)),
      n(out.size(-1)),
      k(left.size(-1)),
      a(left.raw()),
      b(right.raw()),
      c(out.raw()),
      a_layout(layout_of(left)),
      b_layout(layout_of(right)),
      dtype(out.dtype()),
      stack(stack_of(out, left, right)) {}

void multiply(const Product& p) {
  const Multiply multiply_panel = fastest();
  // Panels along the longer side of C, at places that only the shape decides: so do the bits. Each panel packs the
  // other operand again, which costs 8 % at 64 rows and 3 % at 128.
  const bool by_rows = p.m >= p.n;
  const std::int64_t side = by_rows ? p.m : p.n, height = side < 512 ? 64 : 128;
  const std::int64_t panels = (side + height - 1) / height, size = static_cast<std::int64_t>(size_of(p.dtype));
  // Multiplications that are worth waking a thread for: some 9 us with AVX-512.
  constexpr std::int64_t kGrain = 1 << 20;
  const std::int64_t work = std::max<std::int64_t>(std::min(height, side) * (by_rows ? p.n : p.m) * p.k, 1);
  parallel_for(p.stack.count * panels, (kGrain + work - 1) / work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t at[3];
      p.stack.offsets(i / panels, at);
      const std::int64_t first = i % panels * height, length = std::min(height, side - first);
      const std::int64_t row = by_rows ? first : 0, column = by_rows ? 0 : first;
      Panel panel{by_rows ? length : p.m,
                  by_rows ? p.n : length,
                  p.k,
                  p.a,
                  p.b,
                  p.c,
                  p.a_layout.row,
                  p.b_layout.row,
                  p.n,
                  p.a_layout.transposed,
                  p.b_layout.transposed,
                  p.dtype == float64};
      panel.c = shifted(p.c, at[0] + row * p.n + column, size);
      panel.a = shifted(p.a, at[1] + row * (p.a_layout.transposed ? 1 : p.a_layout.row), size);
      panel.b = shifted(p.b, at[2] + column * (p.b_layout.transposed ? p.b_layout.row : 1), size);
      multiply_panel(panel);
    }
  });
}

void matmul_by(void (*run)(const Product&), const Tensor& out, const Tensor& a, const Tensor& b) {
  if (size_of(out.dtype()) > 2) return run(Product(out, as_matrices(a), as_matrices(b)));
  const auto wide = [](const Tensor& x) { return empty(x.shape(), {.dtype = float32, .device = x.device()}); };
  const Tensor y = wide(out), left = wide(a), right = wide(b);
  raw::copy(left, a);
  raw::copy(right, b);
  matmul_by(run, y, left, right);
  raw::copy(out, y);
}

void matmul(Cpu, const Tensor& out, const Tensor& a, const Tensor& b) { matmul_by(multiply, out, a, b); }

}  // namespace tally::detail
