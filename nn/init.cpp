#include <tally/nn/init.h>

#include <cmath>

#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>

namespace tally {
namespace {

struct Fans {
  Fans(const char* op, const Tensor& weight, Where where) {
    if (weight.dim() < 2) throw ShapeError(op, describe(weight) + " has no fan-in; it takes two dims or more", where);
    std::int64_t field = 1;
    for (int d = 2; d < weight.dim(); ++d) field *= weight.shape()[d];
    in = static_cast<double>(weight.shape()[1] * field);
    out = static_cast<double>(weight.shape()[0] * field);
  }
  double in, out;
};

}  // namespace

const Tensor& uniform_(const Tensor& tensor, double low, double high, Generator& generator, Where where) {
  if (!(low <= high))
    throw ValueError("uniform_", "no numbers lie from " + std::to_string(low) + " to " + std::to_string(high), where);
  NoGrad guard;
  const Tensor draw = empty(tensor.shape(), {.dtype = tensor.dtype(), .device = tensor.device()}, where);
  fill_uniform(draw, generator);
  return tensor.copy_(draw * (high - low) + low, where);
}

const Tensor& kaiming_uniform_(const Tensor& tensor, double a, Generator& generator, Where where) {
  const double bound = std::sqrt(6 / ((1 + a * a) * Fans("kaiming_uniform_", tensor, where).in));
  return uniform_(tensor, -bound, bound, generator, where);
}

const Tensor& xavier_uniform_(const Tensor& tensor, double gain, Generator& generator, Where where) {
  const Fans fans("xavier_uniform_", tensor, where);
  const double bound = gain * std::sqrt(6 / (fans.in + fans.out));
  return uniform_(tensor, -bound, bound, generator, where);
}

}  // namespace tally
