#include <tally/nn/loss_more.h>

#include <string>

#include <tally/core/error.h>
#include <tally/ops/binary.h>
#include <tally/ops/index.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

namespace tally {
namespace {

Tensor reduced(const Tensor& loss, LossReduction reduction, Where where) {
  switch (reduction) {
    case LossReduction::mean:
      return mean(loss, {}, {}, where);
    case LossReduction::sum:
      return sum(loss, {}, {}, where);
    case LossReduction::none:
      break;
  }
  return loss;
}

void require_equal_shapes(const char* op, const Tensor& input, const Tensor& target, Where where) {
  if (input.shape() != target.shape())
    throw ShapeError(
        op, describe(input) + " and target " + describe(target) + " differ in shape; reshape or squeeze one of them",
        where);
}

}  // namespace

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllLossOptions& options, Where where) {
  const Tensor& x = log_probabilities;
  const auto operands = [&] { return describe(x) + " and target " + describe(target); };
  if (x.dim() == 0) throw ShapeError("nll_loss", describe(x) + " has no classes", where);
  if (!is_floating(x.dtype())) throw DTypeError("nll_loss", describe(x) + " is not floating; use .to(float32)", where);
  if (target.dtype() != int64) throw DTypeError("nll_loss", operands() + ": classes are int64; use .to(int64)", where);
  const int class_dim = x.dim() == 1 ? 0 : 1;
  Shape rows = x.shape();
  rows.erase(class_dim);
  if (target.shape() != rows)
    throw ShapeError("nll_loss", operands() + ": the target has not the shape " + to_string(rows), where);
  const Shape classes{x.shape()[class_dim]};
  if (options.weight.defined() && options.weight.shape() != classes)
    throw ShapeError("nll_loss", "weight " + describe(options.weight) + " has not the shape " + to_string(classes),
                     where);

  const Tensor counts = ne(target, options.ignore_index, where);
  const Tensor index = tally::where(counts, target, 0, where);
  const Tensor weight = options.weight.defined() ? index_select(options.weight.detach(), 0, index, where)
                                                 : ones(rows, {.dtype = x.dtype(), .device = x.device()}, where);
  const Tensor picked = squeeze(gather(x, class_dim, unsqueeze(index, class_dim, where), where), class_dim, where);
  const Tensor loss = tally::where(counts, -(picked * weight), 0, where);
  if (options.reduction != LossReduction::mean) return reduced(loss, options.reduction, where);
  // The weights of many rows add up to more than a two-byte float holds.
  const DType computed = loss.dtype() == float64 ? float64 : float32;
  const Tensor all = sum(loss.to(computed, where), {}, {}, where);
  return (all / sum(tally::where(counts, weight.to(computed, where), 0, where), {}, {}, where)).to(loss.dtype(), where);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options, Where where) {
  require_equal_shapes("binary_cross_entropy_with_logits", logits, target, where);
  Tensor positive = target * softplus(-logits, where);
  if (options.pos_weight.defined()) positive = positive * options.pos_weight;
  Tensor loss = positive + (1 - target) * softplus(logits, where);
  if (options.weight.defined()) loss = loss * options.weight;
  return reduced(loss, options.reduction, where);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, double delta, LossReduction reduction, Where where) {
  if (!(delta > 0)) throw ValueError("huber_loss", "delta = " + std::to_string(delta) + " is not above 0", where);
  require_equal_shapes("huber_loss", input, target, where);
  const Tensor size = abs(input - target, where);
  const Tensor cut = clamp(size, 0, delta, where);
  return reduced(cut * (size - cut / 2), reduction, where);
}

}  // namespace tally
