// One conversion between any two element types: floats round once to nearest even, integers truncate and wrap.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tally/core/dtype.h>
#include <tally/core/hd.h>

namespace tally {

template <class To, class From> TALLY_HD To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (is_half_type<From>)
    return convert<To>(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>)
    return x != 0;
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    // A float outside int64 is undefined behaviour in C++; x86's answer, the smallest integer, is ours everywhere.
    return static_cast<To>(x >= From(-9223372036854775808.0) && x < From(9223372036854775808.0)
                               ? static_cast<std::int64_t>(x)
                               : INT64_MIN);
  else
    return static_cast<To>(x);
}

}  // namespace tally
