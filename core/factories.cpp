#include <cmath>
#include <cstring>

#include <tally/core/cuda/device.h>
#include <tally/core/error.h>
#include <tally/core/random.h>
#include <tally/core/raw.h>
#include <tally/core/tensor.h>

namespace tally {
namespace {

Tensor ready(Tensor tensor, const Options& options, Where where) {
  if (options.requires_grad) tensor.requires_grad_(true, where);
  return tensor;
}

Options detached(Options options) {
  options.requires_grad = false;
  return options;
}

// Uninitialised. Errors speak in the name of the factory that was called.
Tensor make(const char* op, const Shape& shape, Options options, Where where) {
  for (std::int64_t size : shape)
    if (size < 0) throw ShapeError(op, to_string(shape) + " has a negative size", where);
  if (!is_available(options.device))
    throw DeviceError("device",
                      kHasCuda ? gpu::describe() + "; use cpu"
                               : "this build of Tally has no CUDA; use cpu, or build where a CUDA toolkit is",
                      where);
  const std::int64_t count = shape.numel();
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(count), size_of(options.dtype), &bytes))
    throw ShapeError(op, to_string(shape) + " needs more bytes than 64 bits count", where);
  Tensor result(Storage::allocate(bytes, options.device), 0, shape, contiguous_strides(shape), options.dtype);
  return ready(std::move(result), options, where);
}

Tensor filled(const char* op, const Shape& shape, Number value, const Options& options, Where where) {
  Tensor result = make(op, shape, detached(options), where);
  raw::fill(result, value);
  return ready(std::move(result), options, where);
}

Tensor from_doubles(const std::vector<double>& values, const Shape& shape, Options options, Where where) {
  Tensor host = empty(shape, {.dtype = options.dtype}, where);
  raw::copy(host, from_bytes(values.data(), float64, shape, cpu, where));
  return ready(host.to(options.device, where), options, where);
}

// How many numbers arange gives. Integers are counted as integers: beyond 2^53 a double is off by some.
std::int64_t count_of(Number start, Number end, Number step, Where where) {
  const auto refuse = [&] { throw ShapeError("arange", "the range has more elements than 63 bits count", where); };
  if (start.is_real() || end.is_real() || step.is_real()) {
    const double count = std::ceil((end.as<double>() - start.as<double>()) / step.as<double>());
    if (!(count < 0x1p63)) refuse();
    return static_cast<std::int64_t>(std::max(0.0, count));
  }
  const std::int64_t from = start.as<std::int64_t>(), to = end.as<std::int64_t>(), by = step.as<std::int64_t>();
  if (by > 0 ? to <= from : to >= from) return 0;
  const auto size = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
  };
  const std::uint64_t count = (by > 0 ? size(to, from) - 1 : size(from, to) - 1) / (by > 0 ? size(by, 0) : size(0, by));
  if (count >= std::uint64_t{1} << 62) refuse();
  return static_cast<std::int64_t>(count) + 1;
}

}  // namespace

Tensor empty(const Shape& shape, Options options, Where where) { return make("empty", shape, options, where); }

Tensor full(const Shape& shape, Number value, Options options, Where where) {
  return filled("full", shape, value, options, where);
}
Tensor zeros(const Shape& shape, Options options, Where where) { return filled("zeros", shape, 0, options, where); }
Tensor ones(const Shape& shape, Options options, Where where) { return filled("ones", shape, 1, options, where); }

Tensor arange(Number start, Number end, Number step, Options options, Where where) {
  const double from = start.as<double>(), by = step.as<double>();
  if (!(by != 0) || !std::isfinite(by)) throw ValueError("arange", "step must be finite and not 0", where);
  const std::int64_t count = count_of(start, end, step, where);
  const bool integer = !start.is_real() && !step.is_real();
  Tensor result = make("arange", {count}, {.dtype = integer ? int64 : float64}, where);
  for (std::int64_t i = 0; i < count; ++i) {
    if (integer)
      result.data<std::int64_t>()[i] = start.as<std::int64_t>() + i * step.as<std::int64_t>();
    else
      result.data<double>()[i] = from + static_cast<double>(i) * by;
  }
  return ready(result.to(options.dtype, where).to(options.device, where), options, where);
}

Tensor arange(std::int64_t end, Where where) { return arange(0, end, 1, {.dtype = int64}, where); }

Tensor linspace(double start, double end, std::int64_t count, Options options, Where where) {
  const Tensor all = make("linspace", {count}, {.dtype = float64}, where);
  double* values = all.data<double>();
  const double span = end - start, last = static_cast<double>(std::max<std::int64_t>(count - 1, 1));
  for (std::int64_t i = 0; i < count; ++i) {  // from both ends, so that both are exact
    const double left = static_cast<double>(i), right = static_cast<double>(count - 1 - i);
    values[i] = 2 * i < count ? start + span * left / last : end - span * right / last;
  }
  Tensor host = empty({count}, {.dtype = options.dtype}, where);
  raw::copy(host, all);
  return ready(host.to(options.device, where), options, where);
}

Tensor eye(std::int64_t n, Options options, Where where) {
  const Tensor host = filled("eye", {n, n}, 0, {.dtype = options.dtype}, where);
  raw::fill(Tensor(host.storage(), 0, {n}, {n + 1}, options.dtype), 1);
  return ready(host.to(options.device, where), options, where);
}

Tensor tensor(std::initializer_list<double> values, Options options, Where where) {
  return from_doubles(values, {static_cast<std::int64_t>(values.size())}, options, where);
}

Tensor tensor(std::initializer_list<std::initializer_list<double>> rows, Options options, Where where) {
  const std::size_t columns = rows.size() ? rows.begin()->size() : 0;
  std::vector<double> values;
  for (const auto& row : rows) {
    if (row.size() != columns)
      throw ShapeError("tensor",
                       "rows of " + std::to_string(columns) + " and " + std::to_string(row.size()) + " values", where);
    values.insert(values.end(), row);
  }
  return from_doubles(values, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)}, options,
                      where);
}

void throw_bad_count(std::size_t values, const Shape& shape, Where where) {
  throw ShapeError("tensor", std::to_string(values) + " values do not fill " + to_string(shape), where);
}

Tensor from_bytes(const void* values, DType dtype, const Shape& shape, Device device, Where where) {
  Tensor host = empty(shape, {.dtype = dtype}, where);
  if (host.numel()) std::memcpy(host.raw(), values, static_cast<std::size_t>(host.numel()) * size_of(dtype));
  return host.to(device, where);
}

namespace {

void require_floating(const char* op, DType dtype, Where where) {
  if (!is_floating(dtype)) throw DTypeError(op, std::string("draws floats, not ") + name_of(dtype), where);
}

}  // namespace

Tensor rand(const Shape& shape, Options options, Where where) {
  require_floating("rand", options.dtype, where);
  Tensor result = make("rand", shape, detached(options), where);
  fill_uniform(result, default_generator());
  return ready(std::move(result), options, where);
}

Tensor randn(const Shape& shape, Options options, Where where) {
  require_floating("randn", options.dtype, where);
  Tensor result = make("randn", shape, detached(options), where);
  fill_normal(result, default_generator());
  return ready(std::move(result), options, where);
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Options options, Where where) {
  if (low >= high)
    throw ValueError("randint", "the range from " + std::to_string(low) + " to " + std::to_string(high) + " is empty",
                     where);
  Tensor host = make("randint", shape, {.dtype = int64}, where);
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t counter = default_generator().take(4 * host.numel());
  for (std::int64_t i = 0; i < host.numel(); ++i) {
    const Words4 words = philox(default_generator().seed(), counter + static_cast<std::uint64_t>(i));
    const std::uint64_t draw = static_cast<std::uint64_t>(words.word[0]) << 32 | words.word[1];
    const auto above = static_cast<std::uint64_t>(static_cast<unsigned __int128>(draw) * span >> 64);
    host.data<std::int64_t>()[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + above);
  }
  return ready(host.to(options.dtype, where).to(options.device, where), options, where);
}

Tensor randperm(std::int64_t n, Device device, Where where) {
  if (n < 0) throw ValueError("randperm", "n is negative", where);
  return tensor(permutation(n, default_generator()), Shape{n}, device, where);
}

}  // namespace tally
