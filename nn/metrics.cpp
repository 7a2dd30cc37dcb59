#include <tally/nn/metrics.h>

#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/ops/binary.h>
#include <tally/ops/index.h>
#include <tally/ops/matmul.h>
#include <tally/ops/reduce.h>
#include <tally/ops/view.h>

namespace tally {

Tensor predicted_classes(const Tensor& logits, Where where) {
  if (logits.dim() != 2) throw ShapeError("predicted_classes", describe(logits) + " is not [N, C]", where);
  return argmax(logits, 1, {}, where);
}

Tensor accuracy(const Tensor& logits, const Tensor& target, Where where) {
  if (logits.dim() != 2 || target.shape() != Shape{logits.size(0)})
    throw ShapeError("accuracy", describe(logits) + " and " + describe(target) + " are not [N, C] and [N]", where);
  NoGrad guard;
  return mean(eq(predicted_classes(logits, where), target, where).to(float32, where), {}, {}, where);
}

Tensor confusion_matrix(const Tensor& target, const Tensor& predicted, std::int64_t classes, Where where) {
  if (target.dim() != 1 || target.shape() != predicted.shape())
    throw ShapeError("confusion_matrix", describe(target) + " and " + describe(predicted) + " are not both [N]", where);
  // Counts as a product of one-hot rows: exact, as doubles count to 2^53.
  const Tensor truth = one_hot(target, classes, float64, where), guess = one_hot(predicted, classes, float64, where);
  return matmul(t(truth, where), guess, where).to(int64, where);
}

}  // namespace tally
