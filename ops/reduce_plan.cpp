#include <tally/ops/reduce_plan.h>

namespace tally {

ReducePlan plan_reduction(const char* op, const Tensor& x, const Dims& dims, KeepDim keep, Where where) {
  const int rank = x.dim();
  const DimSet reduced(op, dims, rank, where);
  ReducePlan plan;
  Shape kept_sizes, kept_strides, reduced_sizes, reduced_strides;
  for (int d = 0; d < rank; ++d) {
    const bool goes = reduced.contains(d);
    (goes ? reduced_sizes : kept_sizes).push_back(x.shape()[d]);
    (goes ? reduced_strides : kept_strides).push_back(x.strides()[d]);
    plan.kept_shape.push_back(goes ? 1 : x.shape()[d]);
  }
  plan.lists.kept = Strided<1>(kept_sizes, {&kept_strides});
  plan.lists.reduced = Strided<1>(reduced_sizes, {&reduced_strides});
  plan.shape = keep.value ? plan.kept_shape : kept_sizes;
  return plan;
}

Strided<5> plan_backward(const Tensor& x, const Shape& kept_shape) {
  const int rank = x.dim();
  Shape list = x.shape(), element = x.shape(), first = x.shape();
  std::int64_t lists = 1, elements = 1;
  for (int d = rank - 1; d >= 0; --d) {
    const bool kept = kept_shape[d] == x.shape()[d] && x.shape()[d] != 1;
    list[d] = kept ? lists : 0;
    first[d] = kept ? x.strides()[d] : 0;
    element[d] = kept ? 0 : elements;
    (kept ? lists : elements) *= x.shape()[d];
  }
  const Shape dense = contiguous_strides(x.shape());
  return Strided<5>(x.shape(), {&x.strides(), &dense, &list, &element, &first});
}

}  // namespace tally
