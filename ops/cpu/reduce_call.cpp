#include <tally/ops/cpu/reduce_call.h>

#include <algorithm>
#include <vector>

#include <tally/core/parallel.h>
#include <tally/core/raw.h>

namespace tally::cpu_loops {
namespace {

// A result is written as the loops compute it and rounded once on its way to the caller's tensor.
class Landing {
 public:
  Landing(const Tensor& target, DType dtype)
      : target_(target),
        temporary_(target.defined() && target.dtype() != dtype ? empty(target.shape(), {.dtype = dtype}) : target) {}
  void* raw() const { return temporary_.defined() ? temporary_.raw() : nullptr; }
  void finish() const {
    if (target_.defined() && !temporary_.is_same(target_)) raw::copy(target_, temporary_);
  }

 private:
  Tensor target_, temporary_;
};

// Whether no two elements of these strides, none of them 0, have the same place; false if that is not plain.
bool apart(const Shape& shape, const Shape& strides) {
  std::vector<int> dims;
  for (int d = 0; d < shape.size(); ++d)
    if (shape[d] > 1) dims.push_back(d);
  std::sort(dims.begin(), dims.end(), [&](int a, int b) { return strides[a] < strides[b]; });
  std::int64_t reach = 0;
  for (const int d : dims) {
    if (strides[d] <= reach) return false;
    reach += (shape[d] - 1) * strides[d];
  }
  return true;
}

Tensor in(DType dtype, const Tensor& x) {
  if (!x.defined() || x.dtype() == dtype) return x;
  // Strides stay as they are: the walk was planned for them. Only memory that the view spans is converted, and where
  // little of that is the view's own, as of a few columns, just its elements.
  std::int64_t span = 1;
  Shape once = x.shape();  // an element that is there many times, of stride 0
  for (int d = 0; d < x.dim(); ++d) {
    span += (x.shape()[d] - 1) * x.strides()[d];
    if (x.strides()[d] == 0) once[d] = 1;
  }
  const Tensor converted = empty({span}, {.dtype = dtype});
  if (once.numel() <= span / 8 && apart(once, x.strides()))
    raw::copy(Tensor(converted.storage(), 0, once, x.strides(), dtype),
              Tensor(x.storage(), x.offset(), once, x.strides(), x.dtype()));
  else
    raw::copy(converted, Tensor(x.storage(), x.offset(), {span}, {1}, x.dtype()));
  return Tensor(converted.storage(), 0, x.shape(), x.strides(), dtype);
}

}  // namespace

template <class C> void run(const OpLoops<C>& loops, const ReduceCall& call, DType first_dtype, DType second_dtype) {
  const Landing first(call.first, first_dtype), second(call.second, second_dtype);
  reduce_lists(loops, call.lists, Source<C>(call.x),
               {first.raw(), second.raw(), call.accumulators.defined() ? call.accumulators.raw() : nullptr});
  first.finish();
  second.finish();
}

template <class C> void run_backward(const void* op, SlopeLoop<C> loop, const ReduceBackwardCall& call) {
  const Tensor in_x = in(dtype_of<C>(), call.x), in_grad = in(dtype_of<C>(), call.grad);
  const Landing landing(call.gx, dtype_of<C>());
  const C* const x = in_x.defined() ? in_x.data<C>() : nullptr;
  const C* const grad = in_grad.data<C>();
  C* const gx = static_cast<C*>(landing.raw());
  const auto& walk = call.walk;
  parallel_for(walk.count, 1 << 13, [&](std::int64_t begin, std::int64_t end) {
    for_each_run(walk, begin, end, [&](const std::int64_t(&at)[5], std::int64_t length) {
      loop(op, {.x = x ? x + at[0] : nullptr,
                .pivot = x ? x + at[4] : nullptr,
                .grad = grad,
                .gx = gx + at[1],
                .accumulators = call.accumulators.raw(),
                .list = at[2],
                .index = at[3],
                .length = call.length,
                .count = length,
                .x_step = walk.inner_stride(0),
                .pivot_step = walk.inner_stride(4),
                .gx_step = walk.inner_stride(1),
                .list_step = walk.inner_stride(2),
                .index_step = walk.inner_stride(3)});
    });
  });
  landing.finish();
}

#define TALLY_REDUCE_CALL(C) template void run(const OpLoops<C>&, const ReduceCall&, DType, DType);
TALLY_REDUCE_CALL(float)
TALLY_REDUCE_CALL(double)
TALLY_REDUCE_CALL(std::int64_t)
template void run_backward(const void*, SlopeLoop<float>, const ReduceBackwardCall&);
template void run_backward(const void*, SlopeLoop<double>, const ReduceBackwardCall&);

}  // namespace tally::cpu_loops
