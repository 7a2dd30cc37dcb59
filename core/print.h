// Tensors and their parts as text, for logs and test failures.
//
//   [[      1, 0.333333],
//    [     -2,    1e-08]]
//   float32 [2, 2] on cpu, requires grad
#pragma once

#include <iosfwd>
#include <string>

#include <tally/core/tensor.h>

namespace tally {

/// Values in rows, six significant digits (four of the 2-byte floats), then dtype, shape and device. Of more than 1000
/// elements, dims longer than 6 show their first and last 3 around "...". Waits for the device.
std::string to_string(const Tensor& tensor);

/// As to_string and name_of give them.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, DType dtype);
std::ostream& operator<<(std::ostream& out, Device device);

}  // namespace tally
