// The errors Tally throws. Each derives from the standard family a C++ user would catch, and each text has one layout:
// "op: what is wrong", then operands with shape, dtype and device, the caller's file and line, and a hint where one
// helps.
#pragma once

#include <stdexcept>
#include <string>

#include <tally/core/where.h>

namespace tally {

namespace detail {
std::string layout(const std::string& op, const std::string& text, Where where);
}

/// An error of the standard family `Base` that also knows the op it came from and the caller's line.
template <class Base> class ErrorOf : public Base {
 public:
  /// "op: text", with the caller's line under it where there is one.
  ErrorOf(std::string op, const std::string& text, Where where)
      : Base(detail::layout(op, text, where)), op_(std::move(op)), where_(where) {}
  /// The same error with a further line of text, such as the op in whose backward it was thrown.
  ErrorOf(const ErrorOf& error, const std::string& line)
      : Base(error.what() + ("\n  " + line)), op_(error.op_), where_(error.where_) {}
  /// The op's name and the caller's line.
  const std::string& op() const noexcept { return op_; }
  Where where() const noexcept { return where_; }

 private:
  std::string op_;
  Where where_;
};

// One class each, so that a user catches by meaning; the base says which standard handler also catches it.
struct ShapeError : ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
struct DTypeError : ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
struct DeviceError : ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
struct ValueError : ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
struct IndexError : ErrorOf<std::out_of_range> {
  using ErrorOf::ErrorOf;
};
struct AutogradError : ErrorOf<std::logic_error> {
  using ErrorOf::ErrorOf;
};
struct CudaError : ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
struct OutOfMemoryError : ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
struct IoError : ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};

}  // namespace tally
