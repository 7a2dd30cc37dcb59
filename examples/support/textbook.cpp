#include <tally/examples/support/textbook.h>

#include <tally/core/error.h>
#include <tally/examples/support/textbook_kernels.h>

namespace tally::examples {
namespace {

void check(const char* op, const Tensor& x) {
  if (x.dtype() != float32) throw DTypeError(op, describe(x) + " is not float32", Where::here());
  if (!x.is_contiguous()) throw ShapeError(op, describe(x) + " is not dense", Where::here());
}

void naive_sum(Cpu, const Tensor& x, const Tensor& y) {
  const float* values = x.data<float>();
  float sum = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) sum += values[i];
  *y.data<float>() = sum;
}
void block_sum(Cpu, const Tensor& x, const Tensor&) {
  throw DeviceError("block_sum", describe(x) + ": blocks are the device's", Where::here());
}

}  // namespace

Tensor naive_sum(const Tensor& x) {
  check("naive_sum", x);
  const Tensor y = empty({}, {.device = x.device()});
  on(x.device(), [&](auto backend) { naive_sum(backend, x, y); });
  return y;
}

Tensor block_sum(const Tensor& x) {
  check("block_sum", x);
  const Tensor y = zeros({}, {.device = x.device()});
  on(x.device(), [&](auto backend) { block_sum(backend, x, y); });
  return y;
}

}  // namespace tally::examples
