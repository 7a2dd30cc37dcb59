#include <tally/ops/copy.h>

#include <tally/autograd/record.h>
#include <tally/core/raw.h>

namespace tally {

Tensor copy(const Tensor& x, DType dtype, Device device, Where where) {
  Tensor y = empty(x.shape(), {.dtype = dtype, .device = device}, where);
  raw::copy(y, x);
  if (!is_floating(dtype)) return y;
  return record(
      "copy", {x}, y,
      [dtype = x.dtype(), device = x.device()](const Tensor& grad) { return std::vector{grad.to(dtype).to(device)}; },
      where);
}

Tensor Tensor::to(Device device, Where where) const {
  return device == this->device() ? *this : copy(*this, dtype(), device, where);
}
Tensor Tensor::to(DType dtype, Where where) const {
  return dtype == this->dtype() ? *this : copy(*this, dtype, device(), where);
}
Tensor Tensor::contiguous(Where where) const { return is_contiguous() ? *this : clone(where); }
Tensor Tensor::clone(Where where) const { return copy(*this, dtype(), device(), where); }

}  // namespace tally
