// Losses that are compositions of ops; second derivatives are whole.
#pragma once

#include <tally/nn/loss.h>

namespace tally {

/// Of nll_loss.
struct NllLossOptions {
  LossReduction reduction = LossReduction::mean;
  std::int64_t ignore_index = -100;  // rows with this target cost nothing and count nowhere
  Tensor weight = {};                // [C], of each class; undefined: 1
};

/// -log_probabilities[target]: what cross_entropy is after log_softmax. [N, C], [N, C, ...] or [C] with int64 targets
/// of the same shape without C. The mean is weighted: sum of losses / sum of the targets' weights, NaN with nothing to
/// count. Throws IndexError for a target that is no class and not ignored (on CUDA at the next read), ShapeError,
/// DTypeError, DeviceError.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllLossOptions& options = {},
                Where where = Where::here());

/// Of binary_cross_entropy_with_logits.
struct BinaryCrossEntropyOptions {
  LossReduction reduction = LossReduction::mean;
  Tensor weight = {};      // of each element; broadcasts
  Tensor pos_weight = {};  // of the positive part, of each class; broadcasts
};

/// pos_weight·t·log(1 + e^-x) + (1 - t)·log(1 + e^x), for logits x and targets t of one shape. No cancellation
/// anywhere. ShapeError where the two differ in shape.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options = {}, Where where = Where::here());

/// d²/2 for |d| = |input - target| up to delta, delta·(|d| - delta/2) beyond. Shapes are equal. ValueError unless
/// delta > 0. Huber: Robust Estimation of a Location Parameter, 1964.
Tensor huber_loss(const Tensor& input, const Tensor& target, double delta = 1,
                  LossReduction reduction = LossReduction::mean, Where where = Where::here());

}  // namespace tally
