// The tensor: a handle on a strided view of typed memory that may take part in a graph.
// Copying a handle shares everything. What computes is declared here only where users expect a method.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <tally/core/device.h>
#include <tally/core/dtype.h>
#include <tally/core/number.h>
#include <tally/core/shape.h>
#include <tally/core/storage.h>
#include <tally/core/where.h>

namespace tally {

struct Hooks;
struct Node;
struct TensorBody;
struct BackwardOptions;

/// Where and of what type a factory makes its tensor.
struct Options {
  DType dtype = float32;
  Device device = cpu;
  bool requires_grad = false;
};

/// A handle; see the top of this file.
class Tensor {
 public:
  /// An undefined tensor: stands for "no tensor" and, as an upstream gradient, for zeros.
  Tensor() = default;
  /// A handle on a body that exists.
  explicit Tensor(std::shared_ptr<TensorBody> body) : body_(std::move(body)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  /// Makes this handle another's, so it has to have a name: what a function returned would go, and nothing change.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  void operator=(const Tensor&) && = delete;  // for x.grad() = g write x.set_grad(g)
  /// A view of `storage`: `offset` and `strides` in elements.
  Tensor(std::shared_ptr<Storage> storage, std::int64_t offset, Shape shape, Shape strides, DType dtype);

  /// Whether it is a tensor at all. Of one that is not, everything below throws ShapeError.
  bool defined() const { return body_ != nullptr; }
  /// Extents, and steps in elements; 0 along a broadcast dim.
  const Shape& shape() const;
  const Shape& strides() const;
  /// How many dims; 0 for a single number.
  int dim() const { return shape().size(); }
  /// Size along `dim`; negative counts from the end. IndexError out of range.
  std::int64_t size(std::int64_t dim, Where where = Where::here()) const;
  /// How many elements; 1 for a 0-d tensor.
  std::int64_t numel() const { return shape().numel(); }
  /// What an element is, and where the tensor lives.
  DType dtype() const;
  Device device() const;
  /// Whether the elements lie row-major without gaps.
  bool is_contiguous() const;
  /// The memory under this view, and where in it the first element is, in elements.
  const std::shared_ptr<Storage>& storage() const;
  std::int64_t offset() const;

  /// The first element, on the tensor's device. DTypeError if T is not the dtype.
  template <class T> T* data(Where where = Where::here()) const {
    return static_cast<T*>(data_as(dtype_of<T>(), where));
  }
  /// The first element, untyped.
  void* raw() const;

  /// The one element, converted to T; waits for the device. ShapeError unless numel() is 1.
  template <class T> T item(Where where = Where::here()) const {
    if constexpr (is_float_type<T>)
      return static_cast<T>(item_real(where));
    else
      return static_cast<T>(item_integer(where));
  }
  /// All elements in row-major order, converted to T, on the host; waits for the device.
  template <class T> std::vector<T> to_vector(Where where = Where::here()) const {
    std::vector<T> values(static_cast<std::size_t>(numel()));
    if constexpr (std::is_same_v<T, bool>) {
      const auto bytes = to_vector<std::uint8_t>(where);
      for (std::size_t i = 0; i < bytes.size(); ++i) values[i] = bytes[i] != 0;
    } else {
      read_into(values.data(), dtype_of<T>(), where);
    }
    return values;
  }

  /// The same values on `device`, or with `dtype`; this tensor itself where nothing changes. Differentiable.
  Tensor to(Device device, Where where = Where::here()) const;
  Tensor to(DType dtype, Where where = Where::here()) const;
  /// Row-major and dense; this tensor itself where it already is. Differentiable.
  Tensor contiguous(Where where = Where::here()) const;
  /// A dense copy that shares nothing. Differentiable.
  Tensor clone(Where where = Where::here()) const;

  /// Whether backward reaches this tensor.
  bool requires_grad() const;
  /// Asks for a gradient of this leaf. AutogradError on a tensor that an op made, DTypeError unless floating.
  const Tensor& requires_grad_(bool requires_grad = true, Where where = Where::here()) const;
  /// Whether no recorded op made it.
  bool is_leaf() const;
  /// The accumulated gradient of a leaf; undefined before the first backward and after zero_grad().
  Tensor grad() const;
  /// Puts a gradient there; AutogradError unless shape, dtype and device fit, and where its history holds the tensor.
  void set_grad(Tensor grad, Where where = Where::here()) const;
  /// Drops it.
  void zero_grad() const;
  /// The same values without history; shares memory and version.
  Tensor detach() const;
  /// Adds d(this)/d(leaf) to grad() of every leaf. A tensor of more than one element needs `cotangent`.
  void backward(const Tensor& cotangent = {}, Where where = Where::here()) const;
  /// The same for a tensor of one element, with options (autograd/backward.h).
  void backward(BackwardOptions options, Where where = Where::here()) const;

  // In place: values change, the version counts on. AutogradError on a tensor with a node, or on a leaf that requires
  // grad outside no_grad.
  /// ShapeError in copy_ and add_ for an operand that does not fit this tensor; copy_ converts dtypes and devices.
  const Tensor& fill_(Number value, Where where = Where::here()) const;
  const Tensor& zero_(Where where = Where::here()) const { return fill_(0, where); }
  const Tensor& copy_(const Tensor& source, Where where = Where::here()) const;
  const Tensor& add_(const Tensor& other, Number alpha = 1, Where where = Where::here()) const;
  const Tensor& mul_(Number factor, Where where = Where::here()) const;

  /// What the handle points to; the tensor must be defined.
  TensorBody& body() const { return *body_; }
  /// Whether no other handle and no other view reach this memory.
  bool is_unique() const;
  /// Whether this is the only handle; views of the same memory do not count.
  bool is_unique_handle() const { return body_.use_count() == 1; }
  /// Whether both are handles on one tensor. (== compares elements.)
  bool is_same(const Tensor& other) const { return body_ == other.body_; }

 private:
  void* data_as(DType dtype, Where where) const;
  double item_real(Where where) const;
  std::int64_t item_integer(Where where) const;
  void read_into(void* values, DType dtype, Where where) const;

  std::shared_ptr<TensorBody> body_;
};

/// What a handle points to.
struct TensorBody {
  std::shared_ptr<Storage> storage;
  std::int64_t offset = 0;
  Shape shape, strides;
  DType dtype = float32;
  bool requires_grad = false;
  int output = 0;                // which result of `node` this is
  std::shared_ptr<Node> node;    // the op that made it; null for a leaf
  Tensor grad;                   // of a leaf
  std::shared_ptr<Hooks> hooks;  // of a leaf (autograd/hook.h)
  ~TensorBody();
};

/// "float32 [3, 4] on cpu", as error messages name an operand.
std::string describe(const Tensor& tensor);

// Factories. Values are row-major. Errors: ShapeError for a negative size or one that 63 bits do not count, DeviceError
// and OutOfMemoryError from the device.

/// Uninitialised, all one value, 0, or 1.
Tensor empty(const Shape& shape, Options options = {}, Where where = Where::here());
Tensor full(const Shape& shape, Number value, Options options = {}, Where where = Where::here());
Tensor zeros(const Shape& shape, Options options = {}, Where where = Where::here());
Tensor ones(const Shape& shape, Options options = {}, Where where = Where::here());
/// start, start + step, ... below `end`, or above it for a negative step; int64 unless a number is real or a dtype is
/// given. ValueError unless the step is finite and not 0.
Tensor arange(Number start, Number end, Number step, Options options, Where where = Where::here());
/// 0 to end - 1, int64.
Tensor arange(std::int64_t end, Where where = Where::here());
/// `count` values from `start` to `end`, both included.
Tensor linspace(double start, double end, std::int64_t count, Options options = {}, Where where = Where::here());
/// The n by n matrix with ones on its diagonal.
Tensor eye(std::int64_t n, Options options = {}, Where where = Where::here());

/// Copies values. tensor({1.0, 2.0}) is float32 (a braced list of numbers takes the default); a vector keeps its type.
/// ShapeError where rows differ in length or the values do not fill the shape.
Tensor tensor(std::initializer_list<double> values, Options options = {}, Where where = Where::here());
Tensor tensor(std::initializer_list<std::initializer_list<double>> rows, Options options = {},
              Where where = Where::here());
/// What the templates below are made of.
[[noreturn]] void throw_bad_count(std::size_t values, const Shape& shape, Where where);
Tensor from_bytes(const void* values, DType dtype, const Shape& shape, Device device, Where where);
/// From a vector, in a shape, or 1-d.
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape, Device device = cpu, Where where = Where::here()) {
  if (static_cast<std::int64_t>(values.size()) != shape.numel()) throw_bad_count(values.size(), shape, where);
  return from_bytes(values.data(), dtype_of<T>(), shape, device, where);
}
template <class T> Tensor tensor(const std::vector<T>& values, Where where = Where::here()) {
  return tensor(values, Shape{static_cast<std::int64_t>(values.size())}, cpu, where);
}

/// Draws: uniform in [0, 1), standard normal, whole numbers in [low, high), a permutation of 0 to n - 1. The stream is
/// Philox of default_generator() (core/random.h); equal on CPU and CUDA. DTypeError for rand and randn of integers,
/// ValueError for an empty range or a negative n.
Tensor rand(const Shape& shape, Options options = {}, Where where = Where::here());
Tensor randn(const Shape& shape, Options options = {}, Where where = Where::here());
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Options options = {.dtype = int64},
               Where where = Where::here());
Tensor randperm(std::int64_t n, Device device = cpu, Where where = Where::here());

}  // namespace tally
