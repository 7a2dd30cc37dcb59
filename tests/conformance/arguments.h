// One case of a file, and its arguments as an op's call reads them: by place or by name, each with PyTorch's default.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <tally/core/dims.h>
#include <tally/core/tensor.h>

namespace tally::conformance {

using Json = nlohmann::json;

/// Thrown for a case that says nothing about Tally, with the reason that the report gives.
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `{shape, dtype, data}` as a tensor. Skip for a dtype that Tally does not have.
Tensor read_tensor(const Json& json, Device device);
/// A number, or "nan", "inf", "-inf".
double read_real(const Json& json);

using TensorOrNumber = std::variant<Tensor, Number>;

/// Place 0 is the case's `first`. What a call never asks for is known afterwards.
class Arguments {
 public:
  Arguments(const Json& record, std::vector<Tensor> inputs) : record_(record), inputs_(std::move(inputs)) {}

  /// Whether the argument is there and not null.
  bool has(std::size_t place, const char* name);

  Tensor tensor(std::size_t place, const char* name);
  Tensor self() { return tensor(0, "input"); }
  /// Undefined where it is missing or null.
  Tensor optional_tensor(std::size_t place, const char* name);
  std::vector<Tensor> tensors(std::size_t place, const char* name);
  TensorOrNumber operand(std::size_t place, const char* name);

  std::int64_t integer(std::size_t place, const char* name, std::optional<std::int64_t> otherwise = {});
  double real(std::size_t place, const char* name, std::optional<double> otherwise = {});
  Number number(std::size_t place, const char* name, std::optional<Number> otherwise = {});
  bool flag(std::size_t place, const char* name, bool otherwise = false);
  std::string text(std::size_t place, const char* name, const char* otherwise);
  std::optional<DType> dtype(std::size_t place, const char* name);
  /// One dim or a list; missing, null and [] are all dims.
  Dims dims(std::size_t place, const char* name);
  KeepDim keep(std::size_t place) { return flag(place, "keepdim"); }
  /// A list of integers at `place`, or all arguments from there on.
  std::vector<std::int64_t> integers(std::size_t place, const char* name);
  /// Whether the argument is of this JSON type.
  bool is_flag(std::size_t place);
  bool is_list(std::size_t place, const char* name);
  bool is_text(std::size_t place, const char* name);
  bool is_tensor(std::size_t place, const char* name);

  /// The names of what was not asked for, such as "out"; empty if all was.
  std::string unread() const;

 private:
  const Json* find(std::size_t place, const char* name);
  const Json& need(std::size_t place, const char* name);
  Tensor tensor_of(const Json& json, const char* name) const;

  const Json& record_;
  std::vector<Tensor> inputs_;
  std::set<std::size_t> read_places_;
  std::set<std::string> read_names_;
};

}  // namespace tally::conformance
