#include <tally/ops/cuda/elementwise.h>
#include <tally/ops/cuda/elementwise.cuh>

namespace tally::detail {

void elementwise(Cuda, const LoopsOf<PullLeft, ops::Binary>& f, const Tensor& out, const Inputs<3>& inputs,
                 DType dtype) {
  visit_elementwise(f, out, inputs, dtype);
}

void elementwise(Cuda, const LoopsOf<PullRight, ops::Binary>& f, const Tensor& out, const Inputs<3>& inputs,
                 DType dtype) {
  visit_elementwise(f, out, inputs, dtype);
}

}  // namespace tally::detail
