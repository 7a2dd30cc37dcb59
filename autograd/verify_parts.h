// What verify_op's checks are made of: inputs in other forms, and runs that can be compared.
#pragma once

#include <string>
#include <vector>

#include <tally/autograd/tensor_function.h>

namespace tally::detail {

using List = std::vector<Tensor>;

/// Dense copies, floating ones in `dtype`, all on `device`.
List copies(const List& inputs, DType dtype, Device device);
List copies(const List& inputs);
/// Uninitialised, on the device of x.
Tensor empty_like(const Tensor& x, DType dtype, const Shape& shape);
inline Tensor empty_like(const Tensor& x, DType dtype) { return empty_like(x, dtype, x.shape()); }
/// The same values from other strides and offsets.
struct Layout {
  const char* name;
  Tensor (*make)(const Tensor& dense);
};
const std::vector<Layout>& layouts();
/// The first slice along the first dim, `size` times with stride 0; x itself where it has no such dim.
Tensor spread_first(const Tensor& x, std::int64_t size);

/// What f gives, and backward with a fixed random cotangent; or what was thrown.
struct Run {
  List outputs, gradients;
  std::string error;       // what f or backward threw
  bool foreign = false;    // it was no class of Tally's
  bool host_only = false;  // it was a DeviceError
  bool ok() const { return error.empty(); }
};
Run run(const TensorFunction& f, const List& inputs, bool with_gradient);
/// Empty where two runs have equal bits, or both threw.
std::string run_difference(const Run& a, const Run& b);

/// Freed memory of the size of what the run gave holds `byte` from here on.
void leave_behind(const Run& run, unsigned char byte);

/// Sets flush-to-zero for this thread while it lives, as a fast-math library does. False where the machine has none.
class FlushToZero {
 public:
  FlushToZero();
  ~FlushToZero();
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;
  static bool exists();

 private:
  unsigned before_ = 0;
};

}  // namespace tally::detail
