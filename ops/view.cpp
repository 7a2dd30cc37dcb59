#include <tally/ops/view.h>

#include <algorithm>
#include <optional>

#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/core/require.h>
#include <tally/core/strided.h>
#include <tally/ops/reduce.h>

namespace tally {
namespace {

Tensor view(const Tensor& x, const Shape& shape, const Shape& strides) {
  return Tensor(x.storage(), x.offset(), shape, strides, x.dtype());
}

// The sizes with -1 filled in; their product is x's.
Shape infer(const Tensor& x, const Shape& wanted, Where where) {
  const auto refuse = [&](const char* why) {
    throw ShapeError("reshape", describe(x) + " does not take the shape " + to_string(wanted) + why, where);
  };
  Shape shape = wanted;
  int unknown = -1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) continue;
    if (shape[i] != -1) refuse(": a size is negative");
    if (unknown >= 0) refuse(": only one size can be inferred");
    shape[unknown = i] = 1;
  }
  const std::int64_t known = shape.numel(), count = x.numel();
  if (unknown >= 0) {
    if (known == 0) refuse(": -1 could be any size there");
    shape[unknown] = count / known;
  }
  if (shape.numel() != count) refuse("");
  return shape;
}

// Strides under which x's memory reads as `shape`, if there are any: each evenly strided run of x must be a product of
// new sizes.
std::optional<Shape> strides_for(const Tensor& x, const Shape& shape) {
  Shape strides = contiguous_strides(shape);
  if (x.numel() == 0) return strides;
  const Strided<1> runs(x.shape(), {&x.strides()});
  int next = shape.size();
  for (int run = runs.rank - 1; run >= 0; --run) {
    std::int64_t stride = runs.strides[0][run];
    for (std::int64_t left = runs.sizes[run]; left > 1; left /= shape[next]) {
      --next;
      if (left % shape[next] != 0) return std::nullopt;
      strides[next] = stride;
      stride *= shape[next];
    }
  }
  return strides;
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& wanted, Where where) {
  detail::require_defined("reshape", x, where);
  const Shape shape = infer(x, wanted, where);
  if (shape == x.shape()) return x;
  const std::optional<Shape> strides = strides_for(x, shape);
  if (!strides) return reshape(x.clone(where), shape, where);
  return record(
      "reshape", {x}, view(x, shape, *strides),
      [=, before = x.shape()](const Tensor& grad) { return std::vector{reshape(grad, before, where)}; }, where);
}

Tensor flatten(const Tensor& x, std::int64_t start, std::int64_t end, Where where) {
  detail::require_defined("flatten", x, where);
  if (x.dim() == 0) return reshape(x, {1}, where);
  const int first = normalize_dim("flatten", start, x.dim(), where);
  const int last = normalize_dim("flatten", end, x.dim(), where);
  if (first > last)
    throw ShapeError("flatten",
                     "dim " + std::to_string(start) + " comes after dim " + std::to_string(end) + " of " + describe(x),
                     where);
  Shape shape;
  for (int i = 0; i < x.dim(); ++i) {
    if (i > first && i <= last)
      shape[first] *= x.shape()[i];
    else
      shape.push_back(x.shape()[i]);
  }
  return reshape(x, shape, where);
}

Tensor permute(const Tensor& x, const Dims& dims, Where where) {
  detail::require_defined("permute", x, where);
  if (dims.size() != x.dim())
    throw ShapeError("permute", std::to_string(dims.size()) + " dims listed for " + describe(x), where);
  DimSet("permute", dims, x.dim(), where);  // refuses repetitions
  Shape shape = x.shape(), strides = x.strides();
  std::vector<std::int64_t> inverse(static_cast<std::size_t>(x.dim()));
  for (int i = 0; i < x.dim(); ++i) {
    const int from = normalize_dim("permute", dims[i], x.dim(), where);
    shape[i] = x.shape()[from];
    strides[i] = x.strides()[from];
    inverse[static_cast<std::size_t>(from)] = i;
  }
  return record(
      "permute", {x}, view(x, shape, strides),
      [=](const Tensor& grad) { return std::vector{permute(grad, inverse, where)}; }, where);
}

Tensor transpose(const Tensor& x, std::int64_t a, std::int64_t b, Where where) {
  detail::require_defined("transpose", x, where);
  const int i = normalize_dim("transpose", a, x.dim(), where), j = normalize_dim("transpose", b, x.dim(), where);
  Shape shape = x.shape(), strides = x.strides();
  if (i == j) return x;
  std::swap(shape[i], shape[j]);
  std::swap(strides[i], strides[j]);
  return record(
      "transpose", {x}, view(x, shape, strides),
      [=](const Tensor& grad) { return std::vector{transpose(grad, i, j, where)}; }, where);
}

Tensor t(const Tensor& x, Where where) {
  detail::require_defined("t", x, where);
  if (x.dim() > 2) throw ShapeError("t", describe(x) + " is no matrix; name the dims: transpose(x, a, b)", where);
  return x.dim() < 2 ? x : transpose(x, 0, 1, where);
}

Tensor unsqueeze(const Tensor& x, std::int64_t dim, Where where) {
  detail::require_defined("unsqueeze", x, where);
  Shape shape = x.shape();
  shape.insert(normalize_dim("unsqueeze", dim, x.dim() + 1, where), 1);
  return reshape(x, shape, where);
}

Tensor squeeze(const Tensor& x, const Dims& dims, Where where) {
  detail::require_defined("squeeze", x, where);
  const DimSet chosen("squeeze", dims, x.dim(), where);
  Shape shape;
  for (int i = 0; i < x.dim(); ++i)
    if (x.shape()[i] != 1 || !chosen.contains(i)) shape.push_back(x.shape()[i]);
  return reshape(x, shape, where);
}

namespace {

Tensor repeat(const char* op, const Tensor& x, const Shape& shape, Where where) {
  detail::require_defined(op, x, where);
  const int lead = shape.size() - x.dim();
  bool fits = lead >= 0;
  for (int i = 0; fits && i < shape.size(); ++i)
    fits = shape[i] >= 0 && (i < lead || x.shape()[i - lead] == shape[i] || x.shape()[i - lead] == 1);
  if (!fits) throw ShapeError(op, describe(x) + " does not expand to " + to_string(shape), where);
  if (shape == x.shape()) return x;
  Shape strides = shape;
  for (int i = 0; i < shape.size(); ++i)
    strides[i] = i < lead || x.shape()[i - lead] != shape[i] ? 0 : x.strides()[i - lead];
  return record(
      op, {x}, view(x, shape, strides),
      [=, before = x.shape()](const Tensor& grad) { return std::vector{sum_to(grad, before, where)}; }, where);
}

}  // namespace

Tensor expand(const Tensor& x, const Shape& wanted, Where where) {
  detail::require_defined("expand", x, where);
  Shape shape = wanted;
  const int lead = shape.size() - x.dim();
  for (int i = std::max(lead, 0); i < shape.size(); ++i)
    if (shape[i] == -1) shape[i] = x.shape()[i - lead];
  return repeat("expand", x, shape, where);
}

Tensor expand_as(const Tensor& x, const Tensor& other, Where where) {
  detail::require_defined("expand_as", other, where);
  return repeat("expand_as", x, other.shape(), where);
}

Tensor broadcast_to(const Tensor& x, const Shape& shape, Where where) {
  return repeat("broadcast_to", x, shape, where);
}

}  // namespace tally
