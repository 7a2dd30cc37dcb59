#include <tally/autograd/record.h>

#include <tally/autograd/nan_hunt.h>
#include <tally/core/error.h>

namespace tally::detail {
namespace {

Tensor alias(const Tensor& tensor) {
  return Tensor(tensor.storage(), tensor.offset(), tensor.shape(), tensor.strides(), tensor.dtype());
}

}  // namespace

bool enters_graph(const char* name, const InputList& inputs, const Tensor* values, std::size_t count, Where where) {
  const GraphMode& mode = graph_mode();
  if (mode.hunt_nans) {
    std::vector<const Tensor*> in, out;
    for (std::size_t i = 0; i < inputs.size(); ++i) in.push_back(&inputs[i]);
    for (std::size_t i = 0; i < count; ++i) out.push_back(&values[i]);
    hunt_forward(name, in, out, where);
  }
  if (!mode.record) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].body().requires_grad) return true;
  return false;
}

void attach(const std::shared_ptr<Node>& node, const InputList& inputs, Tensor* values, std::size_t count) {
  node->inputs.set_size(inputs.size());
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
  node->results.set_size(count);
  for (std::size_t i = 0; i < count; ++i) {
    Tensor& value = values[i];
    node->results[i] = {value.shape(), value.dtype(), value.device()};
    if (!is_floating(value.dtype())) continue;  // integers carry no gradient
    // A fresh value that nobody else holds becomes the result itself.
    if (!value.is_unique_handle() || value.body().requires_grad) value = alias(value);
    TensorBody& body = value.body();
    body.node = node;
    body.output = static_cast<int>(i);
    body.requires_grad = true;
  }
}

SavedTensor save(const SavedArgument& argument, const Tensor* values) {
  if (argument.tensor && !argument.tensor->defined()) return {};
  const Tensor& tensor = argument.tensor ? *argument.tensor : values[argument.output];
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
