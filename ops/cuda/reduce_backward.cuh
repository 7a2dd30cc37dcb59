// The gradient of a reduction: one pass over its input.
#pragma once

#include <tally/core/convert.h>
#include <tally/ops/cuda/reduce_plan.h>
#include <tally/ops/cuda/reduce_walk.h>
#include <tally/ops/cuda/reduce_fold.cuh>

namespace tally::cuda_loops {

template <class Op, class T> struct BackwardTask {
  using Acc = typename Op::template Acc<Compute<T>>;
  Op op;
  Walk<5> walk;  // x, gx, the list an element is in, its index there, that list's first element in x
  std::int64_t count, n;
  const T *x, *grad;
  const Acc* accumulators;
  T* gx;
};

/// A thread takes kWidth neighbours of the dense gx, which are neighbours in x too.
template <class Op, class T, int kWidth>
__global__ void __launch_bounds__(256) reduce_backward_kernel(const TALLY_GRID_CONSTANT BackwardTask<Op, T> task) {
  gpu::begin_early();
  using C = Compute<T>;
  using Load = gpu::Vector<T, kWidth>;
  using Acc = typename BackwardTask<Op, T>::Acc;
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kWidth;
  if (i >= task.count) return;
  std::int64_t at[5];
  task.walk.offsets(i, at);
  Load x = {}, gx;
  if (task.x) x = gpu::load_streaming(reinterpret_cast<const Load*>(task.x + at[0]));
  const std::int64_t next_list = task.walk.strides[2][0], next_index = task.walk.strides[3][0],
                     next_first = task.walk.strides[4][0];
  Acc acc = task.accumulators[at[2]];
  C grad = convert<C>(task.grad[at[2]]), pivot = task.x ? convert<C>(task.x[at[4]]) : C(0);
  TALLY_UNROLL
  for (int k = 0; k < kWidth; ++k) {
    if (k > 0 && next_list != 0) {
      acc = task.accumulators[at[2] + k * next_list];
      grad = convert<C>(task.grad[at[2] + k * next_list]);
      if (task.x) pivot = convert<C>(task.x[at[4] + k * next_first]);
    }
    gx[k] = convert<T>(grad * Slope<Op, C>::at(task.op, convert<C>(x[k]), at[3] + k * next_index, acc, task.n, pivot));
  }
  gpu::store_streaming(reinterpret_cast<Load*>(task.gx + i), gx);
}

template <class Op, class T>
void reduce_backward(const Op& op, const Strided<5>& walk, std::int64_t n, const T* x, const T* grad,
                     const typename Op::template Acc<Compute<T>>* accumulators, T* gx) {
  if constexpr (is_float_type<T> && Slope<Op, Compute<T>>::exists) {
    constexpr int kWidth = sizeof(T) < 8 ? kVector : 2;
    constexpr std::uintptr_t kAlignment = sizeof(T) * kWidth;
    bool wide =
        limits().vectors && walk.inner() % kWidth == 0 && reinterpret_cast<std::uintptr_t>(gx) % kAlignment == 0;
    if (x) wide &= walk.inner_stride(0) == 1 && reinterpret_cast<std::uintptr_t>(x) % kAlignment == 0;
    if (x)
      for (int d = 0; d + 1 < walk.rank; ++d) wide &= walk.strides[0][d] % kWidth == 0;
    const BackwardTask<Op, T> task{op, Walk<5>(walk), walk.count, n, x, grad, accumulators, gx};
    const auto blocks = [&](int width) { return (walk.count + 256 * width - 1) / (256 * width); };
    if (wide)
      gpu::launch(reduce_backward_kernel<Op, T, kWidth>, {blocks(kWidth), 256, 0, Op::name, true}, task);
    else
      gpu::launch(reduce_backward_kernel<Op, T, 1>, {blocks(1), 256, 0, Op::name, true}, task);
  }
}

}  // namespace tally::cuda_loops
