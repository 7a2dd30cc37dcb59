// Element types, and the visit that turns a run-time dtype into a compile-time type.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <tally/core/half.h>

namespace tally {

/// What an element is: IEEE floats of 4, 8 and 2 bytes, bfloat16 (the upper half of a float32), integers, one byte a
/// bool.
enum class DType : std::uint8_t { float32, float64, float16, bfloat16, int64, int32, uint8, boolean };

/// Short names: zeros({3}, {.dtype = float64}).
using enum DType;

/// A type as a value, for visit().
template <class T> struct TypeTag {
  /// The type itself.
  using type = T;
};

/// f(TypeTag<T>{}) for the C++ type of `dtype`.
template <class F> decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float64:
      return f(TypeTag<double>{});
    case DType::float16:
      return f(TypeTag<Float16>{});
    case DType::bfloat16:
      return f(TypeTag<BFloat16>{});
    case DType::int64:
      return f(TypeTag<std::int64_t>{});
    case DType::int32:
      return f(TypeTag<std::int32_t>{});
    case DType::uint8:
      return f(TypeTag<std::uint8_t>{});
    case DType::boolean:
      return f(TypeTag<bool>{});
    case DType::float32:
      break;
  }
  return f(TypeTag<float>{});
}

/// Whether T is a 2-byte float; any float.
template <class T> inline constexpr bool is_half_type = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T> inline constexpr bool is_float_type = std::is_floating_point_v<T> || is_half_type<T>;

/// The type arithmetic runs in: float for the 2-byte floats, int64 for integers and bool, itself for float and double.
template <class T>
using Compute = std::conditional_t<is_half_type<T>, float, std::conditional_t<is_float_type<T>, T, std::int64_t>>;

/// The dtype that holds T. Other integers of 4 and 8 bytes count as int32 and int64; anything else does not compile.
template <class T> constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::float32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::float64;
  else if constexpr (std::is_same_v<T, Float16>)
    return DType::float16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::bfloat16;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::uint8;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return DType::int32;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) == 8, "no dtype holds this type");
    return DType::int64;
  }
}

/// Whether it is one of the four floats, which alone carry gradients.
constexpr bool is_floating(DType dtype) { return dtype <= DType::bfloat16; }

/// Bytes an element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
    case DType::int64:
      return 8;
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::float16:
    case DType::bfloat16:
      return 2;
    case DType::uint8:
    case DType::boolean:
      break;
  }
  return 1;
}

/// "float32", …, and "bool" for boolean.
const char* name_of(DType dtype);

/// The dtype of an expression of both: the wider float, the wider integer, the float of a mixed pair;
/// float16 with bfloat16 gives float32.
DType promote(DType a, DType b);

}  // namespace tally
