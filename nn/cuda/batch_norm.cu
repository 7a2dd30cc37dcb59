// batch_norm on CUDA. What runs over all elements is the elementwise kernel, with the channels' values broadcast.
#include <tally/core/cuda/status.h>
#include <tally/nn/batch_norm_backend.h>
#include <tally/nn/visit_float.h>
#include <tally/core/cuda/elementwise.cuh>

#include <array>

namespace tally::detail {
namespace {

/// Reads as [outer, channels, inner]: x and its like as they are, a channel's value everywhere in its channel.
Shape block_strides(const Tensor& tensor, const Shape& blocks) {
  return tensor.dim() == 1 ? Shape{0, 1, 0} : contiguous_strides(blocks);
}

/// out = f(inputs...) over the blocks; an undefined input reads as 0.
template <class C, class F, class... Tensors>
void over_blocks(const F& f, const Tensor& out, const Tensors&... inputs) {
  constexpr std::size_t kInputs = sizeof...(Tensors);
  const Shape& blocks = out.shape();
  const std::array<Shape, kInputs> strides{(inputs.defined() ? block_strides(inputs, blocks) : Shape{0, 0, 0})...};
  std::array<const Shape*, kInputs + 1> all{&out.strides()};
  for (std::size_t k = 0; k < kInputs; ++k) all[k + 1] = &strides[k];
  launch_elementwise("batch_norm", f, Strided<kInputs + 1>(blocks, all), out.data<C>(),
                     DeviceInput<C>{inputs.defined() ? inputs.template data<C>() : nullptr, C(0)}...);
}

struct NormaliseOp {
  bool has_weight, has_bias;
  template <class C> TALLY_HD C operator()(C x, C mean, C rstd, C weight, C bias) const {
    C y = normalised(x, mean, rstd);
    if (has_weight) y = y * weight;
    return has_bias ? y + bias : y;
  }
};

struct NormalisedTimesOp {
  template <class C> TALLY_HD C operator()(C x, C mean, C rstd, C grad) const {
    return normalised(x, mean, rstd) * grad;
  }
};

struct ScaleOp {
  bool has_weight;
  template <class C> TALLY_HD C operator()(C grad, C rstd, C weight) const {
    return (has_weight ? rstd * weight : rstd) * grad;
  }
};

struct PullOp {
  bool has_weight;
  std::int64_t count;
  template <class C> TALLY_HD C operator()(C x, C mean, C rstd, C weight, C grad, C sum_grad, C sum_product) const {
    const C n = static_cast<C>(count);
    return centred_pull(grad, sum_grad / n, normalised(x, mean, rstd), sum_product / n,
                        has_weight ? rstd * weight : rstd);
  }
};

template <class C> struct Statistics {
  const C *mean, *var;
  C *rstd, *running_mean, *running_var;
  std::int64_t* batches;
  std::int64_t channels;
  C eps, momentum, unbias;
};

template <class C> __global__ void statistics_kernel(Statistics<C> s, gpu::Status status) {
  gpu::begin_early();
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c < s.channels) s.rstd[c] = C(1) / static_cast<C>(sqrt(s.var[c] + s.eps));
  if (gpu::raised(status)) return;
  if (c < s.channels && s.running_mean) s.running_mean[c] = moved_on(s.running_mean[c], s.mean[c], s.momentum);
  if (c < s.channels && s.running_var) s.running_var[c] = moved_on(s.running_var[c], s.var[c] * s.unbias, s.momentum);
  if (c == 0 && s.batches) ++*s.batches;
}

template <class C> C* data_or_null(const Tensor& tensor) { return tensor.defined() ? tensor.data<C>() : nullptr; }

}  // namespace

void batch_statistics(Cuda, const BatchStatistics& call) {
  visit_real(call.rstd.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const std::int64_t channels = call.rstd.numel();
    const Statistics<C> statistics{
        call.mean.data<C>(),
        call.var.data<C>(),
        call.rstd.data<C>(),
        data_or_null<C>(call.running.mean),
        data_or_null<C>(call.running.var),
        data_or_null<std::int64_t>(call.running.batches),
        channels,
        static_cast<C>(call.eps),
        static_cast<C>(call.momentum),
        static_cast<C>(static_cast<double>(call.count) / static_cast<double>(call.count - 1))};
    gpu::launch(statistics_kernel<C>, {(channels + kThreads - 1) / kThreads, kThreads, 0, "batch_statistics", true},
                statistics, gpu::status());
  });
}

void normalise(Cuda, const Normalise& call) {
  visit_real(call.x.dtype(), [&](auto zero) {
    over_blocks<decltype(zero)>(NormaliseOp{call.weight.defined(), call.bias.defined()}, call.y, call.x, call.mean,
                                call.rstd, call.weight, call.bias);
  });
}

void normalised_times(Cuda, const NormalisedTimes& call) {
  visit_real(call.x.dtype(), [&](auto zero) {
    over_blocks<decltype(zero)>(NormalisedTimesOp{}, call.product, call.x, call.mean, call.rstd, call.grad);
  });
}

void normalise_backward(Cuda, const NormaliseBackward& call) {
  const bool has_weight = call.weight.defined();
  visit_real(call.x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    if (call.sum_grad.defined())
      over_blocks<C>(PullOp{has_weight, call.count}, call.gx, call.x, call.mean, call.rstd, call.weight, call.grad,
                     call.sum_grad, call.sum_product);
    else
      over_blocks<C>(ScaleOp{has_weight}, call.gx, call.grad, call.rstd, call.weight);
  });
}

}  // namespace tally::detail
