#include <tally/ops/sort.h>

#include <tally/autograd/no_grad.h>
#include <tally/core/dims.h>
#include <tally/ops/index.h>
#include <tally/ops/sort_key.h>
#include <tally/ops/view.h>

namespace tally {

Tensor argsort(const Tensor& x, std::int64_t dim, Order order, Where where) {
  const int d = normalize_dim("argsort", dim, x.dim(), where);
  if (x.dim() == 0 || x.numel() == 0) return zeros(x.shape(), {.dtype = int64, .device = x.device()}, where);
  return no_grad([&] {
    // As rows: one list after another.
    const Tensor rows = transpose(x, d, -1, where).contiguous(where);
    const Tensor positions = empty(rows.shape(), {.dtype = int64, .device = x.device()}, where);
    const Shape matrix{rows.numel() / x.shape()[d], x.shape()[d]};
    on(x.device(), [&](auto backend) {
      detail::argsort(backend, reshape(positions, matrix, where), reshape(rows, matrix, where), order);
    });
    return transpose(positions, d, -1, where);
  });
}

ValuesAndIndices sort(const Tensor& x, std::int64_t dim, Order order, Where where) {
  const Tensor positions = argsort(x, dim, order, where);
  return {x.dim() == 0 ? x.clone(where) : gather(x, dim, positions, where), positions};
}

}  // namespace tally
