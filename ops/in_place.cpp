// The tensor's methods that compute in place.
#include <tally/autograd/in_place.h>
#include <tally/ops/binary_ops.h>
#include <tally/ops/library_loops.h>

namespace tally {
const Tensor& Tensor::add_(const Tensor& other, Number alpha, Where where) const {
  detail::require_in_place("add_", *this, where);
  detail::require_no_gradient("add_", other, where);
  detail::require_own_elements("add_", *this, where);
  if (other.device() != device())
    throw DeviceError("add_", describe(*this) + " with " + describe(other) + "; move one with .to(device)", where);
  if (broadcast_shapes("add_", other.shape(), shape(), where) != shape())
    throw ShapeError("add_", describe(other) + " does not broadcast to " + describe(*this), where);
  if (!is_floating(dtype()) && (is_floating(other.dtype()) || alpha.is_real()))
    throw DTypeError("add_", describe(*this) + " cannot hold the sum with real numbers; use .to(float32)", where);
  const Tensor values = other.detach();
  const Tensor addend = detail::reads_what_is_written(*this, values) ? values.clone(where) : values.to(dtype(), where);
  const ops::AddScaled op{alpha.as<double>(), alpha.as<std::int64_t>()};
  detail::LibraryLoops::run(detail::Forward<ops::AddScaled>{op}, *this, detail::Inputs<2>{*this, addend}, dtype(),
                            "add_", where);
  storage()->bump_version();
  return *this;
}

const Tensor& Tensor::mul_(Number factor, Where where) const {
  detail::require_in_place("mul_", *this, where);
  detail::require_own_elements("mul_", *this, where);
  if (!is_floating(dtype()) && factor.is_real())
    throw DTypeError("mul_", describe(*this) + " cannot hold the product with a real number; use .to(float32)", where);
  detail::LibraryLoops::run(detail::Forward<ops::Mul>{}, *this, detail::Inputs<2>{*this, factor}, dtype(), "mul_",
                            where);
  storage()->bump_version();
  return *this;
}

}  // namespace tally
