#include <tally/autograd/walk.h>

#include <algorithm>
#include <chrono>

#include <tally/autograd/blame.h>
#include <tally/autograd/hook.h>
#include <tally/autograd/nan_hunt.h>
#include <tally/autograd/record.h>
#include <tally/core/cuda/device.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>

namespace tally::detail {
namespace {

Tensor zeros_like_result(const Node::Result& result) {
  Tensor zero = zeros({}, {.dtype = result.dtype, .device = result.device});
  Shape strides = result.shape;
  for (int i = 0; i < strides.size(); ++i) strides[i] = 0;
  return Tensor(zero.storage(), 0, result.shape, strides, result.dtype);
}

bool broadcasts(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (int d = 1; d <= from.size(); ++d)
    if (from[from.size() - d] != to[to.size() - d] && from[from.size() - d] != 1) return false;
  return true;
}

// What a gradient of the wrong shape lacks.
const char* shape_hint(const Shape& input, const Shape& grad) {
  if (input == grad) return "";
  if (broadcasts(input, grad)) return "; an input that was broadcast needs sum_to its shape";
  if (broadcasts(grad, input)) return "; expand it to that shape";
  return "";
}

// The one door every gradient passes.
void check(const Node& node, const Edge& edge, const Tensor& grad, std::size_t input) {
  if (grad.shape() == edge.shape && grad.dtype() == edge.dtype && grad.device() == edge.device) return;
  throw AutogradError(node.name,
                      "backward returned " + describe(grad) + " as the gradient of input " + std::to_string(input) +
                          ", which is " + name_of(edge.dtype) + " " + to_string(edge.shape) + " on " +
                          name_of(edge.device) + shape_hint(edge.shape, grad.shape()),
                      node.where);
}

void wait_for(const std::vector<Tensor>& grads) {
  for (const Tensor& grad : grads)
    if (grad.defined() && grad.device() == Device::cuda) {
      if constexpr (kHasCuda) gpu::synchronize();
      return;
    }
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void Walk::accumulate(Tensor& total, Tensor grad, Where where) {
  if (!total.defined()) {
    total = std::move(grad);
    return;
  }
  Tensor sum = empty(total.shape(), {.dtype = total.dtype(), .device = total.device()}, where);
  raw::add(sum, total, grad);
  total = record(
      "accumulate", {total, grad}, std::move(sum),
      [](const Tensor& g) {
        return std::vector{g, g};
      },
      where);
}

void Walk::want(const std::vector<Tensor>& inputs) {
  everything_ = false;
  results.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorBody& body = inputs[i].body();
    if (body.node)
      wanted_nodes_[body.node.get()].push_back({body.output, i});
    else
      wanted_leaves_[&body].push_back(i);
  }
}

bool Walk::leads(const Node* node, const TensorBody* leaf) const {
  return everything_ || (node ? leading_.count(node) : wanted_leaves_.count(leaf)) > 0;
}

// Collects the graph above the outputs, then decides in ascending number: inputs before their consumers.
void Walk::find_paths(const std::vector<Tensor>& outputs) {
  std::uint64_t lowest = wanted_leaves_.empty() ? ~std::uint64_t{} : 0;
  for (const auto& [node, wanted] : wanted_nodes_) lowest = std::min(lowest, node->number);
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> nodes;
  const auto visit = [&](const Node* node) {
    if (node && node->number >= lowest && seen.insert(node).second) nodes.push_back(node);
  };
  for (const Tensor& output : outputs) visit(output.body().node.get());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const Edge& edge : nodes[i]->inputs) visit(edge.node.get());
  std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->number < b->number; });
  for (const Node* node : nodes)
    if (wanted_nodes_.count(node) ||
        std::any_of(node->inputs.begin(), node->inputs.end(), [&](const Edge& edge) { return leads(edge); }))
      leading_.insert(node);
}

void Walk::run(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents) {
  if (!cotangents.empty() && cotangents.size() != outputs.size())
    throw AutogradError(
        "backward",
        std::to_string(cotangents.size()) + " cotangents for " + std::to_string(outputs.size()) + " outputs", where_);
  for (const Tensor& output : outputs)
    if (!output.defined()) throw AutogradError("backward", "an output is undefined", where_);
  if (!everything_) find_paths(outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) seed(outputs[i], cotangents.empty() ? Tensor() : cotangents[i]);
  while (!pending_.empty()) {
    auto [number, work] = std::move(*pending_.begin());
    pending_.erase(pending_.begin());
    step(*work.node, work.grads);
  }
  finish_leaves();
}

void Walk::seed(const Tensor& output, const Tensor& cotangent) {
  if (!output.requires_grad())
    throw AutogradError("backward",
                        describe(output) +
                            " does not require grad and has no history: nothing behind it requires grad, its op has "
                            "no gradient, or it was made by detach or under no_grad",
                        where_);
  if (!cotangent.defined() && output.numel() != 1)
    throw AutogradError(
        "backward",
        describe(output) + " has not one element: make one of it, as sum does, or give a cotangent of its shape",
        where_);
  Tensor start =
      cotangent.defined() ? cotangent : ones(output.shape(), {.dtype = output.dtype(), .device = output.device()});
  if (start.shape() != output.shape() || start.dtype() != output.dtype() || start.device() != output.device())
    throw AutogradError("backward", "cotangent " + describe(start) + " does not fit output " + describe(output),
                        where_);
  const TensorBody& body = output.body();
  send(body.node, body.output, body.node ? Tensor() : output, start);
}

void Walk::send(const std::shared_ptr<Node>& node, int output, const Tensor& leaf, const Tensor& grad) {
  if (!leads(node.get(), node ? nullptr : &leaf.body())) return;
  if (!node) {
    const auto [found, is_new] = place_of_leaf_.emplace(&leaf.body(), leaves.size());
    if (is_new) leaves.push_back({leaf, Tensor()});
    return accumulate(leaves[found->second].grad, grad, where_);
  }
  Work& work = pending_[node->number];
  if (!work.node) {
    work.node = node;
    work.grads.resize(node->results.size());
  }
  accumulate(work.grads[static_cast<std::size_t>(output)], grad, where_);
}

void Walk::step(Node& node, std::vector<Tensor>& grads) {
  if (node.hooks)
    for (std::size_t i = 0; i < grads.size(); ++i)
      grads[i] = run_hooks(node.hooks, static_cast<int>(i), std::move(grads[i]));
  if (!everything_) {
    if (const auto found = wanted_nodes_.find(&node); found != wanted_nodes_.end())
      for (const Wanted wanted : found->second)
        results[wanted.position] = grads[static_cast<std::size_t>(wanted.output)];
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](const Edge& edge) { return leads(edge); })) return;
  }
  if (node.released)
    throw AutogradError(node.name,
                        "backward went through this op before and its saved tensors are gone; pass retain_graph "
                        "to the first backward to walk twice",
                        node.where);
  for (std::size_t i = 0; i < grads.size(); ++i)
    if (!grads[i].defined()) grads[i] = zeros_like_result(node.results[i]);
  const std::vector<Tensor> found = gradients_of(node, grads);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Edge& edge = node.inputs[i];
    if (!edge.wanted() || !found[i].defined()) continue;
    check(node, edge, found[i], i);
    send(edge.node, edge.output, edge.leaf, found[i]);
  }
  if (!options_.retain_graph && !options_.create_graph) node.release();
}

std::vector<Tensor> Walk::gradients_of(Node& node, const std::vector<Tensor>& grads) const {
  const GraphMode mode = graph_mode();
  const double start = mode.time ? seconds_now() : 0;
  std::vector<Tensor> found;
  try {
    Switch whole(&GraphMode::hunt_nans, false);  // the op answers for what its closure computes
    found = node.backward(grads);
  } catch (...) {
    rethrow_from_backward(node.name, node.where);
  }
  if (mode.time) {
    wait_for(found);
    node.seconds = seconds_now() - start;
  }
  if (found.size() != node.inputs.size())
    throw AutogradError(node.name,
                        "backward returned " + std::to_string(found.size()) + " gradients for " +
                            std::to_string(node.inputs.size()) + " inputs",
                        node.where);
  if (mode.hunt_nans) hunt_backward(node, grads, found);
  return found;
}

void Walk::finish_leaves() {
  for (LeafGrad& one : leaves) {
    one.grad = run_hooks(one.leaf.body().hooks, 0, std::move(one.grad));
    if (const auto found = wanted_leaves_.find(&one.leaf.body()); found != wanted_leaves_.end())
      for (const std::size_t position : found->second) results[position] = one.grad;
  }
}

}  // namespace tally::detail
