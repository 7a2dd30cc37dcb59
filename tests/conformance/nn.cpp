#include <tally/nn/batch_norm.h>
#include <tally/nn/loss.h>
#include <tally/nn/loss_more.h>
#include <tally/nn/normalization.h>
#include <tally/ops/operators.h>

#include "helpers.h"

namespace tally::conformance {
namespace {

/// "mean", "sum" or "none"; `place` is that of the word, after the two flags it replaced in PyTorch.
LossReduction reduction_at(Arguments& a, std::size_t place) {
  const std::string word = a.text(place, "reduction", "mean");
  if (word == "mean") return LossReduction::mean;
  if (word == "sum") return LossReduction::sum;
  if (word == "none") return LossReduction::none;
  throw Skip("no reduction " + word);
}

Tensors softmax_loss(Arguments& a) {
  return {cross_entropy(a.self(), a.tensor(1, "target"),
                        {.reduction = reduction_at(a, 6),
                         .ignore_index = a.integer(4, "ignore_index", -100),
                         .label_smoothing = a.real(7, "label_smoothing", 0),
                         .weight = a.optional_tensor(2, "weight")})};
}

Tensors likelihood_loss(Arguments& a) {
  return {nll_loss(a.self(), a.tensor(1, "target"),
                   {.reduction = reduction_at(a, 6),
                    .ignore_index = a.integer(4, "ignore_index", -100),
                    .weight = a.optional_tensor(2, "weight")})};
}

Tensors binary_loss(Arguments& a) {
  return {binary_cross_entropy_with_logits(a.self(), a.tensor(1, "target"),
                                           {.reduction = reduction_at(a, 5),
                                            .weight = a.optional_tensor(2, "weight"),
                                            .pos_weight = a.optional_tensor(6, "pos_weight")})};
}

Tensors squared_loss(Arguments& a) {
  const Tensor x = a.self(), y = a.tensor(1, "target");
  if (x.shape() != y.shape()) throw Skip("mse_loss wants equal shapes, PyTorch broadcasts");
  return {mse_loss(x, y, reduction_at(a, 4))};
}

Tensors huber(Arguments& a) {
  const Tensor x = a.self(), y = a.tensor(1, "target");
  if (x.shape() != y.shape()) throw Skip("huber_loss wants equal shapes, PyTorch broadcasts");
  return {huber_loss(x, y, a.real(3, "delta", 1), reduction_at(a, 2))};
}

Tensors normalized_batch(Arguments& a) {
  const Tensor x = a.self();
  if (x.dim() < 2) throw Skip("batch_norm wants a batch dim and channels");
  const RunningStatistics running{a.optional_tensor(1, "running_mean"), a.optional_tensor(2, "running_var"), {}};
  const BatchNormOptions options{a.flag(5, "training"), a.real(6, "momentum", 0.1), a.real(7, "eps", 1e-5)};
  return {batch_norm(x, running, a.optional_tensor(3, "weight"), a.optional_tensor(4, "bias"), options)};
}

Tensors normalized_layer(Arguments& a) {
  return {layer_norm(
      a.self(), a.integers(1, "normalized_shape"),
      {.weight = a.optional_tensor(2, "weight"), .bias = a.optional_tensor(3, "bias"), .eps = a.real(4, "eps", 1e-5)})};
}

Tensors normalized_power(Arguments& a) {
  RmsNormOptions options{.weight = a.optional_tensor(2, "weight")};
  if (a.has(3, "eps")) options.eps = a.real(3, "eps");
  return {rms_norm(a.self(), a.integers(1, "normalized_shape"), options)};
}

}  // namespace

Table nn_ops() {
  return {
      {"cross_entropy", softmax_loss},
      {"nll_loss", likelihood_loss},
      {"binary_cross_entropy_with_logits", binary_loss},
      {"mse_loss", squared_loss},
      {"huber_loss", huber},
      {"batch_norm", normalized_batch},
      {"layer_norm", normalized_layer},
      {"rms_norm", normalized_power},
  };
}

}  // namespace tally::conformance
