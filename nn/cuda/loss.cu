// cross_entropy on CUDA: a thread a row forward, a thread an element backward.
#include <tally/core/cuda/kernel.h>
#include <tally/core/cuda/status.h>
#include <tally/nn/loss_backend.h>
#include <tally/nn/visit_float.h>

namespace tally::detail {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t blocks_for(std::int64_t count) { return (count + kThreads - 1) / kThreads; }

template <class C> struct Rows {
  explicit Rows(const CrossEntropyRows& call)
      : logits(call.logits.data<C>()),
        max(call.max.data<C>()),
        sum(call.sum.data<C>()),
        weight(call.weight.defined() ? call.weight.data<C>() : nullptr),
        target(call.target.data<std::int64_t>()),
        count(call.logits.shape()[0]),
        classes(call.logits.shape()[1]),
        ignore_index(call.ignore_index) {}

  /// The row costs nothing: ignored, or reported as out of range.
  __device__ bool is_out(std::int64_t y) const { return y == ignore_index || y < 0 || y >= classes; }

  const C *logits, *max, *sum, *weight;
  const std::int64_t* target;
  std::int64_t count, classes, ignore_index;
};

template <class C> __global__ void forward_kernel(Rows<C> rows, C* loss, C* row_weight, gpu::Status status) {
  gpu::begin_early();
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= rows.count) return;
  const std::int64_t y = rows.target[r];
  const bool out = rows.is_out(y);
  if (out && y != rows.ignore_index) gpu::report(status, y, rows.classes, r);
  const C weight = out ? C(0) : rows.weight ? rows.weight[y] : C(1);
  row_weight[r] = weight;
  loss[r] =
      out ? C(0) : negative_log_likelihood(rows.logits[r * rows.classes + y], rows.max[2 * r], rows.sum[2 * r], weight);
}

template <class C> __global__ void backward_kernel(Rows<C> rows, const C* grad, std::int64_t step, C* gx) {
  gpu::begin_early();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows.count * rows.classes) return;
  const std::int64_t r = i / rows.classes, c = i % rows.classes, y = rows.target[r];
  if (rows.is_out(y)) {
    gx[i] = C(0);
    return;
  }
  const C upstream = rows.weight ? rows.weight[y] * grad[r * step] : grad[r * step];
  const C softmax = math::exp(rows.logits[i] - rows.max[2 * r]) / rows.sum[2 * r];
  gx[i] = cross_entropy_pull(softmax, c == y, upstream);
}

void raise_bad_target(const char* op, Where where, const gpu::Report& report) {
  throw_bad_target(op, report.value, report.limit, report.index, where);
}

}  // namespace

void cross_entropy(Cuda, const CrossEntropyForward& call) {
  const gpu::Status status = gpu::watch("cross_entropy", call.where, raise_bad_target);
  visit_real(call.logits.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const Rows<C> rows(call);
    gpu::launch(forward_kernel<C>, {blocks_for(rows.count), kThreads, 0, "cross_entropy", true}, rows,
                call.loss.data<C>(), call.row_weight.data<C>(), status);
  });
}

void cross_entropy_backward(Cuda, const CrossEntropyBackward& call) {
  visit_real(call.logits.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const Rows<C> rows(call);
    gpu::launch(backward_kernel<C>,
                {blocks_for(rows.count * rows.classes), kThreads, 0, "cross_entropy_backward", true}, rows,
                call.grad.data<C>(), call.grad.strides()[0], call.gx.data<C>());
  });
}

}  // namespace tally::detail
