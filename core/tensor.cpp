#include <tally/core/tensor.h>

#include <cstring>

#include <tally/core/dims.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>
#include <tally/core/require.h>

namespace tally {
namespace {

constexpr auto kUndefined = "is undefined: assign a tensor to it first; a leaf's grad() is defined after backward";

const TensorBody& checked(const std::shared_ptr<TensorBody>& body) {
  if (!body) throw ShapeError("tensor", std::string("this tensor ") + kUndefined, {});
  return *body;
}

void require_one(const Tensor& x, Where where) {
  if (x.numel() != 1)
    throw ShapeError("item", describe(x) + " has not exactly one element; to_vector reads all, select and sum make one",
                     where);
}

}  // namespace

void detail::require_defined(const char* op, const Tensor& x, Where where) {
  if (!x.defined()) throw ShapeError(op, std::string("an input ") + kUndefined, where);
}

Tensor::Tensor(std::shared_ptr<Storage> storage, std::int64_t offset, Shape shape, Shape strides, DType dtype)
    : body_(std::make_shared<TensorBody>()) {
  body_->storage = std::move(storage);
  body_->offset = offset;
  body_->shape = shape;
  body_->strides = strides;
  body_->dtype = dtype;
}

const Shape& Tensor::shape() const { return checked(body_).shape; }
const Shape& Tensor::strides() const { return checked(body_).strides; }
DType Tensor::dtype() const { return checked(body_).dtype; }
Device Tensor::device() const { return checked(body_).storage->device(); }
const std::shared_ptr<Storage>& Tensor::storage() const { return checked(body_).storage; }
std::int64_t Tensor::offset() const { return checked(body_).offset; }
bool Tensor::requires_grad() const { return checked(body_).requires_grad; }
bool Tensor::is_leaf() const { return checked(body_).node == nullptr; }
Tensor Tensor::grad() const { return checked(body_).grad; }
void Tensor::zero_grad() const {
  checked(body_);
  body_->grad = {};
}
bool Tensor::is_unique() const { return body_.use_count() == 1 && body_->storage.use_count() == 1; }

std::int64_t Tensor::size(std::int64_t dim, Where where) const {
  if (this->dim() == 0) throw IndexError("size", "a 0-d tensor has no dims", where);
  return shape()[normalize_dim("size", dim, this->dim(), where)];
}

bool Tensor::is_contiguous() const {
  const TensorBody& body = checked(body_);
  std::int64_t expected = 1;
  for (int i = body.shape.size() - 1; i >= 0; --i) {
    if (body.shape[i] == 0) return true;
    if (body.shape[i] != 1 && body.strides[i] != expected) return false;
    expected *= body.shape[i];
  }
  return true;
}

void* Tensor::raw() const {
  const TensorBody& body = checked(body_);
  return body.storage->data() + body.offset * static_cast<std::int64_t>(size_of(body.dtype));
}

void* Tensor::data_as(DType wanted, Where where) const {
  if (dtype() != wanted)
    throw DTypeError("data",
                     std::string("the tensor is ") + name_of(dtype()) + ", not " + name_of(wanted) +
                         "; convert it with .to(" + name_of(wanted) + ")",
                     where);
  return raw();
}

double Tensor::item_real(Where where) const {
  double value = 0;
  require_one(*this, where);
  read_into(&value, float64, where);
  return value;
}

std::int64_t Tensor::item_integer(Where where) const {
  std::int64_t value = 0;
  require_one(*this, where);
  read_into(&value, int64, where);
  return value;
}

void Tensor::read_into(void* values, DType dtype, Where) const {
  Tensor host = empty(shape(), {.dtype = dtype});
  raw::copy(host, *this);
  if (numel()) std::memcpy(values, host.raw(), static_cast<std::size_t>(numel()) * size_of(dtype));
}

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  return std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape()) + " on " + name_of(tensor.device());
}

}  // namespace tally
