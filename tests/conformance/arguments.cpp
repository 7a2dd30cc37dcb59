#include "arguments.h"

#include <tally/core/raw.h>
#include <limits>

namespace tally::conformance {
namespace {

DType dtype_named(const std::string& name) {
  for (DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8})
    if (name == name_of(dtype)) return dtype;
  if (name == "bool") return boolean;
  throw Skip("no dtype " + name);
}

Number read_number(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  return read_real(json);
}

}  // namespace

double read_real(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const std::string text = json.get<std::string>();
  const double infinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return infinity;
  if (text == "-inf") return -infinity;
  throw std::runtime_error("\"" + text + "\" is no number");
}

Tensor read_tensor(const Json& json, Device device) {
  const DType dtype = dtype_named(json.at("dtype").get<std::string>());
  const Shape shape(json.at("shape").get<std::vector<std::int64_t>>());
  const Json& data = json.at("data");
  const auto values = [&](auto zero, auto read) {
    std::vector<decltype(zero)> list;
    for (const Json& one : data) list.push_back(read(one));
    return tensor(list, shape);
  };
  const Tensor wide = is_floating(dtype) ? values(0.0, read_real) : values(std::int64_t{0}, [](const Json& one) {
    return one.is_boolean() ? std::int64_t{one.get<bool>()} : one.get<std::int64_t>();
  });
  return wide.to(dtype).to(device);
}

const Json* Arguments::find(std::size_t place, const char* name) {
  const Json& args = record_.at("args");
  const Json* found = nullptr;
  if (place == 0 && record_.contains("first")) {
    found = &record_["first"];
  } else if (place > 0 && place <= args.size()) {
    read_places_.insert(place);
    found = &args[place - 1];
  } else if (record_.at("kwargs").contains(name)) {
    read_names_.insert(name);
    found = &record_["kwargs"][name];
  }
  return found && !found->is_null() ? found : nullptr;
}

const Json& Arguments::need(std::size_t place, const char* name) {
  const Json* found = find(place, name);
  if (!found) throw std::runtime_error(std::string("the case has no argument ") + name);
  return *found;
}

Tensor Arguments::tensor_of(const Json& json, const char* name) const {
  if (!json.is_object() || !json.contains("tensor"))
    throw std::runtime_error(std::string("argument ") + name + " is no tensor");
  return inputs_.at(json["tensor"].get<std::size_t>());
}

bool Arguments::has(std::size_t place, const char* name) { return find(place, name) != nullptr; }

Tensor Arguments::tensor(std::size_t place, const char* name) { return tensor_of(need(place, name), name); }

Tensor Arguments::optional_tensor(std::size_t place, const char* name) {
  const Json* found = find(place, name);
  return found ? tensor_of(*found, name) : Tensor();
}

std::vector<Tensor> Arguments::tensors(std::size_t place, const char* name) {
  const Json& list = need(place, name);
  if (!list.is_array()) throw std::runtime_error(std::string("argument ") + name + " is no list of tensors");
  std::vector<Tensor> tensors;
  for (const Json& one : list) tensors.push_back(tensor_of(one, name));
  return tensors;
}

TensorOrNumber Arguments::operand(std::size_t place, const char* name) {
  const Json& json = need(place, name);
  if (json.is_object()) return tensor_of(json, name);
  return read_number(json);
}

std::int64_t Arguments::integer(std::size_t place, const char* name, std::optional<std::int64_t> otherwise) {
  const Json* found = otherwise ? find(place, name) : &need(place, name);
  if (!found) return *otherwise;
  return found->is_object() ? tensor_of(*found, name).item<std::int64_t>() : found->get<std::int64_t>();
}

double Arguments::real(std::size_t place, const char* name, std::optional<double> otherwise) {
  const Json* found = otherwise ? find(place, name) : &need(place, name);
  return found ? read_real(*found) : *otherwise;
}

Number Arguments::number(std::size_t place, const char* name, std::optional<Number> otherwise) {
  const Json* found = otherwise ? find(place, name) : &need(place, name);
  return found ? read_number(*found) : *otherwise;
}

bool Arguments::flag(std::size_t place, const char* name, bool otherwise) {
  const Json* found = find(place, name);
  return found ? found->get<bool>() : otherwise;
}

std::string Arguments::text(std::size_t place, const char* name, const char* otherwise) {
  const Json* found = find(place, name);
  return found ? found->get<std::string>() : otherwise;
}

std::optional<DType> Arguments::dtype(std::size_t place, const char* name) {
  const Json* found = find(place, name);
  if (!found) return {};
  return dtype_named(found->at("dtype").get<std::string>());
}

Dims Arguments::dims(std::size_t place, const char* name) {
  const Json* found = find(place, name);
  if (!found) return {};
  if (found->is_array()) return found->get<std::vector<std::int64_t>>();
  return found->get<std::int64_t>();
}

std::vector<std::int64_t> Arguments::integers(std::size_t place, const char* name) {
  const Json* found = find(place, name);
  if (!found) throw std::runtime_error(std::string("the case has no argument ") + name);
  if (found->is_array()) return found->get<std::vector<std::int64_t>>();
  std::vector<std::int64_t> list;
  for (std::size_t p = place; p <= record_.at("args").size(); ++p) list.push_back(integer(p, name));
  return list;
}

bool Arguments::is_flag(std::size_t place) {
  const Json& args = record_.at("args");
  return place <= args.size() && args[place - 1].is_boolean();
}

bool Arguments::is_list(std::size_t place, const char* name) {
  const Json* found = find(place, name);
  return found && found->is_array();
}

bool Arguments::is_text(std::size_t place, const char* name) {
  const Json* found = find(place, name);
  return found && found->is_string();
}

bool Arguments::is_tensor(std::size_t place, const char* name) {
  const Json* found = find(place, name);
  return found && found->is_object() && found->contains("tensor");
}

std::string Arguments::unread() const {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (std::size_t place = 1; place <= record_.at("args").size(); ++place)
    if (!read_places_.contains(place)) add("number " + std::to_string(place));
  for (const auto& [name, value] : record_.at("kwargs").items())
    if (!read_names_.contains(name)) add(name);
  return names;
}

}  // namespace tally::conformance
