#include <tally/autograd/verify_inputs.h>

#include <cmath>
#include <limits>

#include <tally/core/raw.h>

namespace tally::detail {
namespace {

constexpr std::int64_t kLarge = 1 << 16;

Tensor view(const Tensor& x, const Shape& shape) {
  return Tensor(x.storage(), x.offset(), shape, contiguous_strides(shape), x.dtype());
}

Tensor with_value(const Tensor& x, double value, bool everywhere) {
  const Tensor copy = copies({x})[0];
  if (everywhere)
    raw::fill(copy, value);
  else if (copy.numel() > 0)
    raw::fill(view(copy, {}), value);
  return copy;
}

}  // namespace

double smallest_subnormal(DType dtype) {
  return dtype == float64 ? 0x1p-1074 : dtype == float32 ? 0x1p-149 : dtype == float16 ? 0x1p-24 : 0x1p-133;
}

std::vector<EdgeCase> edge_inputs(const List& inputs) {
  std::vector<EdgeCase> all{{"nothing", {}}, {"one element", {}}, {"no dims", {}}};
  for (const Tensor& x : inputs) {
    Shape none = x.shape(), one = x.shape();
    for (int d = 0; d < x.dim(); ++d) one[d] = 1;
    if (x.dim() > 0) none[0] = 0;
    all[0].inputs.push_back(empty_like(x, x.dtype(), none));
    all[1].inputs.push_back(x.numel() > 0 ? view(x, one) : x);
    all[2].inputs.push_back(x.numel() > 0 ? view(x, {}) : x);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype())) continue;
    const std::pair<const char*, double> specials[] = {{"NaN", std::nan("")},
                                                       {"infinity", kInfinity},
                                                       {"-infinity", -kInfinity},
                                                       {"-0", -0.0},
                                                       {"0", 0.0},
                                                       {"a subnormal", 3 * smallest_subnormal(inputs[i].dtype())}};
    for (const auto& [name, value] : specials)
      for (const bool everywhere : {false, true}) {
        List with = inputs;
        with[i] = with_value(inputs[i], value, everywhere);
        const char* place = everywhere ? " everywhere in input " : " as the first element of input ";
        all.push_back({name + (place + std::to_string(i)), with});
      }
  }
  return all;
}

List enlarged(const List& inputs) {
  List large;
  for (const Tensor& x : inputs) {
    if (x.dim() == 0 || x.dim() == kMaxDims || x.numel() == 0) {
      large.push_back(x);
      continue;
    }
    const std::int64_t times = kLarge / x.numel() + 1;
    Shape shape = x.shape(), repeated = x.shape(), strides = x.strides();
    shape[0] *= times;
    repeated.insert(0, times);
    strides.insert(0, 0);
    large.push_back(empty_like(x, x.dtype(), shape));
    raw::copy(view(large.back(), repeated), Tensor(x.storage(), x.offset(), repeated, strides, x.dtype()));
  }
  return large;
}

List subnormal(const List& inputs, DType dtype) {
  List tiny;
  for (const Tensor& x : inputs) {
    tiny.push_back(is_floating(x.dtype()) ? empty_like(x, dtype) : x);
    if (!is_floating(x.dtype())) continue;
    std::vector<double> values = x.to_vector<double>();
    for (double& value : values) value *= dtype == float64 ? 0x1p-1026 : 0x1p-130;
    raw::copy(tiny.back(), tensor(values, x.shape()));
  }
  return tiny;
}

}  // namespace tally::detail
