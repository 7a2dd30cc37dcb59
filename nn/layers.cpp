#include <tally/nn/layers.h>

#include <cmath>

#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/nn/init.h>
#include <tally/ops/binary.h>
#include <tally/ops/matmul.h>
#include <tally/ops/operators.h>

namespace tally {
namespace {

void require_probability(const char* op, double p, Where where) {
  if (!(p >= 0 && p <= 1)) throw ValueError(op, "p is a probability, not " + std::to_string(p), where);
}

void require_size(const char* op, const char* what, std::int64_t size, Where where) {
  if (size < 1) throw ShapeError(op, std::string(what) + " is " + std::to_string(size) + "; it is at least 1", where);
}

}  // namespace

Tensor dropout(const Tensor& x, double p, Generator& generator, Where where) {
  require_probability("dropout", p, where);
  if (p == 0) return x;
  const Tensor factor = no_grad([&] {
    // Drawn in float32 whatever the dtype, so that equal masks do not depend on it.
    const Tensor uniform = empty(x.shape(), {.device = x.device()}, where);
    fill_uniform(uniform, generator);
    return ge(uniform, p, where).to(x.dtype()) * (p == 1 ? 0 : 1 / (1 - p));
  });
  return mul(x, factor, where);
}

namespace nn {

Linear::Linear(std::int64_t in, std::int64_t out, LinearOptions options, Where where) {
  require_size("Linear", "the number of inputs", in, where);
  require_size("Linear", "the number of outputs", out, where);
  const Options made{.dtype = options.dtype, .device = options.device, .requires_grad = true};
  weight = empty({out, in}, made, where);
  kaiming_uniform_(weight, std::sqrt(5), options.generator, where);
  if (!options.bias) return;
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  bias = empty({out}, made, where);
  uniform_(bias, -bound, bound, options.generator, where);
}

Tensor Linear::operator()(const Tensor& x, Where where) const { return linear(x, weight, bias, where); }

void Linear::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

BatchNorm1d::BatchNorm1d(std::int64_t features, BatchNorm1dOptions options, Where where)
    : eps(options.eps), momentum(options.momentum) {
  require_size("BatchNorm1d", "the number of features", features, where);
  const Options parameter{.dtype = options.dtype, .device = options.device, .requires_grad = true};
  const Options buffer{.dtype = options.dtype, .device = options.device};
  if (options.affine) {
    weight = ones({features}, parameter, where);
    bias = zeros({features}, parameter, where);
  }
  if (options.track_running_stats) {
    running_mean = zeros({features}, buffer, where);
    running_var = ones({features}, buffer, where);
    num_batches_tracked = zeros({}, {.dtype = int64, .device = options.device}, where);
  }
}

Tensor BatchNorm1d::operator()(const Tensor& x, Where where) const {
  if (x.dim() != 2 && x.dim() != 3)
    throw ShapeError("BatchNorm1d", describe(x) + " is neither [N, C] nor [N, C, L]", where);
  return batch_norm(x, {running_mean, running_var, num_batches_tracked}, weight, bias,
                    {.training = training || !running_mean.defined(), .momentum = momentum, .eps = eps}, where);
}

void BatchNorm1d::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
  visitor.buffer("running_mean", running_mean);
  visitor.buffer("running_var", running_var);
  visitor.buffer("num_batches_tracked", num_batches_tracked);
}

Dropout::Dropout(double p, Generator& generator, Where where) : p(p), generator(&generator) {
  require_probability("Dropout", p, where);
}

Tensor Dropout::operator()(const Tensor& x, Where where) const {
  return training ? dropout(x, p, *generator, where) : x;
}

}  // namespace nn
}  // namespace tally
