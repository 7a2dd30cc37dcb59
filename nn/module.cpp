#include <tally/nn/module.h>

#include <map>
#include <set>

#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>

namespace tally::nn {
namespace {

NamedTensors of_kind(ModuleRef module, Kind wanted) {
  NamedTensors found;
  Visitor visitor([&](Kind kind, const std::string& name, Tensor& tensor) {
    if (kind == wanted) found.push_back({name, tensor});
  });
  module.visit(visitor);
  return found;
}

std::string form_of(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape());
}

/// Gives the handle's body the memory of `moved`. The version counts on, so that backward sees what happened to a
/// tensor that an earlier op saved.
void rebase(const Tensor& tensor, const Tensor& moved) {
  TensorBody& body = tensor.body();
  if (moved.is_same(tensor)) return;
  const Tensor owned = moved.storage() == body.storage ? moved.clone() : moved;
  while (owned.storage()->version() <= body.storage->version()) owned.storage()->bump_version();
  body.storage = owned.storage();
  body.offset = owned.offset();
  body.shape = owned.shape();
  body.strides = owned.strides();
  body.dtype = owned.dtype();
}

template <class Target> void move_all(ModuleRef module, Target target, Where where) {
  NoGrad guard;
  std::vector<std::pair<Tensor, Tensor>> moves;
  Visitor visitor([&](Kind, const std::string&, Tensor& tensor) {
    if constexpr (std::is_same_v<Target, DType>) {
      if (!is_floating(tensor.dtype()) || tensor.dtype() == target) return;
    } else {
      if (tensor.device() == target) return;
    }
    const Tensor grad = tensor.grad();
    moves.push_back({tensor, tensor.detach().to(target, where)});
    if (grad.defined()) moves.push_back({grad, grad.detach().to(target, where)});
  });
  module.visit(visitor);
  // Whatever can fail has happened.
  for (const auto& [tensor, moved] : moves) rebase(tensor, moved);
}

}  // namespace

NamedTensors parameters(ModuleRef module) { return of_kind(module, Kind::parameter); }
NamedTensors buffers(ModuleRef module) { return of_kind(module, Kind::buffer); }

std::int64_t parameter_count(ModuleRef module) {
  std::int64_t count = 0;
  for (const NamedTensor& parameter : parameters(module)) count += parameter.tensor.numel();
  return count;
}

NamedTensors state_dict(ModuleRef module) {
  NamedTensors state;
  Visitor visitor([&](Kind, const std::string& name, Tensor& tensor) { state.push_back({name, tensor.detach()}); });
  module.visit(visitor);
  return state;
}

void load_state_dict(ModuleRef module, const NamedTensors& state, Where where) {
  std::map<std::string, Tensor> given;
  std::string problems;
  const auto complain = [&](const std::string& problem) { problems += (problems.empty() ? "" : "; ") + problem; };
  for (const NamedTensor& entry : state)
    if (!given.emplace(entry.name, entry.tensor).second) complain(entry.name + " is given twice");

  std::vector<std::pair<Tensor, Tensor>> copies;
  Visitor visitor([&](Kind, const std::string& name, Tensor& tensor) {
    const auto found = given.find(name);
    if (found == given.end()) return complain(name + " is missing");
    const Tensor source = found->second;
    given.erase(found);
    if (!source.defined())
      complain(name + " is undefined");
    else if (source.shape() != tensor.shape() || source.dtype() != tensor.dtype())
      complain(name + " is " + form_of(source) + ", the module's " + form_of(tensor));
    else
      copies.push_back({tensor, source});
  });
  module.visit(visitor);
  for (const auto& [name, tensor] : given) complain(name + " is not in the module");
  if (!problems.empty()) throw ValueError("load_state_dict", problems, where);

  NoGrad guard;
  for (const auto& [tensor, source] : copies) tensor.copy_(source, where);
}

void to(ModuleRef module, Device device, Where where) { move_all(module, device, where); }
void to(ModuleRef module, DType dtype, Where where) { move_all(module, dtype, where); }

void train(ModuleRef module, bool training) {
  Visitor visitor({}, [training](bool& flag) { flag = training; });
  module.visit(visitor);
}

void zero_grad(ModuleRef module) {
  for (const NamedTensor& parameter : parameters(module)) parameter.tensor.zero_grad();
}

}  // namespace tally::nn
