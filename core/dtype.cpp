#include <tally/core/dtype.h>

#include <algorithm>

namespace tally {

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return "float64";
    case DType::float16:
      return "float16";
    case DType::bfloat16:
      return "bfloat16";
    case DType::int64:
      return "int64";
    case DType::int32:
      return "int32";
    case DType::uint8:
      return "uint8";
    case DType::boolean:
      return "bool";
    case DType::float32:
      break;
  }
  return "float32";
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return is_floating(a) ? DType::float32
                        : DType::uint8;  // equal widths that differ: the two halves, or uint8 with bool
}

}  // namespace tally
