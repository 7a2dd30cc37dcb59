#include <tally/ops/row_backend.h>

namespace tally {
namespace {

// Where `shape` splits into rows and what is in one: after its last dim that is kept and has a size.
int split(const Shape& shape, const Shape& kept_shape) {
  int d = shape.size();
  while (d > 0 && (kept_shape[d - 1] != shape[d - 1] || shape[d - 1] == 1)) --d;
  return d;
}

bool lies_in_rows(const Tensor& x, int split) {
  Shape sizes[2], strides[2];
  for (int d = 0; d < x.dim(); ++d) {
    sizes[d >= split].push_back(x.shape()[d]);
    strides[d >= split].push_back(x.strides()[d]);
  }
  const Strided<1> rows(sizes[0], {&strides[0]}), row(sizes[1], {&strides[1]});
  return rows.rank <= 1 && (row.rank == 0 || row.is_dense());
}

}  // namespace

std::optional<RowShape> rows_of(const std::vector<Tensor>& inputs, const Shape& kept_shape) {
  const Shape& shape = inputs[0].shape();
  const int at = split(shape, kept_shape);
  RowShape rows{1, 1};
  for (int d = 0; d < shape.size(); ++d) {
    if (d < at && kept_shape[d] != shape[d]) return std::nullopt;
    (d < at ? rows.rows : rows.n) *= shape[d];
  }
  for (const Tensor& x : inputs)
    if (!lies_in_rows(x, at)) return std::nullopt;
  return rows;
}

std::int64_t row_step(const Tensor& x, const RowShape& rows) {
  // The innermost dim of the rows that has a size.
  std::int64_t inside = 1;
  for (int d = x.dim() - 1; d >= 0; --d) {
    if (inside == rows.n && x.shape()[d] != 1) return x.strides()[d];
    inside *= x.shape()[d];
  }
  return rows.n;
}

}  // namespace tally
