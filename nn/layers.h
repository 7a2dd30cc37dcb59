// The layers. Parameters are made on the CPU or on CUDA with equal values for an equal generator, by PyTorch's rules.
#pragma once

#include <tally/core/random.h>
#include <tally/nn/batch_norm.h>
#include <tally/nn/module.h>
#include <tally/ops/unary.h>

namespace tally::nn {

/// Of Linear. Parameters are drawn from `generator`.
struct LinearOptions {
  bool bias = true;
  DType dtype = float32;
  Device device = Device::cpu;
  Generator& generator = default_generator();
};

/// y = x Wᵀ + b for x [..., in]; weight [out, in] and bias [out] start uniform in +-1/sqrt(in). ShapeError for a size
/// below 1 or an input of another width.
struct Linear {
  Linear(std::int64_t in, std::int64_t out, LinearOptions options = {}, Where where = Where::here());
  Tensor operator()(const Tensor& x, Where where = Where::here()) const;
  void visit(Visitor& visitor);

  Tensor weight, bias;
};

/// Of BatchNorm1d.
struct BatchNorm1dOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // weight of the new value in the running statistics
  bool affine = true;
  bool track_running_stats = true;
  DType dtype = float32;
  Device device = Device::cpu;
};

/// Normalises each of the C features of [N, C] or [N, C, L] by its mean and biased variance over the batch, in
/// training, or by the running ones, in evaluation; then scales by weight [C] and shifts by bias [C] (batch_norm.h).
/// ShapeError for another shape, or one value a channel in training.
struct BatchNorm1d {
  explicit BatchNorm1d(std::int64_t features, BatchNorm1dOptions options = {}, Where where = Where::here());
  Tensor operator()(const Tensor& x, Where where = Where::here()) const;
  void visit(Visitor& visitor);

  Tensor weight, bias, running_mean, running_var, num_batches_tracked;
  double eps, momentum;
  bool training = true;
};

/// relu(x), for any shape.
struct ReLU {
  Tensor operator()(const Tensor& x, Where where = Where::here()) const { return relu(x, where); }
};

/// In training, sets each element to 0 with probability p and scales the others by 1 / (1 - p); in evaluation it does
/// nothing. ValueError unless 0 <= p <= 1. Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov: Dropout, JMLR
/// 2014.
struct Dropout {
  explicit Dropout(double p = 0.5, Generator& generator = default_generator(), Where where = Where::here());
  Tensor operator()(const Tensor& x, Where where = Where::here()) const;

  double p;
  Generator* generator;  // outlives the module
  bool training = true;
};

}  // namespace tally::nn

namespace tally {

/// Each element is kept where its uniform is at least p, and then scaled by 1 / (1 - p). ValueError unless 0 <= p <= 1.
Tensor dropout(const Tensor& x, double p, Generator& generator = default_generator(), Where where = Where::here());

}  // namespace tally
