#include <tally/core/error.h>
#include <tally/ops/index.h>
#include <tally/ops/join.h>
#include <tally/ops/matmul.h>
#include <tally/ops/operators.h>
#include <tally/ops/view.h>

#include "helpers.h"

namespace tally::conformance {
namespace {

Shape sizes(Arguments& a, const char* name) { return a.integers(1, name); }

Tensors parts(Arguments& a) {
  const char* name = a.has(1, "split_size") ? "split_size" : "split_size_or_sections";
  const std::int64_t dim = a.integer(2, "dim", 0);
  return a.is_list(1, name) ? split(a.self(), a.integers(1, name), dim) : split(a.self(), a.integer(1, name), dim);
}

/// No dims at all are all dims in Tally, none in PyTorch.
Tensors squeezed(Arguments& a) {
  if (a.is_list(1, "dim") && a.integers(1, "dim").empty()) throw Skip("{} stands for all dims");
  return {squeeze(a.self(), a.dims(1, "dim"))};
}

Tensors narrowed(Arguments& a) {
  if (a.is_tensor(2, "start"))
    if (const Tensor start = a.tensor(2, "start");
        start.dim() > 0 || (start.dtype() != int64 && start.dtype() != int32))
      throw Skip("the start is an integer");
  return {narrow(a.self(), a.integer(1, "dim"), a.integer(2, "start"), a.integer(3, "length"))};
}

Tensors sliced(Arguments& a) {
  return {slice(a.self(), a.integer(1, "dim", 0), a.integer(2, "start", 0), a.integer(3, "end", to_end),
                a.integer(4, "step", 1))};
}

/// Positions are int64; PyTorch also takes int32, and any type where there is none.
Tensor positions(Arguments& a) {
  const Tensor index = a.tensor(2, "index");
  return index.dtype() == int32 || index.numel() == 0 ? index.to(int64) : index;
}

Tensors gathered(Arguments& a) {
  const Tensor x = a.self(), index = positions(a);
  a.flag(3, "sparse_grad");  // how PyTorch stores the gradient
  if (index.numel() == 0 && index.dim() != x.dim())
    throw Skip("positions have the dims of the tensor, also where there are none");
  return {gather(x, a.integer(1, "dim"), index)};
}

/// A 0-d tensor is a vector of one, and the result 0-d again.
Tensors selected(Arguments& a) {
  const Tensor x = a.self();
  if (x.dim() > 0) return {index_select(x, a.integer(1, "dim"), positions(a))};
  return {reshape(index_select(reshape(x, {1}), a.integer(1, "dim"), positions(a)), {})};
}

void require_floats(const Tensor& x) {
  if (!is_floating(x.dtype())) throw Skip("products are of floats");
}

/// A vector as the weight: one output, without its dim.
Tensors affine(Arguments& a) {
  const Tensor x = a.self(), weight = a.tensor(1, "weight"), bias = a.optional_tensor(2, "bias");
  require_floats(x);
  if (weight.dim() != 1) return {linear(x, weight, bias)};
  const Tensor y = matmul(x, weight);
  return {bias.defined() ? y + bias : y};
}

/// PyTorch's products of fixed dims are matmul here.
template <int Left, int Right> Tensors product(Arguments& a) {
  const Tensor x = a.self(), y = a.tensor(1, Right == 1 ? "vec" : "mat2");
  require_floats(x);
  if (x.dim() != Left || y.dim() != Right) throw Skip("matmul also takes other dims");
  return {matmul(x, y)};
}

}  // namespace

Table view_ops() {
  return {
      {"reshape", [](Arguments& a) { return Tensors{reshape(a.self(), sizes(a, "shape"))}; }},
      {"view", [](Arguments& a) { return Tensors{reshape(a.self(), sizes(a, "size"))}; }},
      {"flatten",
       [](Arguments& a) {
         return Tensors{flatten(a.self(), a.integer(1, "start_dim", 0), a.integer(2, "end_dim", -1))};
       }},
      {"permute",
       [](Arguments& a) {
         const std::vector<std::int64_t> order = a.integers(1, "dims");
         return Tensors{permute(a.self(), order)};
       }},
      {"transpose",
       [](Arguments& a) { return Tensors{transpose(a.self(), a.integer(1, "dim0"), a.integer(2, "dim1"))}; }},
      {"t", one_sided<t>},
      {"unsqueeze", [](Arguments& a) { return Tensors{unsqueeze(a.self(), a.integer(1, "dim"))}; }},
      {"squeeze", squeezed},
      {"squeeze_multiple", squeezed},
      {"expand", [](Arguments& a) { return Tensors{expand(a.self(), sizes(a, "size"))}; }},
      {"expand_as", [](Arguments& a) { return Tensors{expand_as(a.self(), a.tensor(1, "other"))}; }},
      {"broadcast_to", [](Arguments& a) { return Tensors{broadcast_to(a.self(), sizes(a, "size"))}; }},
      {"narrow", narrowed},
      {"slice", sliced},
      {"select", [](Arguments& a) { return Tensors{select(a.self(), a.integer(1, "dim"), a.integer(2, "index"))}; }},
      {"diagonal",
       [](Arguments& a) {
         return Tensors{
             diagonal(a.self(), a.integer(1, "offset", 0), a.integer(2, "dim1", 0), a.integer(3, "dim2", 1))};
       }},
      {"split", parts},
      {"chunk", [](Arguments& a) { return chunk(a.self(), a.integer(1, "chunks"), a.integer(2, "dim", 0)); }},
      {"cat", [](Arguments& a) { return Tensors{cat(a.tensors(0, "tensors"), a.integer(1, "dim", 0))}; }},
      {"stack", [](Arguments& a) { return Tensors{stack(a.tensors(0, "tensors"), a.integer(1, "dim", 0))}; }},
      {"gather", gathered},
      {"index_select", selected},
      {"matmul",
       [](Arguments& a) {
         require_floats(a.self());
         return Tensors{matmul(a.self(), a.tensor(1, "other"))};
       }},
      {"mm", product<2, 2>},
      {"mv", product<2, 1>},
      {"bmm", product<3, 3>},
      {"linear", affine},
  };
}

}  // namespace tally::conformance
