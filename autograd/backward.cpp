#include <tally/autograd/backward.h>

#include <map>

#include <tally/autograd/no_grad.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>

namespace tally {
namespace {

// Adds a contribution; the first is stored, not added to zero.
void accumulate(Tensor& slot, Tensor grad) {
  if (!slot.defined()) {
    slot = std::move(grad);
    return;
  }
  Tensor total = empty(slot.shape(), {.dtype = slot.dtype(), .device = slot.device()});
  raw::add(total, slot, grad);
  slot = record("accumulate", {slot, grad}, total, [](const Tensor& g) { return std::vector{g, g}; });
}

class Walk {
 public:
  Walk(BackwardOptions options, Where where) : options_(options), where_(where) {}

  void want(const std::vector<Tensor>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      TensorBody& body = inputs[i].body();
      if (body.node)
        wanted_nodes_[body.node->number].push_back({body.output, i});
      else
        wanted_leaves_[&body].push_back(i);
    }
    results.resize(inputs.size());
  }

  void seed(const Tensor& output, const Tensor& cotangent) {
    if (!output.defined()) throw AutogradError("backward", "an output is undefined", where_);
    if (!output.requires_grad())
      throw AutogradError("backward", describe(output) + " does not require grad and has no history", where_);
    if (!cotangent.defined() && output.numel() != 1)
      throw AutogradError("backward", describe(output) + " has more than one element: give a cotangent of its shape",
                          where_);
    Tensor start =
        cotangent.defined() ? cotangent : ones(output.shape(), {.dtype = output.dtype(), .device = output.device()});
    if (start.shape() != output.shape() || start.dtype() != output.dtype() || start.device() != output.device())
      throw AutogradError("backward", "cotangent " + describe(start) + " does not fit output " + describe(output),
                          where_);
    TensorBody& body = output.body();
    send(body.node, body.output, body.node ? Tensor() : output, start);
  }

  void run() {
    while (!pending_.empty()) {
      auto [number, work] = std::move(*pending_.begin());
      pending_.erase(pending_.begin());
      step(*work.node, work.grads);
    }
  }

  struct LeafGrad {
    Tensor leaf, grad;
  };
  std::map<TensorBody*, LeafGrad> leaves;
  std::vector<Tensor> results;  // of want()

 private:
  struct Work {
    std::shared_ptr<Node> node;
    std::vector<Tensor> grads;  // one a result
  };
  struct Wanted {
    int output;
    std::size_t position;
  };

  void send(const std::shared_ptr<Node>& node, int output, const Tensor& leaf, const Tensor& grad) {
    if (!node) {
      LeafGrad& slot = leaves[&leaf.body()];
      slot.leaf = leaf;
      accumulate(slot.grad, grad);
      if (auto found = wanted_leaves_.find(&leaf.body()); found != wanted_leaves_.end())
        for (std::size_t position : found->second) results[position] = slot.grad;
      return;
    }
    Work& work = pending_[node->number];
    if (!work.node) {
      work.node = node;
      work.grads.resize(node->results.size());
    }
    accumulate(work.grads[static_cast<std::size_t>(output)], grad);
  }

  void step(Node& node, std::vector<Tensor>& grads) {
    if (node.released)
      throw AutogradError(node.name,
                          "backward went through this op before and its saved tensors are gone; pass retain_graph "
                          "to the first backward to walk twice",
                          node.where);
    if (auto found = wanted_nodes_.find(node.number); found != wanted_nodes_.end())
      for (Wanted wanted : found->second) results[wanted.position] = grads[static_cast<std::size_t>(wanted.output)];
    for (std::size_t i = 0; i < grads.size(); ++i)
      if (!grads[i].defined()) grads[i] = zeros_like_result(node.results[i]);
    std::vector<Tensor> found = node.backward(grads);
    if (found.size() != node.inputs.size())
      throw AutogradError(node.name,
                          "backward returned " + std::to_string(found.size()) + " gradients for " +
                              std::to_string(node.inputs.size()) + " inputs",
                          node.where);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Edge& edge = node.inputs[i];
      if (!edge.wanted() || !found[i].defined()) continue;
      check(node, edge, found[i], i);
      send(edge.node, edge.output, edge.leaf, found[i]);
    }
    if (!options_.retain_graph && !options_.create_graph) node.release();
  }

  static Tensor zeros_like_result(const Node::Result& result) {
    Tensor zero = zeros({}, {.dtype = result.dtype, .device = result.device});
    Shape strides = result.shape;
    for (int i = 0; i < strides.size(); ++i) strides[i] = 0;
    return Tensor(zero.storage(), 0, result.shape, strides, result.dtype);
  }

  // The one door every gradient passes.
  static void check(const Node& node, const Edge& edge, const Tensor& grad, std::size_t input) {
    if (grad.shape() == edge.shape && grad.dtype() == edge.dtype && grad.device() == edge.device) return;
    throw AutogradError(node.name,
                        "backward returned " + describe(grad) + " as the gradient of input " + std::to_string(input) +
                            ", which is " + name_of(edge.dtype) + " " + to_string(edge.shape) + " on " +
                            name_of(edge.device) +
                            (grad.shape() == edge.shape ? "" : "; an input that was broadcast needs sum_to its shape"),
                        node.where);
  }

  BackwardOptions options_;
  Where where_;
  std::map<std::uint64_t, Work, std::greater<>> pending_;
  std::map<std::uint64_t, std::vector<Wanted>> wanted_nodes_;
  std::map<TensorBody*, std::vector<std::size_t>> wanted_leaves_;
};

void start(Walk& walk, const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents, Where where) {
  if (!cotangents.empty() && cotangents.size() != outputs.size())
    throw AutogradError(
        "backward",
        std::to_string(cotangents.size()) + " cotangents for " + std::to_string(outputs.size()) + " outputs", where);
  for (std::size_t i = 0; i < outputs.size(); ++i) walk.seed(outputs[i], cotangents.empty() ? Tensor() : cotangents[i]);
  walk.run();
}

// A leaf's gradient is dense and shares no bytes: not with a cotangent, nor with another leaf's.
Tensor own(Tensor&& grad, Where where) {
  const bool dense =
      grad.is_contiguous() && grad.storage()->bytes() == static_cast<std::size_t>(grad.numel()) * size_of(grad.dtype());
  return dense && grad.is_unique() ? std::move(grad) : grad.clone(where);
}

}  // namespace

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents, BackwardOptions options,
              Where where) {
  Walk walk(options, where);
  GradMode mode(options.create_graph);
  start(walk, outputs, cotangents, where);
  for (auto& [body, slot] : walk.leaves) {
    Tensor total = body->grad;
    accumulate(total, std::move(slot.grad));
    slot.grad = own(std::move(total), where);
  }
  for (auto& [body, slot] : walk.leaves) body->grad = std::move(slot.grad);
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& cotangents, BackwardOptions options, Where where) {
  for (const Tensor& input : inputs)
    if (!input.defined() || !input.requires_grad())
      throw AutogradError("grad", "an input does not require grad", where);
  Walk walk(options, where);
  walk.want(inputs);
  GradMode mode(options.create_graph);
  start(walk, outputs, cotangents, where);
  walk.leaves.clear();
  // Nothing that a caller may change in place shares memory with a cotangent or another gradient.
  for (Tensor& result : walk.results)
    if (result.defined() && result.is_leaf() && !result.is_unique()) result = result.clone(where);
  return std::move(walk.results);
}

}  // namespace tally
