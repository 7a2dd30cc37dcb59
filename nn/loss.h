// Losses.
#pragma once

#include <tally/core/tensor.h>

namespace tally {

/// How the losses of all rows (or elements) become the result: their mean, their sum, or one by one.
enum class LossReduction : unsigned char { mean, sum, none };

/// Of cross_entropy.
struct CrossEntropyOptions {
  LossReduction reduction = LossReduction::mean;
  std::int64_t ignore_index = -100;  // rows with this target cost nothing and count nowhere
  double label_smoothing = 0;        // share of the target spread evenly over all classes
  Tensor weight = {};                // [C], of each class; undefined: 1
};

/// -log softmax(logits)[target], for logits [N, C], [N, C, ...] or [C]. `target` holds int64 classes, of the logits'
/// shape without C, or probabilities, of the logits' shape. The mean is weighted: over the rows not ignored, sum of
/// losses / sum of their targets' weights (probabilities: / N). Label smoothing: Szegedy, Vanhoucke, Ioffe, Shlens,
/// Wojna: Rethinking the Inception Architecture, CVPR 2016. With nothing to count it is NaN, the sum 0, and all
/// gradients are 0.
/// Throws IndexError for a target that is no class and not ignored, with its value and the class count (on CUDA at the
/// next read); ShapeError, DTypeError, DeviceError, ValueError.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {},
                     Where where = Where::here());

/// (input - target)^2; ShapeError unless the shapes are equal, since broadcasting here is almost always a mistake.
Tensor mse_loss(const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::mean,
                Where where = Where::here());

}  // namespace tally
