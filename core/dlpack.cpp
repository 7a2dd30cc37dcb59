#include <tally/core/dlpack.h>

#include <memory>
#include <string>

#include <tally/core/cuda/device.h>
#include <tally/core/dlpack_abi.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>

namespace tally {
namespace {

using namespace dlpack;

constexpr DType kDTypes[] = {float32, float64, float16, bfloat16, int64, int32, uint8, boolean};

Type type_of(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  const TypeCode code = dtype == boolean     ? kBool
                        : dtype == bfloat16  ? kBfloat
                        : dtype == uint8     ? kUInt
                        : is_floating(dtype) ? kFloat
                                             : kInt;
  return {code, bits, 1};
}

DType dtype_of(Type type, Where where) {
  for (const DType dtype : kDTypes) {
    const Type ours = type_of(dtype);
    if (ours.code == type.code && ours.bits == type.bits && type.lanes == 1) return dtype;
  }
  const char* names[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  std::string name = (type.code < std::size(names) ? names[type.code] : "type " + std::to_string(type.code) + " of ") +
                     std::to_string(type.bits);
  if (type.lanes != 1) name += " in vectors of " + std::to_string(type.lanes);
  throw DTypeError("from_dlpack",
                   name + " is none of float32, float64, float16, bfloat16, int64, int32, uint8 and boolean", where);
}

Device device_of(DeviceId id, Where where) {
  if (id.type == kCpu) return Device::cpu;
  if (id.type != kCudaDevice || id.index != 0)
    throw DeviceError("from_dlpack",
                      "memory on device " + std::to_string(id.type) + ":" + std::to_string(id.index) +
                          " of DLPack's list; only the CPU (1) and the first CUDA device (2:0) are possible",
                      where);
  if (!is_available(Device::cuda))
    throw DeviceError("from_dlpack", "memory on cuda, which is not available here", where);
  return Device::cuda;
}

void wait_for(Device device) {
  if constexpr (kHasCuda)
    if (device == Device::cuda) gpu::wait_for_device();
}

struct Layout {
  Shape shape, strides;
  std::int64_t lowest = 0, span = 0;  // elements: of the one that lies first, from it to the end of the last

  Layout(const View& view, Where where) {
    if (view.ndim < 0 || view.ndim > kMaxDims)
      throw ShapeError("from_dlpack",
                       std::to_string(view.ndim) + " dims; from 0 to " + std::to_string(kMaxDims) + " are possible",
                       where);
    if (view.ndim > 0 && !view.shape) throw ValueError("from_dlpack", "the shape is null", where);
    shape = Shape(view.shape, static_cast<std::size_t>(view.ndim));
    for (const std::int64_t size : shape)
      if (size < 0) throw ShapeError("from_dlpack", to_string(shape) + " has a negative size", where);
    std::int64_t count = 1;
    bool overflows = false, nothing = false;
    for (const std::int64_t size : shape) {
      overflows |= __builtin_mul_overflow(count, size, &count);
      nothing |= size == 0;
    }
    if (overflows && !nothing)
      throw ShapeError("from_dlpack", to_string(shape) + " has more elements than 63 bits count", where);
    strides = contiguous_strides(shape);
    if (nothing) return;
    std::int64_t last = 0;
    for (int d = 0; view.strides && d < shape.size(); ++d) {
      if (shape[d] == 1) continue;  // where nothing steps, anything may stand
      strides[d] = view.strides[d];
    }
    for (int d = 0; d < shape.size(); ++d) {
      std::int64_t reach = 0;
      std::int64_t& end = strides[d] < 0 ? lowest : last;
      if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) || __builtin_add_overflow(end, reach, &end))
        throw ShapeError("from_dlpack", "strides " + to_string(strides) + " reach beyond 63 bits", where);
    }
    if (__builtin_sub_overflow(last, lowest, &span) || __builtin_add_overflow(span, 1, &span) ||
        span > (INT64_MAX >> 4))
      throw ShapeError("from_dlpack", "strides " + to_string(strides) + " reach beyond 63 bits", where);
  }
};

/// Runs the deleter when the last owner goes; kernels may still read device memory then. Also where it throws itself.
template <class Source> std::shared_ptr<Source> own(Source* source) {
  return std::shared_ptr<Source>(source, [](Source* source) {
    if (source->tensor.device.type == kCudaDevice) wait_for(Device::cuda);
    if (source->deleter) source->deleter(source);
  });
}

Tensor share(const View& view, bool read_only, std::shared_ptr<void> owner, bool copy, Where where) {
  const DType dtype = dtype_of(view.dtype, where);
  const Device device = device_of(view.device, where);
  const Layout layout(view, where);
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  auto* first = static_cast<std::byte*>(view.data) + (view.data ? view.byte_offset : 0);
  if (!view.data && layout.span > 0) throw ValueError("from_dlpack", "the data is null", where);
  if (reinterpret_cast<std::uintptr_t>(first) % size_of(dtype) != 0)
    throw ValueError("from_dlpack", std::string("the memory is not aligned to ") + name_of(dtype), where);
  if (!copy && read_only)
    throw ValueError("from_dlpack", "the memory is read-only, a tensor is not; from_dlpack(x, {.copy = true}) copies",
                     where);
  if (!copy && layout.lowest < 0)
    throw ValueError("from_dlpack",
                     "strides " + to_string(layout.strides) +
                         " walk backwards; from_dlpack(x, {.copy = true}) copies, so does making it contiguous there",
                     where);
  wait_for(device);
  const auto storage =
      Storage::borrow(first ? first + layout.lowest * size : nullptr, static_cast<std::size_t>(layout.span * size),
                      device, [owner = std::move(owner)]() mutable { owner.reset(); });
  const Tensor shared(storage, -layout.lowest, layout.shape, layout.strides, dtype);
  if (!copy) return shared;
  Tensor copied = empty(layout.shape, {.dtype = dtype, .device = device}, where);
  raw::copy(copied, shared);
  return copied;
}

/// What a struct of ours points to.
template <class Managed> struct Export {
  Managed managed{};
  std::shared_ptr<Storage> storage;
  Shape shape, strides;
};

template <class Managed> Managed* lend(const Tensor& x, Where where) {
  if (!x.defined()) throw ShapeError("to_dlpack", "this tensor is undefined", where);
  if (x.requires_grad()) throw AutogradError("to_dlpack", describe(x) + " requires grad; export x.detach()", where);
  auto lent = std::make_unique<Export<Managed>>();
  lent->storage = x.storage();
  lent->shape = x.shape();
  lent->strides = x.strides();
  View& view = lent->managed.tensor;
  view.data = x.raw();
  view.device = {x.device() == Device::cpu ? kCpu : kCudaDevice, 0};
  view.ndim = x.dim();
  view.dtype = type_of(x.dtype());
  view.shape = &lent->shape[0];
  view.strides = &lent->strides[0];
  lent->managed.context = lent.get();
  lent->managed.deleter = [](Managed* self) { delete static_cast<Export<Managed>*>(self->context); };
  wait_for(x.device());
  return &lent.release()->managed;
}

}  // namespace

Tensor from_dlpack(DLManagedTensorVersioned* managed, DLPackImport options, Where where) {
  auto* source = reinterpret_cast<ManagedVersioned*>(managed);
  if (!source) throw ValueError("from_dlpack", "the struct is null", where);
  if (source->version.major != 1) {  // nothing but the deleter lies where it lies in version 1
    const std::string version = std::to_string(source->version.major) + "." + std::to_string(source->version.minor);
    if (source->deleter) source->deleter(source);
    throw ValueError("from_dlpack", "a struct of DLPack " + version + "; versions 1.x are known", where);
  }
  return share(source->tensor, source->flags & kReadOnly, own(source), options.copy, where);
}

Tensor from_dlpack(DLManagedTensor* managed, DLPackImport options, Where where) {
  auto* source = reinterpret_cast<Managed*>(managed);
  if (!source) throw ValueError("from_dlpack", "the struct is null", where);
  return share(source->tensor, false, own(source), options.copy, where);
}

DLManagedTensorVersioned* to_dlpack(const Tensor& x, Where where) {
  ManagedVersioned* lent = lend<ManagedVersioned>(x, where);
  lent->version = {1, 0};
  return reinterpret_cast<DLManagedTensorVersioned*>(lent);
}

DLManagedTensor* to_dlpack_unversioned(const Tensor& x, Where where) {
  return reinterpret_cast<DLManagedTensor*>(lend<Managed>(x, where));
}

}  // namespace tally
