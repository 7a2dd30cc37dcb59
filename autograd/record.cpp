#include <tally/autograd/record.h>

#include <tally/core/error.h>

namespace tally::detail {
namespace {

Tensor alias(const Tensor& tensor) {
  return Tensor(tensor.storage(), tensor.offset(), tensor.shape(), tensor.strides(), tensor.dtype());
}

}  // namespace

bool any_requires_grad(const InputList& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].requires_grad()) return true;
  return false;
}

void attach(const std::shared_ptr<Node>& node, const InputList& inputs, std::vector<Tensor>& values) {
  node->inputs.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    TensorBody& body = inputs[i].body();
    Edge& edge = node->inputs[i];
    edge.shape = body.shape;
    edge.dtype = body.dtype;
    edge.device = body.storage->device();
    edge.node = body.node;
    edge.output = body.output;
    if (!body.node && body.requires_grad) edge.leaf = inputs[i];
  }
  node->results.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    Tensor& value = values[i];
    node->results.push_back({value.shape(), value.dtype(), value.device()});
    if (!is_floating(value.dtype())) continue;  // integers carry no gradient
    value = alias(value);
    value.body().node = node;
    value.body().output = static_cast<int>(i);
    value.body().requires_grad = true;
  }
}

SavedTensor save(const SavedArgument& argument, const std::vector<Tensor>& values) {
  if (argument.tensor && !argument.tensor->defined()) return {};
  const Tensor& tensor = argument.tensor ? *argument.tensor : values[static_cast<std::size_t>(argument.output)];
  return {argument.tensor ? tensor : alias(tensor), tensor.storage()->version(), argument.output};
}

Tensor unpack(Node& node, const SavedTensor& saved, std::size_t position) {
  if (!saved.tensor.defined()) return {};
  const std::uint64_t version = saved.tensor.storage()->version();
  if (version != saved.version)
    throw AutogradError(node.name,
                        "saved tensor " + std::to_string(position) + " (" + describe(saved.tensor) +
                            ") was changed in place after this op saved it: version " + std::to_string(saved.version) +
                            " expected, " + std::to_string(version) + " found; clone it before the change",
                        node.where);
  if (saved.output < 0 || !is_floating(saved.tensor.dtype())) return saved.tensor;
  Tensor result = alias(saved.tensor);
  result.body().node = node.shared_from_this();
  result.body().output = saved.output;
  result.body().requires_grad = true;
  return result;
}

}  // namespace tally::detail
