// A module is a struct that is called with a tensor. It may have
//
//   void visit(nn::Visitor& visitor);   names its parameters, buffers and parts
//   bool training = true;               for what differs between training and evaluation
//
// and nothing else: no base class, no registration. A lambda is a module too.
//
//   struct Net {
//     nn::Linear hidden{784, 256}, out{256, 10};
//     Tensor operator()(const Tensor& x) { return out(relu(hidden(x))); }
//     void visit(nn::Visitor& visitor) {
//       visitor.module("hidden", hidden);
//       visitor.module("out", out);
//     }
//   };
//
// Names are PyTorch's ("hidden.weight", "1.running_mean"), so that a state dict maps one to one.
// What takes a module is in tally::nn, what takes a tensor in tally: lookup by argument finds both.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <tally/core/tensor.h>

namespace tally::nn {

template <class M>
concept Module = requires(M& module, const Tensor& x) {
  { module(x) } -> std::convertible_to<Tensor>;
};

/// A parameter, a buffer, or what a file holds under a name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};
/// In the order of a visit, or of a file.
using NamedTensors = std::vector<NamedTensor>;

/// Parameters are trained; buffers are kept beside them, as running statistics are.
enum class Kind : unsigned char { parameter, buffer };

/// What walks a module: `on_tensor` gets each parameter and buffer with its full name, `on_flag` each training flag.
class Visitor {
 public:
  /// What is called for each tensor, and for each module that has a training flag.
  using OnTensor = std::function<void(Kind kind, const std::string& name, Tensor& tensor)>;
  using OnFlag = std::function<void(bool& training)>;
  explicit Visitor(OnTensor on_tensor, OnFlag on_flag = {})
      : on_tensor_(std::move(on_tensor)), on_flag_(std::move(on_flag)) {}

  // For a module's `visit`. A tensor that is not there (no bias) is passed over.
  void parameter(const std::string& name, Tensor& tensor) { found(Kind::parameter, name, tensor); }
  void buffer(const std::string& name, Tensor& tensor) { found(Kind::buffer, name, tensor); }
  template <class M>
  requires Module<std::remove_const_t<M>>
  void module(const std::string& name, M& part) {
    const std::size_t length = prefix_.size();
    prefix_ += name + ".";
    walk(part);
    prefix_.resize(length);
  }

  /// The module's flag, then its `visit`, where it has them.
  template <class M>
  requires Module<std::remove_const_t<M>>
  void walk(M& module) {
    using Own = std::remove_const_t<M>;
    constexpr bool has_flag = requires(Own & own) { own.training = true; };
    constexpr bool has_visit = requires(Own & own, Visitor & visitor) { own.visit(visitor); };
    static_assert(!std::is_const_v<M> || !(has_flag || has_visit),
                  "a const module cannot be walked, since its visit() hands out its tensors to be changed: give the "
                  "module itself (Net& instead of const Net&)");
    if constexpr (!std::is_const_v<M> && has_flag)
      if (on_flag_) on_flag_(module.training);
    if constexpr (!std::is_const_v<M> && has_visit) module.visit(*this);
  }

 private:
  void found(Kind kind, const std::string& name, Tensor& tensor) {
    if (on_tensor_ && tensor.defined()) on_tensor_(kind, prefix_ + name, tensor);
  }

  OnTensor on_tensor_;
  OnFlag on_flag_;
  std::string prefix_;
};

/// Any module, for one call.
class ModuleRef {
 public:
  template <class M>
  requires(Module<std::remove_cvref_t<M>> && !std::is_same_v<std::remove_cvref_t<M>, ModuleRef>)
      ModuleRef(M&& module)  // NOLINT: the point of the class
      : module_(&module), walk_([](const void* of, Visitor& visitor) {
          using Given = std::remove_reference_t<M>;
          visitor.walk(*static_cast<Given*>(const_cast<void*>(of)));
        }) {}
  /// Walks the module it stands for.
  void visit(Visitor& visitor) const { walk_(module_, visitor); }

 private:
  const void* module_;
  void (*walk_)(const void* of, Visitor& visitor);
};

/// In the order of the visit; the tensors are the module's own.
NamedTensors parameters(ModuleRef module);
NamedTensors buffers(ModuleRef module);
/// Elements of all parameters.
std::int64_t parameter_count(ModuleRef module);

/// Parameters and buffers, in the order of the visit, without history; they share memory with the module.
NamedTensors state_dict(ModuleRef module);
/// Copies `state` into the module, from any device. Throws ValueError that names every tensor that is missing,
/// unexpected or of another shape or dtype; the module is then as it was.
void load_state_dict(ModuleRef module, const NamedTensors& state, Where where = Where::here());

/// Moves parameters and buffers (or, to a dtype, the floating ones) where they are: handles that an optimizer holds see
/// it. Gradients move along.
void to(ModuleRef module, Device device, Where where = Where::here());
void to(ModuleRef module, DType dtype, Where where = Where::here());

/// Sets the training flag of every part, or clears it.
void train(ModuleRef module, bool training = true);
inline void eval(ModuleRef module) { train(module, false); }

/// Drops the gradients of all parameters.
void zero_grad(ModuleRef module);

}  // namespace tally::nn
