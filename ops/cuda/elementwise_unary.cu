#include <tally/ops/cuda/elementwise.h>
#include <tally/ops/cuda/elementwise.cuh>

namespace tally::detail {

void elementwise(Cuda, const LoopsOf<Forward, ops::Unary>& f, const Tensor& out, const Inputs<1>& inputs, DType dtype) {
  visit_elementwise(f, out, inputs, dtype);
}

}  // namespace tally::detail
