// What the struct of an elementwise op may say beside its functions (see elementwise.h).
#pragma once

#include <concepts>

#include <tally/core/hd.h>
#include <tally/core/tensor.h>

namespace tally {

/// The dtype of the result.
enum class Result : unsigned char {
  same,    // the inputs' dtype
  real,    // floating: integers and bool go in as float32
  boolean  // bool, without gradient
};

/// How the derivative is differentiated again.
enum class Curvature : unsigned char {
  unknown,  // backward under create_graph throws AutogradError
  none,     // the derivative is piecewise constant; where it is 0 nothing passes, not even an infinity
  recorded  // the derivative is written so that it also takes tensors
};

/// Which inputs a partial derivative reads.
enum class Reads : unsigned char { nothing = 0, a = 1, b = 2, both = 3 };

/// An input of a two-sided op: a tensor, or a C++ number, which takes the tensor's dtype. Lives for one call.
class Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(&tensor) {}  // NOLINT: the point of the class
  Operand(Number number) : number_(number) {}          // NOLINT
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number) : number_(number) {}  // NOLINT
  /// Which of the two it is, and that one.
  bool is_tensor() const { return tensor_ != nullptr; }
  const Tensor& tensor() const { return *tensor_; }
  Number number() const { return number_; }

 private:
  const Tensor* tensor_ = nullptr;
  Number number_ = 0;
};

namespace detail {

template <class Op> constexpr Result result_of() {
  if constexpr (requires { Op::result; })
    return Op::result;
  else
    return Result::real;
}

template <class Op> constexpr Curvature curvature_of() {
  if constexpr (requires { Op::curvature; })
    return Op::curvature;
  else
    return Curvature::unknown;
}

template <class Op> constexpr Reads da_reads() {
  if constexpr (requires { Op::da_reads; })
    return Op::da_reads;
  else
    return Reads::both;
}

template <class Op> constexpr Reads db_reads() {
  if constexpr (requires { Op::db_reads; })
    return Op::db_reads;
  else
    return Reads::both;
}

constexpr bool includes(Reads reads, Reads one) {
  return (static_cast<unsigned>(reads) & static_cast<unsigned>(one)) != 0;
}

template <class Op>
concept OpHasName = requires(const Op& op) {
  { op.name } -> std::convertible_to<const char*>;
};
template <class Op>
concept MapHasF = requires(const Op& op, float x) {
  op.f(x);
};
template <class Op>
concept ZipHasF = requires(const Op& op, float a, float b) {
  op.f(a, b);
};
template <class Op>
concept FromResult = requires(const Op op, float y) {
  op.df_of_result(y);
};
template <class Op>
concept FromInput = requires(const Op op, float x) {
  op.df(x);
};

}  // namespace detail

/// What map and zip take; the compiler shows the name of what a struct lacks.
template <class Op>
concept MapStruct = detail::OpHasName<Op> && detail::MapHasF<Op>;
template <class Op>
concept ZipStruct = detail::OpHasName<Op> && detail::ZipHasF<Op>;

}  // namespace tally
