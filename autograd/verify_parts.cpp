#include <tally/autograd/verify_parts.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <tally/autograd/backward.h>
#include <tally/autograd/bits.h>
#include <tally/autograd/random_weight.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>

namespace tally::detail {
namespace {

// The elements of x at `strides` from `offset` of a storage of `room` elements; all others are NaN.
Tensor placed(const Tensor& x, const Shape& strides, std::int64_t offset, std::int64_t room) {
  const Tensor ground = empty({room}, {.dtype = x.dtype(), .device = x.device()});
  if (is_floating(x.dtype()))
    raw::fill(ground, __builtin_nan(""));
  else
    raw::fill(ground, 0);
  Tensor view(ground.storage(), offset, x.shape(), strides, x.dtype());
  raw::copy(view, x);
  return view;
}

Tensor transposed(const Tensor& x) {
  Shape strides = x.shape();
  std::int64_t step = 1;
  for (int d = 0; d < x.dim(); ++d) {
    strides[d] = step;
    step *= x.shape()[d];
  }
  return placed(x, strides, 0, x.numel());
}

// Every third element of the last dim, with room behind each row.
Tensor sliced(const Tensor& x) {
  const int last = x.dim() - 1;
  Shape wide = x.shape();
  if (last >= 0) wide[last] = 3 * wide[last] + 2;
  Shape strides = contiguous_strides(wide);
  if (last >= 0) strides[last] = 3;
  return placed(x, strides, 1, wide.numel() + 1);
}

Tensor misaligned(const Tensor& x) { return placed(x, contiguous_strides(x.shape()), 1, x.numel() + 1); }

Tensor cotangent_of(const Tensor& output) {
  std::vector<double> weights(static_cast<std::size_t>(output.numel()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = random_weight(1, i);
  const Tensor cotangent = empty(output.shape(), {.dtype = output.dtype(), .device = output.device()});
  raw::copy(cotangent, tensor(weights, output.shape()));
  return cotangent;
}

void run_backward(Run& run, const List& leaves) {
  List outputs, cotangents, wanted;
  for (const Tensor& output : run.outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    outputs.push_back(output);
    cotangents.push_back(cotangent_of(output));
  }
  for (const Tensor& leaf : leaves)
    if (leaf.requires_grad()) wanted.push_back(leaf);
  if (!outputs.empty() && !wanted.empty()) run.gradients = grad(outputs, wanted, cotangents);
}

template <class E> bool is_a(const std::exception& error) { return dynamic_cast<const E*>(&error) != nullptr; }

bool is_ours(const std::exception& error) {
  return is_a<ErrorOf<std::invalid_argument>>(error) || is_a<ErrorOf<std::out_of_range>>(error) ||
         is_a<ErrorOf<std::logic_error>>(error) || is_a<ErrorOf<std::runtime_error>>(error);
}

}  // namespace

List copies(const List& inputs, DType dtype, Device device) {
  List list;
  for (const Tensor& input : inputs) {
    list.push_back(
        empty(input.shape(), {.dtype = is_floating(input.dtype()) ? dtype : input.dtype(), .device = device}));
    raw::copy(list.back(), input);
  }
  return list;
}

Tensor empty_like(const Tensor& x, DType dtype, const Shape& shape) {
  return empty(shape, {.dtype = dtype, .device = x.device()});
}

List copies(const List& inputs) {
  List list;
  for (const Tensor& input : inputs) list.push_back(copies({input}, input.dtype(), input.device())[0]);
  return list;
}

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {{"transposed", transposed}, {"sliced", sliced}, {"misaligned", misaligned}};
  return all;
}

Tensor spread_first(const Tensor& x, std::int64_t size) {
  if (x.dim() == 0 || x.shape()[0] == 0) return x;
  Shape shape = x.shape(), strides = x.strides();
  shape[0] = size;
  strides[0] = 0;
  return Tensor(x.storage(), x.offset(), shape, strides, x.dtype());
}

Run run(const TensorFunction& f, const List& inputs, bool with_gradient) {
  List leaves;
  for (const Tensor& input : inputs) {
    leaves.push_back(input.detach());
    if (with_gradient && is_floating(input.dtype())) leaves.back().requires_grad_();
  }
  Run result;
  try {
    result.outputs = f(leaves);
    if (with_gradient) run_backward(result, leaves);
  } catch (const std::exception& error) {
    result.error = error.what();
    result.foreign = !is_ours(error);
    result.host_only = is_a<DeviceError>(error);
  }
  return result;
}

std::string run_difference(const Run& a, const Run& b) {
  if (a.ok() != b.ok()) return "one throws, the other does not: " + a.error + b.error;
  if (!a.ok()) return "";
  const std::string values = list_difference("result", a.outputs, b.outputs, bit_difference);
  return values.empty() ? list_difference("gradient", a.gradients, b.gradients, bit_difference) : values;
}

void leave_behind(const Run& run, unsigned char byte) {
  List held;
  for (const List* list : {&run.outputs, &run.gradients})
    for (const Tensor& one : *list)
      for (int blocks = 0; one.defined() && blocks < 4; ++blocks) {
        const auto bytes = static_cast<std::int64_t>(static_cast<std::size_t>(one.numel()) * size_of(one.dtype()));
        held.push_back(empty({bytes}, {.dtype = uint8, .device = one.device()}));
        raw::fill(held.back(), byte);
      }
}

#if defined(__x86_64__)
FlushToZero::FlushToZero() : before_(_mm_getcsr()) {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);
}
FlushToZero::~FlushToZero() { _mm_setcsr(before_); }
bool FlushToZero::exists() { return true; }
#else
FlushToZero::FlushToZero() = default;
FlushToZero::~FlushToZero() = default;
bool FlushToZero::exists() { return false; }
#endif

}  // namespace tally::detail
