#include <tally/autograd/blame.h>

#include <cstring>
#include <typeinfo>

#include <tally/core/error.h>

namespace tally::detail {
namespace {

// Exactly E, so that no class of a user's own is cut down to its base.
template <class E> void throw_as(const std::exception& error, const std::string& line) {
  if (typeid(error) != typeid(E)) return;
  if constexpr (requires(const E& e) { e.op(); })
    throw E(static_cast<const E&>(error), line);
  else
    throw E(error.what() + ("\n  " + line));
}
template <class... E> void throw_as_one_of(const std::exception& error, const std::string& line) {
  (throw_as<E>(error, line), ...);
}

template <class E> bool names(const std::exception& error, const char* op, Where where) {
  const auto* known = dynamic_cast<const E*>(&error);
  return known && known->op() == op && known->where().line == where.line &&
         std::strcmp(known->where().file, where.file) == 0;
}
template <class... E> bool one_names(const std::exception& error, const char* op, Where where) {
  return (names<E>(error, op, where) || ...);
}

}  // namespace

std::string line_of(Where where) { return std::string(where.file) + ":" + std::to_string(where.line); }

void rethrow_with(const std::string& line) {
  try {
    throw;
  } catch (const std::exception& error) {
    throw_as_one_of<ShapeError, DTypeError, DeviceError, ValueError, IndexError, AutogradError, CudaError,
                    OutOfMemoryError, IoError, std::runtime_error, std::range_error, std::overflow_error,
                    std::underflow_error, std::logic_error, std::invalid_argument, std::domain_error, std::length_error,
                    std::out_of_range>(error, line);
    throw;
  }
}

void rethrow_from_backward(const char* op, Where where) {
  try {
    throw;
  } catch (const std::exception& error) {
    if (one_names<ErrorOf<std::invalid_argument>, ErrorOf<std::out_of_range>, ErrorOf<std::logic_error>,
                  ErrorOf<std::runtime_error>>(error, op, where))
      throw;
    rethrow_with(std::string("in the backward of ") + op + ", called at " + line_of(where));
  }
}

}  // namespace tally::detail
