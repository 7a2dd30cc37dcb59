// Products where the device is emulated: the CPU's, queued on the stream so that graphs capture them.
#include <tally/ops/cuda/matmul.h>

#include <tally/core/cuda/runtime.h>
#include <tally/ops/cpu/matmul.h>

namespace tally::detail {

void matmul(Cuda, const Tensor& out, const Tensor& a, const Tensor& b) {
  const auto queue = [](const Product& product) {
    gpu::check(gpu::simt::submit(gpu::current_stream(), [=] { multiply(product); }), "matmul");
  };
  matmul_by(queue, out, a, b);
}

}  // namespace tally::detail
