// The one-sided elementwise ops. Where f and df name exp, log, ... the scalar is Tally's own (core/math.h), the same
// bits on both devices; for a tensor argument lookup finds the op, which makes second derivatives whole.
#pragma once

#include <cmath>
#include <variant>

#include <tally/core/math.h>
#include <tally/ops/elementwise_op.h>

namespace tally::ops {

/// The type of a constant beside a C: a tensor takes any number.
template <class C> using Constant = std::conditional_t<std::is_arithmetic_v<C>, C, double>;

/// Integers wrap: they negate and multiply unsigned.
template <class C> TALLY_HD C negate(C x) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
  else
    return -x;
}

struct Neg {
  static constexpr auto name = "neg";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  template <class C> TALLY_HD C f(C x) const { return negate(x); }
  template <class C> TALLY_HD C df(C) const { return -1; }
};

/// NaN stays, and so does a zero's sign.
struct Sign {
  static constexpr auto name = "sign";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  template <class C> TALLY_HD C f(C x) const { return x > 0 ? C(1) : (x < 0 ? C(-1) : x); }
  template <class C> TALLY_HD C df(C) const { return 0; }
};

/// Derivative 0 at 0 and at NaN.
struct Abs {
  static constexpr auto name = "abs";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  template <class C> TALLY_HD C f(C x) const {
    if constexpr (std::is_integral_v<C>)
      return x < 0 ? negate(x) : x;
    else
      return math::abs(x);
  }
  template <class C> TALLY_HD C df(C x) const { return static_cast<C>((x > 0) - (x < 0)); }
};

struct Square {
  static constexpr auto name = "square";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::recorded;
  template <class C> TALLY_HD C f(C x) const {
    if constexpr (std::is_integral_v<C>)
      return static_cast<C>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
    else
      return x * x;
  }
  template <class C> TALLY_HD C df(const C& x) const { return 2 * x; }
};

/// Derivative 0 at 0; NaN stays.
struct Relu {
  static constexpr auto name = "relu";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  template <class C> TALLY_HD C f(C x) const { return x < 0 ? C(0) : x; }
  template <class C> TALLY_HD C df(C x) const {
    return x <= 0 ? C(0) : C(1);  // NaN: 1, as f is x there
  }
};

/// Derivative 1 on the bounds; NaN stays.
struct Clamp {
  static constexpr auto name = "clamp";
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  double low, high;
  std::int64_t integer_low, integer_high;
  template <class C> TALLY_HD C lowest() const {
    if constexpr (std::is_integral_v<C>)
      return integer_low;
    else
      return static_cast<C>(low);
  }
  template <class C> TALLY_HD C highest() const {
    if constexpr (std::is_integral_v<C>)
      return integer_high;
    else
      return static_cast<C>(high);
  }
  template <class C> TALLY_HD C f(C x) const {
    return x < lowest<C>() ? lowest<C>() : (highest<C>() < x ? highest<C>() : x);
  }
  template <class C> TALLY_HD C df(C x) const { return lowest<C>() <= x && x <= highest<C>() ? C(1) : C(0); }
};

// Steps: derivative 0. Integers stay.
struct Step {
  static constexpr auto result = Result::same;
  static constexpr auto curvature = Curvature::none;
  template <class C> TALLY_HD C df(C) const { return 0; }
};
struct Floor : Step {
  static constexpr auto name = "floor";
  template <class C> TALLY_HD C f(C x) const {
    if constexpr (std::is_integral_v<C>)
      return x;
    else
      return std::floor(x);
  }
};
struct Ceil : Step {
  static constexpr auto name = "ceil";
  template <class C> TALLY_HD C f(C x) const {
    if constexpr (std::is_integral_v<C>)
      return x;
    else
      return std::ceil(x);
  }
};
/// Halves go to the even neighbour.
struct Round : Step {
  static constexpr auto name = "round";
  template <class C> TALLY_HD C f(C x) const {
    if constexpr (std::is_integral_v<C>)
      return x;
    else
      return std::rint(x);
  }
};

struct Real {
  static constexpr auto result = Result::real;
  static constexpr auto curvature = Curvature::recorded;
};

struct Exp : Real {
  static constexpr auto name = "exp";
  template <class C> TALLY_HD C f(C x) const { return math::exp(x); }
  template <class C> TALLY_HD C df_of_result(const C& y) const { return y; }
};

struct Expm1 : Real {
  static constexpr auto name = "expm1";
  template <class C> TALLY_HD C f(C x) const { return math::expm1(x); }
  template <class C> TALLY_HD C df_of_result(const C& y) const { return y + 1; }
};

struct Log : Real {
  static constexpr auto name = "log";
  template <class C> TALLY_HD C f(C x) const { return math::log(x); }
  template <class C> TALLY_HD C df(const C& x) const { return 1 / x; }
};

struct Log1p : Real {
  static constexpr auto name = "log1p";
  template <class C> TALLY_HD C f(C x) const { return math::log1p(x); }
  template <class C> TALLY_HD C df(const C& x) const { return 1 / (x + 1); }
};

struct Sqrt : Real {
  static constexpr auto name = "sqrt";
  template <class C> TALLY_HD C f(C x) const { return math::sqrt(x); }
  template <class C> TALLY_HD C df_of_result(const C& y) const { return 1 / (y + y); }
};

struct Rsqrt : Real {
  static constexpr auto name = "rsqrt";
  template <class C> TALLY_HD C f(C x) const { return math::rsqrt(x); }
  template <class C> TALLY_HD C df_of_result(const C& y) const { return y * y * y / -2; }
};

struct Reciprocal : Real {
  static constexpr auto name = "reciprocal";
  template <class C> TALLY_HD C f(C x) const { return 1 / x; }
  template <class C> TALLY_HD C df_of_result(const C& y) const { return -(y * y); }
};

struct Sin : Real {
  static constexpr auto name = "sin";
  template <class C> TALLY_HD C f(C x) const { return math::sin(x); }
  template <class C> TALLY_HD C df(const C& x) const {
    using math::cos;
    return cos(x);
  }
};

struct Cos : Real {
  static constexpr auto name = "cos";
  template <class C> TALLY_HD C f(C x) const { return math::cos(x); }
  template <class C> TALLY_HD C df(const C& x) const {
    using math::sin;
    return -sin(x);
  }
};

struct Tanh : Real {
  static constexpr auto name = "tanh";
  template <class C> TALLY_HD C f(C x) const { return math::tanh(x); }
  template <class C> TALLY_HD C df_of_result(const C& y) const { return 1 - y * y; }
};

struct Sigmoid : Real {
  static constexpr auto name = "sigmoid";
  template <class C> TALLY_HD C f(C x) const { return math::sigmoid(x); }
  template <class C> TALLY_HD C df_of_result(const C& y) const { return y * (1 - y); }
};

struct Softplus : Real {
  static constexpr auto name = "softplus";
  template <class C> TALLY_HD C f(C x) const { return math::softplus(x); }
  template <class C> TALLY_HD C df(const C& x) const {
    using math::sigmoid;
    return sigmoid(x);
  }
};

/// x sigmoid(x).
struct Silu : Real {
  static constexpr auto name = "silu";
  template <class C> TALLY_HD C f(C x) const { return x * math::sigmoid(x); }
  template <class C> TALLY_HD C df(const C& x) const {
    using math::sigmoid;
    const C s = sigmoid(x);
    return s * (1 + x * (1 - s));
  }
};

struct Erf : Real {
  static constexpr auto name = "erf";
  template <class C> TALLY_HD C f(C x) const { return math::erf(x); }
  template <class C> TALLY_HD C df(const C& x) const {
    using math::exp;
    return Constant<C>(1.1283791670955125739) * exp(-(x * x));  // 2 / sqrt(pi)
  }
};

/// x Phi(x) with the exact error function.
struct Gelu : Real {
  static constexpr auto name = "gelu";
  template <class C> TALLY_HD C f(C x) const { return x * normal_distribution(x); }
  template <class C> TALLY_HD C df(const C& x) const {
    using math::exp;
    return normal_distribution(x) + x * exp(x * x / -2) * Constant<C>(0.39894228040143267794);  // 1 / sqrt(2 pi)
  }
  /// Phi.
  template <class C> TALLY_HD static C normal_distribution(const C& x) {
    using math::erf;
    return (erf(x * Constant<C>(0.70710678118654752440)) + 1) / 2;
  }
};

struct Isnan {
  static constexpr auto name = "isnan";
  static constexpr auto result = Result::boolean;
  template <class C> TALLY_HD bool f(C x) const {
    if constexpr (std::is_integral_v<C>)
      return false;
    else
      return math::isnan(x);
  }
};
struct Isinf {
  static constexpr auto name = "isinf";
  static constexpr auto result = Result::boolean;
  template <class C> TALLY_HD bool f(C x) const {
    if constexpr (std::is_integral_v<C>)
      return false;
    else
      return math::isinf(x);
  }
};
struct Isfinite {
  static constexpr auto name = "isfinite";
  static constexpr auto result = Result::boolean;
  template <class C> TALLY_HD bool f(C x) const {
    if constexpr (std::is_integral_v<C>)
      return true;
    else
      return math::isfinite(x);
  }
};

/// The one list: backends visit it, tests walk it.
using Unary = std::variant<Neg, Abs, Sign, Square, Relu, Clamp, Floor, Ceil, Round, Exp, Expm1, Log, Log1p, Sqrt, Rsqrt,
                           Reciprocal, Sin, Cos, Tanh, Sigmoid, Softplus, Silu, Gelu, Erf>;
/// Questions, answered by bool.
using Predicate = std::variant<Isnan, Isinf, Isfinite>;

}  // namespace tally::ops
