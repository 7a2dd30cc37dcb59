// verify_op for a reduction written as a struct (ops/reduction.h): what autograd/verify.h does for functions, with
// inputs, dims and lengths chosen so that every path of the loops is taken.
//
//   Verification result = verify_op(SumOfSquares{}, [](const std::vector<double>& list) {
//     double s = 0;
//     for (double x : list) s += x * x;
//     return s;
//   });
//   if (!result) std::cout << result.explain();
//
// From a .cpp it checks the CPU; from a .cu, both devices.
#pragma once

#include <cstring>

#include <tally/autograd/verify.h>
#include <tally/ops/reduce_with.h>

namespace tally {

/// The right value of a list, by a plain loop. Not called for an empty list where the op has no identity.
using ListFunction = std::function<double(const std::vector<double>& list)>;

namespace detail {

/// What a battery of one struct is made of; `call` is reduce_with over dims.
struct ReductionUnderTest {
  std::function<Tensor(const Tensor& x, const Dims& dims)> call;
  ListFunction reference;
  bool has_identity, has_derivative, has_second;
  std::string broken_law;  // what the struct alone has shown
};
Verification verify_reduction(const ReductionUnderTest& op, VerifyOptions options, FloatMode float_mode);

template <class T> double law_value(const T& result) {
  if constexpr (requires { result.first; })
    return static_cast<double>(result.first);
  else
    return static_cast<double>(result);
}

/// identity: combine(identity, a) projects to the bits of a, for accumulators of one element and of two.
template <class Op> std::string broken_identity(const Op& op) {
  using C = double;
  if constexpr (Fold<Op, C>::has_nothing) {
    const auto nothing = Fold<Op, C>::nothing(op);
    for (const C x :
         {1.5, -0.0, 0.0, -2.25, 1e300, 1e-310, static_cast<C>(__builtin_inf()), -static_cast<C>(__builtin_inf())}) {
      const auto one = Fold<Op, C>::lift(op, x, 0), two = op.combine(one, Fold<Op, C>::lift(op, C(0.75), 1));
      for (const auto& [acc, n] : {std::pair(one, std::int64_t{1}), std::pair(two, std::int64_t{2})}) {
        const double plain = law_value(op.project(acc, n, x));
        const double with = law_value(op.project(op.combine(nothing, acc), n, x));
        if (std::memcmp(&plain, &with, sizeof plain) != 0 && (plain == plain || with == with))
          return "combine(identity, a) is not a: it gives " + std::to_string(with) + " where a gives " +
                 std::to_string(plain) + ", for the list that starts with " + std::to_string(x) +
                 (plain == 0 && with == 0 ? "; the identity of a sum is C(-0.0), and its project gives C(0) for n == 0"
                                          : "");
      }
    }
  }
  return "";
}

}  // namespace detail

/// A reduction's struct, for reduce_with: its laws too. Without `reference` values are not judged.
template <class Op, class Unit = detail::Unit>
requires(std::is_class_v<Op> && !detail::takes_tensors<Op>() && !detail::takes_list<Op>())  //
    Verification verify_op(const Op& op, ListFunction reference = nullptr, const VerifyOptions& options = {},
                           FloatMode float_mode = FloatMode::here()) {
  if constexpr (detail::check_reduction<Op>()) {
    const auto call = [op](const Tensor& x, const Dims& dims) { return reduce_with<Op, Unit>(op, x, dims); };
    constexpr bool has_second = requires(const Tensor& x, std::int64_t n) { op.gradient(x, x, x, n); };
    return detail::verify_reduction({call, std::move(reference), Fold<Op, double>::has_identity,
                                     Slope<Op, double>::exists, has_second, detail::broken_identity(op)},
                                    options, float_mode);
  } else {
    return {};
  }
}

}  // namespace tally
