#include <tally/ops/cuda/elementwise.h>
#include <tally/ops/cuda/elementwise.cuh>

namespace tally::detail {

void elementwise(Cuda, const LoopsOf<Forward, ops::Binary>& f, const Tensor& out, const Inputs<2>& inputs,
                 DType dtype) {
  visit_elementwise(f, out, inputs, dtype);
}

void elementwise(Cuda, const Forward<ops::AddScaled>& f, const Tensor& out, const Inputs<2>& inputs, DType dtype) {
  run_elementwise("add_", f, out, inputs, dtype);
}

}  // namespace tally::detail
