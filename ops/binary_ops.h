// The two-sided elementwise ops, and the one with three inputs.
#pragma once

#include <cmath>
#include <variant>

#include <tally/core/math.h>
#include <tally/ops/elementwise_op.h>

namespace tally::ops {

// Scalars as tensors have it: integers wrap, and `where` chooses.
template <class C> TALLY_HD C plus(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class C> TALLY_HD C times(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}
template <class A, class C>
requires std::is_arithmetic_v<C> TALLY_HD C where(bool condition, A a, C b) {
  return condition ? static_cast<C>(a) : b;
}

struct Add {
  static constexpr auto name = "add";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  static constexpr auto da_reads = Reads::nothing, db_reads = Reads::nothing;
  template <class C> TALLY_HD C f(C a, C b) const { return plus(a, b); }
  template <class C> TALLY_HD C da(C, C) const { return 1; }
  template <class C> TALLY_HD C db(C, C) const { return 1; }
};

struct Sub {
  static constexpr auto name = "sub";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  static constexpr auto da_reads = Reads::nothing, db_reads = Reads::nothing;
  template <class C> TALLY_HD C f(C a, C b) const {
    if constexpr (std::is_integral_v<C>)
      return static_cast<C>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    else
      return a - b;
  }
  template <class C> TALLY_HD C da(C, C) const { return 1; }
  template <class C> TALLY_HD C db(C, C) const { return -1; }
};

struct Mul {
  static constexpr auto name = "mul";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::recorded;
  static constexpr auto da_reads = Reads::b, db_reads = Reads::a;
  template <class C> TALLY_HD C f(C a, C b) const { return times(a, b); }
  template <class A, class B> TALLY_HD B da(const A&, const B& b) const { return b; }
  template <class A, class B> TALLY_HD A db(const A& a, const B&) const { return a; }
};

struct Div {
  static constexpr auto name = "div";
  static constexpr auto result = Result::real;
  static constexpr auto curvature = Curvature::recorded;
  static constexpr auto da_reads = Reads::b, db_reads = Reads::both;
  template <class C> TALLY_HD C f(C a, C b) const { return a / b; }
  template <class A, class B> TALLY_HD auto da(const A&, const B& b) const { return 1 / b; }
  template <class A, class B> TALLY_HD auto db(const A& a, const B& b) const { return -(a / b / b); }
};

/// The quotient as a whole number, cut towards 0 or rounded down; no gradient passes. An integer over 0 is 0. Of floats
/// it is the whole number nearest to what is left when the remainder, which is exact, is taken away; so 1 / 0.1, just
/// below 10, rounds down to 9.
template <bool Down> struct WholeDiv {
  static constexpr auto name = "div";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  static constexpr auto da_reads = Reads::nothing, db_reads = Reads::nothing;
  template <class C> TALLY_HD C f(C a, C b) const {
    if constexpr (std::is_integral_v<C>)
      return whole(a, b);
    else if constexpr (!Down)
      return std::trunc(a / b);
    else {
      if (b == 0) return a / b;
      const C rest = std::fmod(a, b);
      C quotient = (a - rest) / b;
      if (rest != 0 && (rest < 0) != (b < 0)) quotient = quotient - 1;
      const C below = std::floor(quotient);
      return quotient == 0 ? math::copysign(C(0), a / b) : quotient - below > C(0.5) ? below + 1 : below;
    }
  }
  template <class C> TALLY_HD C da(C, C) const { return 0; }
  template <class C> TALLY_HD C db(C, C) const { return 0; }

 private:
  TALLY_HD static std::int64_t whole(std::int64_t a, std::int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return static_cast<std::int64_t>(std::uint64_t{0} - static_cast<std::uint64_t>(a));
    return a / b - (Down && a % b != 0 && (a < 0) != (b < 0));
  }
};
using FloorDiv = WholeDiv<true>;
using TruncDiv = WholeDiv<false>;

/// Integers: a wrapping power; one with a negative exponent is cut towards 0.
struct Pow {
  static constexpr auto name = "pow";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::recorded;
  template <class C> TALLY_HD C f(C a, C b) const {
    if constexpr (std::is_integral_v<C>)
      return integer_power(a, b);
    else
      return math::pow(a, b);
  }
  // 0 for the exponent 0, whatever the base: then the power below is a^0 = 1. As tensors, where b may be derived by, it
  // is a^-1 there, the mixed second derivative, unless that is infinite or NaN.
  template <class A, class B> TALLY_HD auto da(const A& a, const B& b) const {
    using math::pow;
    if constexpr (std::is_arithmetic_v<A> || std::is_arithmetic_v<B>)
      return b * pow(a, where(b == 0, 1, b) - 1);
    else
      return b * pow(where(b == 0, where(isfinite(1 / a), a, 1), a), b - 1);
  }
  // 0 for the base 0 and an exponent from 0 on, where the power does not depend on it; -inf below.
  template <class A, class B> TALLY_HD auto db(const A& a, const B& b) const {
    using math::log;
    using math::pow;
    if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
      return pow(a, b) * log(a == 0 && b >= 0 ? A(1) : a);
    else
      return pow(a, b) * log(where(a == 0, 1, a));  // as tensors: NaN for the -inf
  }
  TALLY_HD static std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : (base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0);
    std::uint64_t power = 1;
    for (std::uint64_t factor = static_cast<std::uint64_t>(base); exponent != 0; exponent >>= 1, factor *= factor)
      if (exponent & 1) power *= factor;
    return static_cast<std::int64_t>(power);
  }
};

/// NaN wins; -0 orders below +0. A tie gives each side half of the gradient, NaN on either side gives both the whole.
struct Maximum {
  static constexpr auto name = "maximum";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  template <class C> TALLY_HD C f(C a, C b) const {
    if constexpr (!std::is_integral_v<C>) {
      if (a != a) return a;
      if (a == b) return math::signbit(a) ? b : a;
    }
    return b < a ? a : b;
  }
  template <class C> TALLY_HD C da(C a, C b) const { return a == b ? C(0.5) : (a < b ? C(0) : C(1)); }
  template <class C> TALLY_HD C db(C a, C b) const { return da(b, a); }
};

struct Minimum {
  static constexpr auto name = "minimum";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  template <class C> TALLY_HD C f(C a, C b) const {
    if constexpr (!std::is_integral_v<C>) {
      if (a != a) return a;
      if (a == b) return math::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
  template <class C> TALLY_HD C da(C a, C b) const { return a == b ? C(0.5) : (a > b ? C(0) : C(1)); }
  template <class C> TALLY_HD C db(C a, C b) const { return da(b, a); }
};

// Comparisons; NaN compares as in C. The other two are these with the sides exchanged.
struct Compare {
  static constexpr auto result = Result::boolean;
};
struct Equal : Compare {
  static constexpr auto name = "eq";
  template <class C> TALLY_HD bool f(C a, C b) const { return a == b; }
};
struct NotEqual : Compare {
  static constexpr auto name = "ne";
  template <class C> TALLY_HD bool f(C a, C b) const { return a != b; }
};
struct Less : Compare {
  static constexpr auto name = "lt";
  template <class C> TALLY_HD bool f(C a, C b) const { return a < b; }
};
struct LessEqual : Compare {
  static constexpr auto name = "le";
  template <class C> TALLY_HD bool f(C a, C b) const { return a <= b; }
};

/// a + alpha b, what add_ does in place.
struct AddScaled {
  static constexpr auto name = "add_";
  static constexpr auto result = Result::same;
  double alpha;
  std::int64_t integer_alpha;
  template <class C> TALLY_HD C f(C a, C b) const {
    if constexpr (std::is_integral_v<C>)
      return plus(a, times(integer_alpha, b));
    else
      return a + static_cast<C>(alpha) * b;
  }
};

struct Choose {
  static constexpr auto name = "where";
  static constexpr auto result = Result::same;
  template <class Condition, class C> TALLY_HD C f(Condition condition, C a, C b) const {
    return condition != 0 ? a : b;
  }
};

/// The lists: backends visit them, tests walk them.
using Binary = std::variant<Add, Sub, Mul, Div, Pow, Maximum, Minimum, FloorDiv, TruncDiv>;
using Comparison = std::variant<Equal, NotEqual, Less, LessEqual>;

}  // namespace tally::ops
