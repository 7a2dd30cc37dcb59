#include <tally/nn/batch_norm.h>

#include <tally/autograd/in_place.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/nn/batch_norm_backend.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>

namespace tally {
namespace {

using namespace detail;

constexpr auto kName = "batch_norm";

/// [outer, channels, inner], dense.
Tensor as_blocks(const Tensor& x) {
  std::int64_t inner = 1;
  for (int d = 2; d < x.dim(); ++d) inner *= x.shape()[d];
  return reshape(x, {x.shape()[0], x.shape()[1], inner}).contiguous();
}

Tensor like(const Tensor& x) { return empty(x.shape(), {.dtype = x.dtype(), .device = x.device()}); }

void require_channels(const Tensor& x, const char* name, const Tensor& one, DType dtype, Where where) {
  if (!one.defined()) return;
  if (one.device() != x.device())
    throw DeviceError(kName,
                      std::string(name) + " " + describe(one) + " with " + describe(x) + "; use nn::to(model, " +
                          name_of(x.device()) + ")",
                      where);
  if (one.dtype() != dtype)
    throw DTypeError(kName,
                     std::string(name) + " " + describe(one) + " with " + describe(x) + "; use nn::to(model, " +
                         name_of(dtype) + ")",
                     where);
  if (one.shape() != Shape{x.shape()[1]})
    throw ShapeError(kName, std::string(name) + " " + describe(one) + " does not fit the channels of " + describe(x),
                     where);
}

/// What training is to write, before anything is written.
void require_running(const Tensor& x, const RunningStatistics& running, Where where) {
  for (const Tensor& one : {running.mean, running.var})
    if (one.defined()) require_own_elements(kName, one, where);
  const Tensor& batches = running.batches;
  if (!batches.defined()) return;
  if (batches.device() != x.device())
    throw DeviceError(kName, "the count of batches, " + describe(batches) + ", with " + describe(x), where);
  if (batches.dtype() != int64 || batches.numel() != 1)
    throw DTypeError(kName, "the count of batches is one int64, not " + describe(batches), where);
}

/// Lays statistics that moved on in a dense copy back to where they stand.
void settle(const Tensor& running, const Tensor& moved) {
  if (!running.defined()) return;
  if (running.storage() == moved.storage())
    running.storage()->bump_version();
  else
    running.detach().copy_(moved);
}

/// The gradients as recorded ops, for create_graph. x is [outer, channels, inner], the rest [channels].
std::vector<Tensor> recorded_gradients(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean,
                                       const Tensor& rstd, double eps, bool training) {
  const auto column = [](const Tensor& channel) { return reshape(channel, {1, channel.numel(), 1}); };
  const auto total = [](const Tensor& t) { return sum(t, {0, 2}, keepdim); };
  const double count = static_cast<double>(x.shape()[0] * x.shape()[2]);
  const Tensor m = training ? tally::mean(x, {0, 2}, keepdim) : column(mean);
  const Tensor r = training ? rsqrt(var(x, {0, 2}, population, keepdim) + eps) : column(rstd);
  const Tensor xhat = (x - m) * r;
  const Tensor slope = weight.defined() ? r * column(weight) : r;
  const Tensor sum_grad = total(grad), sum_product = total(xhat * grad);
  const Tensor gx = slope * (training ? (grad - sum_grad / count) - xhat * (sum_product / count) : grad);
  return {gx, reshape(sum_product, mean.shape()), reshape(sum_grad, mean.shape())};
}

std::vector<Tensor> gradients(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean,
                              const Tensor& rstd, bool wants_x, bool training) {
  return on(x.device(), [&](auto backend) {
    const Tensor product = like(x);
    normalised_times(backend, {x, mean, rstd, grad, product});
    const Tensor sum_grad = sum(grad, {0, 2}), sum_product = sum(product, {0, 2});
    Tensor gx;
    if (wants_x) {
      const Tensor none;
      gx = product;  // its memory is free again
      normalise_backward(backend, {x, mean, rstd, weight, grad, training ? sum_grad : none,
                                   training ? sum_product : none, gx, x.shape()[0] * x.shape()[2]});
    }
    return std::vector{gx, sum_product, sum_grad};
  });
}

}  // namespace

Tensor batch_norm(const Tensor& x, const RunningStatistics& running, const Tensor& weight, const Tensor& bias,
                  BatchNormOptions options, Where where) {
  if (!is_floating(x.dtype())) throw DTypeError(kName, describe(x) + " is not floating; use .to(float32)", where);
  if (x.dim() < 2) throw ShapeError(kName, describe(x) + " has no channels; it is [N, C] or [N, C, ...]", where);
  if (size_of(x.dtype()) < 4)  // the statistics of a 2-byte float are float32
    return batch_norm(x.to(float32, where), running, weight, bias, options, where).to(x.dtype(), where);
  const DType dtype = x.dtype();
  require_channels(x, "weight", weight, dtype, where);
  require_channels(x, "bias", bias, dtype, where);
  require_channels(x, "running mean", running.mean, dtype, where);
  require_channels(x, "running variance", running.var, dtype, where);
  const bool training = options.training;
  if (training) require_running(x, running, where);
  if (!training && !(running.mean.defined() && running.var.defined()))
    throw ValueError(kName, "evaluation needs a running mean and variance", where);

  const Tensor blocks = as_blocks(x);
  const std::int64_t channels = blocks.shape()[1], count = blocks.shape()[0] * blocks.shape()[2];
  if (training && count < 2)
    throw ShapeError(kName,
                     describe(x) + " has " + std::to_string(count) +
                         " value a channel, which has no variance; training needs two or more",
                     where);

  Tensor mean, rstd = empty({channels}, {.dtype = dtype, .device = x.device()}, where);
  const Tensor y = like(blocks);
  no_grad([&] {
    const Tensor values = blocks.detach();
    const auto dense = [](const Tensor& t) { return t.defined() ? t.detach().contiguous() : t; };
    BatchStatistics statistics{.mean = {},
                               .var = {},
                               .rstd = rstd,
                               .running = {},
                               .count = count,
                               .momentum = options.momentum,
                               .eps = options.eps};
    if (training) {
      const VarAndMean batch = var_mean(values, {0, 2}, population, {}, where);
      statistics.mean = batch.mean;
      statistics.var = batch.var;
      statistics.running = {dense(running.mean), dense(running.var), running.batches};
    } else {
      // A copy: the running mean may move on before backward.
      statistics.mean = running.mean.clone();
      statistics.var = running.var.detach().contiguous();
    }
    mean = statistics.mean;
    on(x.device(), [&](auto backend) {
      batch_statistics(backend, statistics);
      normalise(backend, {values, mean, rstd, dense(weight), dense(bias), y});
    });
    if (training) {
      settle(running.mean, statistics.running.mean);
      settle(running.var, statistics.running.var);
      if (running.batches.defined()) running.batches.storage()->bump_version();
    }
  });

  const bool wants_x = x.requires_grad(), wants_weight = weight.defined() && weight.requires_grad();
  const Tensor none;
  const Tensor result = record(
      kName, {blocks, weight, bias}, y,
      saving(wants_x || wants_weight ? blocks : none, wants_x ? weight : none, mean, rstd),
      [=, eps = options.eps](const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean,
                             const Tensor& rstd) -> std::vector<Tensor> {
        if (!x.defined()) return {{}, {}, sum(grad, {0, 2})};
        if (grad_enabled()) return recorded_gradients(grad, x, weight, mean, rstd, eps, training);
        const Tensor w = weight.defined() ? weight.detach().contiguous() : weight;
        return gradients(grad.contiguous(), x, w, mean, rstd, wants_x, training);
      },
      where);
  return reshape(result, x.shape(), where);
}

}  // namespace tally
