// batch_norm's loops on the CPU: along the channels where they lie side by side, else along each channel's run.
#include <cmath>

#include <tally/core/parallel.h>
#include <tally/nn/batch_norm_backend.h>
#include <tally/nn/visit_float.h>

namespace tally::detail {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

template <class C> C* data_or_null(const Tensor& tensor) { return tensor.defined() ? tensor.data<C>() : nullptr; }

/// f(first element, how many, channel, step between their channels: 1 or 0) for pieces that cover [outer, channels,
/// inner].
template <class F> void for_each_piece(const Shape& blocks, const F& f) {
  const std::int64_t channels = blocks[1], inner = blocks[2];
  const std::int64_t pieces = inner == 1 ? blocks[0] : blocks[0] * channels, length = inner == 1 ? channels : inner;
  if (pieces == 0 || length == 0) return;
  parallel_for(pieces, std::max<std::int64_t>(1, kGrain / length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) f(p * length, length, inner == 1 ? 0 : p % channels, inner == 1 ? 1 : 0);
  });
}

/// Calls f with `step` as a constant: each case is a loop of its own that vectorises.
template <class F> void with_step(std::int64_t step, const F& f) {
  step ? f(std::integral_constant<std::int64_t, 1>{}) : f(std::integral_constant<std::int64_t, 0>{});
}

}  // namespace

void batch_statistics(Cpu, const BatchStatistics& call) {
  visit_real(call.rstd.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const std::int64_t channels = call.rstd.numel();
    const C *mean = call.mean.data<C>(), *var = call.var.data<C>();
    C *rstd = call.rstd.data<C>(), *running_mean = data_or_null<C>(call.running.mean),
      *running_var = data_or_null<C>(call.running.var);
    const C eps = static_cast<C>(call.eps), momentum = static_cast<C>(call.momentum);
    const C unbias = static_cast<C>(static_cast<double>(call.count) / static_cast<double>(call.count - 1));
    for (std::int64_t c = 0; c < channels; ++c) rstd[c] = C(1) / static_cast<C>(std::sqrt(var[c] + eps));
    if (running_mean)
      for (std::int64_t c = 0; c < channels; ++c) running_mean[c] = moved_on(running_mean[c], mean[c], momentum);
    if (running_var)
      for (std::int64_t c = 0; c < channels; ++c) running_var[c] = moved_on(running_var[c], var[c] * unbias, momentum);
  });
  if (call.running.batches.defined()) ++*call.running.batches.data<std::int64_t>();
}

void normalise(Cpu, const Normalise& call) {
  visit_real(call.x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const C *x = call.x.data<C>(), *mean = call.mean.data<C>(), *rstd = call.rstd.data<C>();
    const C *weight = data_or_null<C>(call.weight), *bias = data_or_null<C>(call.bias);
    C* y = call.y.data<C>();
    for_each_piece(call.x.shape(), [&](std::int64_t first, std::int64_t length, std::int64_t channel, std::int64_t s) {
      with_step(s, [&](auto step) {
        const C *in = x + first, *m = mean + channel, *r = rstd + channel;
        C* out = y + first;
        for (std::int64_t i = 0; i < length; ++i) out[i] = normalised(in[i], m[i * step], r[i * step]);
        if (weight)
          for (std::int64_t i = 0; i < length; ++i) out[i] = out[i] * weight[channel + i * step];
        if (bias)
          for (std::int64_t i = 0; i < length; ++i) out[i] = out[i] + bias[channel + i * step];
      });
    });
  });
}

void normalised_times(Cpu, const NormalisedTimes& call) {
  visit_real(call.x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const C *x = call.x.data<C>(), *mean = call.mean.data<C>(), *rstd = call.rstd.data<C>(),
            *grad = call.grad.data<C>();
    C* product = call.product.data<C>();
    for_each_piece(call.x.shape(), [&](std::int64_t first, std::int64_t length, std::int64_t channel, std::int64_t s) {
      with_step(s, [&](auto step) {
        const C *in = x + first, *g = grad + first, *m = mean + channel, *r = rstd + channel;
        C* out = product + first;
        for (std::int64_t i = 0; i < length; ++i) out[i] = normalised(in[i], m[i * step], r[i * step]) * g[i];
      });
    });
  });
}

void normalise_backward(Cpu, const NormaliseBackward& call) {
  visit_real(call.x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const std::int64_t channels = call.rstd.numel();
    const C *x = call.x.data<C>(), *mean = call.mean.data<C>(), *rstd = call.rstd.data<C>(),
            *grad = call.grad.data<C>();
    const C *weight = data_or_null<C>(call.weight), *sum_grad = data_or_null<C>(call.sum_grad),
            *sum_product = data_or_null<C>(call.sum_product);
    C* gx = call.gx.data<C>();
    const auto count = static_cast<C>(call.count);
    // What is the same for a whole channel.
    std::vector<C> slope(rstd, rstd + channels), mean_grad(slope.size()), mean_product(slope.size());
    for (std::size_t c = 0; c < slope.size(); ++c) {
      if (weight) slope[c] = rstd[c] * weight[c];
      if (sum_grad) mean_grad[c] = sum_grad[c] / count;
      if (sum_product) mean_product[c] = sum_product[c] / count;
    }
    for_each_piece(call.x.shape(), [&](std::int64_t first, std::int64_t length, std::int64_t channel, std::int64_t s) {
      with_step(s, [&](auto step) {
        const C *in = x + first, *g = grad + first, *m = mean + channel, *r = rstd + channel;
        const C *a = slope.data() + channel, *mg = mean_grad.data() + channel, *mp = mean_product.data() + channel;
        C* out = gx + first;
        if (!sum_grad)
          for (std::int64_t i = 0; i < length; ++i) out[i] = a[i * step] * g[i];
        else
          for (std::int64_t i = 0; i < length; ++i)
            out[i] = centred_pull(g[i], mg[i * step], normalised(in[i], m[i * step], r[i * step]), mp[i * step],
                                  a[i * step]);
      });
    });
  });
}

}  // namespace tally::detail
