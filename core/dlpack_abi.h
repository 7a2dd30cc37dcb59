// The structs of DLPack 1, as they lie in memory: https://dmlc.github.io/dlpack/latest/c_api.html. Not for users, who
// know them from dlpack.h, and so not under its names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCudaDevice = 2 };
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

struct DeviceId {
  std::int32_t type, index;
};
struct Type {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct View {
  void* data;
  DeviceId device;
  std::int32_t ndim;
  Type dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

struct Managed {
  View tensor;
  void* context;
  void (*deleter)(Managed* self);
};

struct Version {
  std::uint32_t major, minor;
};
inline constexpr std::uint64_t kReadOnly = 1;
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned* self);
  std::uint64_t flags;
  View tensor;
};

static_assert(sizeof(View) == 48 && offsetof(View, shape) == 24 && offsetof(Managed, deleter) == 56);
static_assert(offsetof(ManagedVersioned, flags) == 24 && offsetof(ManagedVersioned, tensor) == 32);

}  // namespace tally::dlpack
