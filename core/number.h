// A C++ number that takes part in a tensor expression: it takes the tensor's dtype.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tally {

/// An arithmetic value of any type that remembers whether it was a bool, an integer or a real.
class Number {
 public:
  /// Integers keep 63 bits, everything else goes through double.
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Number(T value)  // NOLINT: numbers convert by themselves
      : real_(static_cast<double>(value)),
        integer_(std::is_floating_point_v<T> ? 0 : static_cast<std::int64_t>(value)),
        kind_(std::is_same_v<T, bool> ? Kind::boolean
              : std::is_integral_v<T> ? Kind::integer
                                      : Kind::real) {}

  /// What it was; only a real one makes an integer tensor floating.
  enum class Kind : unsigned char { boolean, integer, real };
  Kind kind() const { return kind_; }
  bool is_real() const { return kind_ == Kind::real; }

  /// The value as T; an integer keeps all 63 bits where T does.
  template <class T> constexpr T as() const {
    if constexpr (std::is_same_v<T, bool>)
      return real_ != 0;
    else if constexpr (std::is_integral_v<T>)
      return kind_ == Kind::real ? static_cast<T>(real_) : static_cast<T>(integer_);
    else
      return static_cast<T>(real_);
  }

 private:
  double real_;
  std::int64_t integer_;
  Kind kind_;
};

}  // namespace tally
