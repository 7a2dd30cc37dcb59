#include <tally/ops/join.h>

#include <tally/autograd/record.h>
#include <tally/core/dims.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>
#include <tally/core/require.h>
#include <tally/ops/view.h>

namespace tally {
namespace {

// The tensors with one dtype, on one device.
std::vector<Tensor> alike(const char* op, const std::vector<Tensor>& tensors, Where where) {
  if (tensors.empty()) throw ShapeError(op, "the list of tensors is empty", where);
  for (const Tensor& x : tensors) detail::require_defined(op, x, where);
  DType dtype = tensors[0].dtype();
  for (const Tensor& x : tensors) {
    if (x.device() != tensors[0].device())
      throw DeviceError(op, describe(tensors[0]) + " and " + describe(x) + " are on different devices", where);
    dtype = promote(dtype, x.dtype());
  }
  std::vector<Tensor> result;
  for (const Tensor& x : tensors) result.push_back(x.to(dtype, where));
  return result;
}

[[noreturn]] void throw_misfit(const char* op, const Tensor& a, const Tensor& b, std::size_t position, Where where) {
  throw ShapeError(op, describe(b) + " at position " + std::to_string(position) + " does not fit " + describe(a),
                   where);
}

// `parts` fit together along `dim`.
Tensor joined(const char* op, const std::vector<Tensor>& parts, int dim, Where where) {
  Shape shape = parts[0].shape();
  shape[dim] = 0;
  std::vector<std::int64_t> sizes;
  for (const Tensor& part : parts) {
    sizes.push_back(part.shape()[dim]);
    if (__builtin_add_overflow(shape[dim], part.shape()[dim], &shape[dim]))
      throw ShapeError(op, "the parts have more elements than 63 bits count", where);
  }
  const Tensor y = empty(shape, {.dtype = parts[0].dtype(), .device = parts[0].device()}, where);
  const std::vector<Tensor> places = split(y, sizes, dim, where);
  for (std::size_t i = 0; i < parts.size(); ++i) raw::copy(places[i], parts[i]);
  return record(
      op, parts, y, [=](const Tensor& grad) { return split(grad, sizes, dim, where); }, where);
}

bool adds_nothing(const Tensor& x) { return x.dim() == 1 && x.numel() == 0; }

}  // namespace

Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim, Where where) {
  std::vector<Tensor> parts;
  const std::vector<Tensor> all = alike("cat", tensors, where);
  for (const Tensor& x : all)
    if (!adds_nothing(x)) parts.push_back(x);
  if (parts.empty()) parts = all;
  const Tensor& first = parts[0];
  if (first.dim() == 0) throw ShapeError("cat", describe(first) + " has no dim to join along; use stack", where);
  const int d = normalize_dim("cat", dim, first.dim(), where);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Shape shape = all[i].shape();
    if (shape.size() == first.dim()) shape[d] = first.shape()[d];
    if (shape != first.shape() && !adds_nothing(all[i])) throw_misfit("cat", first, all[i], i, where);
  }
  return joined("cat", parts, d, where);
}

Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim, Where where) {
  std::vector<Tensor> parts = alike("stack", tensors, where);
  const int d = normalize_dim("stack", dim, parts[0].dim() + 1, where);
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].shape() != parts[0].shape()) throw_misfit("stack", parts[0], parts[i], i, where);
  for (Tensor& part : parts) part = unsqueeze(part, d, where);
  return joined("stack", parts, d, where);
}

}  // namespace tally
