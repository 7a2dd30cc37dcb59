#include <tally/ops/copy.h>

#include <tally/autograd/record.h>
#include <tally/core/raw.h>
#include <tally/core/require.h>

namespace tally {

Tensor copy(const Tensor& x, DType dtype, Device device, Where where) {
  Tensor y = empty(x.shape(), {.dtype = dtype, .device = device}, where);
  raw::copy(y, x);
  if (!is_floating(dtype)) return y;
  return record(
      "copy", {x}, std::move(y),
      [dtype = x.dtype(), device = x.device()](const Tensor& grad) { return std::vector{grad.to(dtype).to(device)}; },
      where);
}

Tensor Tensor::to(Device device, Where where) const {
  detail::require_defined("to", *this, where);
  return device == this->device() ? *this : copy(*this, dtype(), device, where);
}
Tensor Tensor::to(DType dtype, Where where) const {
  detail::require_defined("to", *this, where);
  return dtype == this->dtype() ? *this : copy(*this, dtype, device(), where);
}
Tensor Tensor::contiguous(Where where) const {
  detail::require_defined("contiguous", *this, where);
  return is_contiguous() ? *this : clone(where);
}
Tensor Tensor::clone(Where where) const {
  detail::require_defined("clone", *this, where);
  return copy(*this, dtype(), device(), where);
}

}  // namespace tally
