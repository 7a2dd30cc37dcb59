// What answers with bool, and what reads it.
#include <tally/ops/cuda/elementwise.h>
#include <tally/ops/cuda/elementwise.cuh>

namespace tally::detail {

void elementwise(Cuda, const LoopsOf<Forward, ops::Comparison>& f, const Tensor& out, const Inputs<2>& inputs,
                 DType dtype) {
  visit_elementwise(f, out, inputs, dtype);
}

void elementwise(Cuda, const LoopsOf<Forward, ops::Predicate>& f, const Tensor& out, const Inputs<1>& inputs,
                 DType dtype) {
  visit_elementwise(f, out, inputs, dtype);
}

void elementwise(Cuda, const Forward<ops::Choose>& f, const Tensor& out, const Inputs<3>& inputs, DType dtype) {
  const auto walk = walk_of(out, inputs);
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch_elementwise("where", f, walk, static_cast<T*>(out.raw()), device_input<bool>(inputs[0]),
                       device_input<T>(inputs[1]), device_input<T>(inputs[2]));
  });
}

}  // namespace tally::detail
