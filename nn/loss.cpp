#include <tally/nn/loss.h>

#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/nn/loss_backend.h>
#include <tally/ops/binary.h>
#include <tally/ops/index.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/softmax.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

namespace tally {
namespace {

constexpr auto kName = "cross_entropy";

/// [..., C] from [N, C, ...]: the classes last.
Tensor classes_last(const Tensor& x, Where where) {
  if (x.dim() <= 2) return x;
  std::vector<std::int64_t> order{0};
  for (int d = 2; d < x.dim(); ++d) order.push_back(d);
  order.push_back(1);
  return permute(x, order, where);
}

Tensor as_rows(const Tensor& x, Where where) { return reshape(x, {-1, x.size(-1)}, where).contiguous(where); }

/// Gradient of the rows' losses as recorded ops, for create_graph.
Tensor recorded_gradient(const Tensor& grad, const Tensor& logits, const Tensor& target, const Tensor& weight,
                         std::int64_t ignore_index) {
  const Tensor ignored = target == ignore_index;
  const Tensor safe = masked_fill(target, ignored, 0);
  Tensor upstream = weight.defined() ? index_select(weight, 0, safe) * grad : grad;
  upstream = unsqueeze(masked_fill(upstream, ignored, 0), 1);
  const Tensor pull = softmax(logits, 1) - one_hot(safe, logits.size(1), logits.dtype());
  return where(upstream == 0, 0, pull * upstream);
}

struct Rows {
  Tensor loss, weight;
};

/// The loss of each row of `logits` [R, C] for its class, and what it weighs in the mean.
Rows class_losses(const Tensor& logits, const Tensor& target, const Tensor& weight, std::int64_t ignore_index,
                  Where where) {
  const auto [loss, row_weight, max, sum] = no_grad([&] {
    const detail::ShiftedSums sums = detail::shifted_sums(kName, logits, 1, where);
    detail::CrossEntropyForward call{
        {logits.detach(), target, weight, sums.max, sums.sum, ignore_index}, {}, {}, where};
    call.loss = empty({logits.size(0)}, {.dtype = logits.dtype(), .device = logits.device()}, where);
    call.row_weight = empty({logits.size(0)}, {.dtype = logits.dtype(), .device = logits.device()}, where);
    on(logits.device(), [&](auto backend) { detail::cross_entropy(backend, call); });
    return std::tuple(call.loss, call.row_weight, sums.max, sums.sum);
  });
  const auto backward = [ignore_index](const Tensor& grad, const Tensor& logits, const Tensor& target,
                                       const Tensor& weight, const Tensor& max,
                                       const Tensor& sum) -> std::vector<Tensor> {
    if (grad_enabled()) return {recorded_gradient(grad, logits, target, weight, ignore_index)};
    const Tensor gx = empty(logits.shape(), {.dtype = logits.dtype(), .device = logits.device()});
    const detail::CrossEntropyBackward call{{logits, target, weight, max, sum, ignore_index}, grad, gx};
    on(logits.device(), [&](auto backend) { detail::cross_entropy_backward(backend, call); });
    return {gx};
  };
  return {record(kName, {logits}, loss, saving(logits, target, weight, max, sum), backward, where), row_weight};
}

/// -sum of target · weight · log softmax over the classes of each row; where the target is 0 nothing counts, not even
/// an infinity.
Tensor probability_losses(const Tensor& logits, const Tensor& target, const Tensor& weight, Where where) {
  Tensor terms = tally::where(target == 0, 0, target * log_softmax(logits, 1, where), where);
  if (weight.defined()) terms = terms * weight;
  return -sum(terms, 1, {}, where);
}

void require(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options, Where where) {
  const std::string operands = describe(logits) + " with target " + describe(target);
  if (!is_floating(logits.dtype())) throw DTypeError(kName, operands + ": the logits are not floating", where);
  if (logits.dim() == 0) throw ShapeError(kName, operands + ": the logits have no classes", where);
  if (logits.device() != target.device()) throw DeviceError(kName, operands + "; move one with .to(device)", where);
  const int class_dim = logits.dim() == 1 ? 0 : 1;
  Shape without = logits.shape();
  without.erase(class_dim);
  if (is_floating(target.dtype()) ? target.shape() != logits.shape() : target.shape() != without)
    throw ShapeError(kName,
                     operands + ": classes are int64 of shape " + to_string(without) +
                         ", probabilities floating and of the logits' shape",
                     where);
  if (!is_floating(target.dtype()) && target.dtype() != int64)
    throw DTypeError(kName, operands + ": classes are int64; use .to(int64)", where);
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError(kName, "label_smoothing is " + std::to_string(options.label_smoothing) + ", not in [0, 1]", where);
  const Tensor& weight = options.weight;
  if (!weight.defined()) return;
  if (weight.shape() != Shape{logits.shape()[class_dim]})
    throw ShapeError(kName, "class weights " + describe(weight) + " do not fit " + describe(logits), where);
  if (weight.device() != logits.device())
    throw DeviceError(kName, "class weights " + describe(weight) + " with " + describe(logits), where);
}

}  // namespace

void detail::throw_bad_target(const char* op, std::int64_t target, std::int64_t classes, std::int64_t row,
                              Where where) {
  throw IndexError(op,
                   "target " + std::to_string(target) + " at row " + std::to_string(row) + " is none of the " +
                       std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1) +
                       ", and not the ignored one",
                   where);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options, Where where) {
  require(logits, target, options, where);
  const DType dtype = logits.dtype() == float64 ? float64 : float32;
  const Tensor last = classes_last(logits, where);
  const Tensor rows = as_rows(last, where).to(dtype, where);
  const Tensor weight =
      options.weight.defined() ? options.weight.detach().to(dtype, where).contiguous(where) : Tensor();
  const double smoothing = options.label_smoothing, classes = static_cast<double>(rows.size(1));
  Shape shape = last.shape();
  shape.erase(shape.size() - 1);

  Tensor losses, divisor;
  if (is_floating(target.dtype())) {
    Tensor share = as_rows(classes_last(target, where), where).to(dtype, where);
    if (smoothing > 0) share = share * (1 - smoothing) + smoothing / classes;
    losses = probability_losses(rows, share, weight, where);
  } else {
    const Tensor labels = reshape(target, {-1}, where).contiguous(where);
    const Rows hard = class_losses(rows, labels, weight, options.ignore_index, where);
    losses = hard.loss;
    divisor = hard.weight;
    if (smoothing > 0) {
      const Tensor even = full({1, 1}, smoothing / classes, {.dtype = dtype, .device = rows.device()}, where);
      losses = losses * (1 - smoothing) +
               masked_fill(probability_losses(rows, even, weight, where), labels == options.ignore_index, 0, where);
    }
  }
  if (options.reduction == LossReduction::none) return reshape(losses, shape, where).to(logits.dtype(), where);
  Tensor total = sum(losses, {}, {}, where);
  if (options.reduction == LossReduction::mean)
    total = divisor.defined() ? total / sum(divisor) : total / static_cast<double>(losses.numel());
  return total.to(logits.dtype(), where);
}

Tensor mse_loss(const Tensor& input, const Tensor& target, LossReduction reduction, Where where) {
  if (input.shape() != target.shape())
    throw ShapeError("mse_loss",
                     describe(input) + " and " + describe(target) + " differ in shape; reshape or squeeze one of them",
                     where);
  const Tensor losses = square(sub(input, target, where), where);
  if (reduction == LossReduction::none) return losses;
  return reduction == LossReduction::mean ? mean(losses, {}, {}, where) : sum(losses, {}, {}, where);
}

}  // namespace tally
