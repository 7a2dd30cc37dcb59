// One walk of the engine through a graph: from results to leaves, in descending node number.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <tally/autograd/backward.h>
#include <tally/autograd/node.h>

namespace tally::detail {

class Walk {
 public:
  Walk(BackwardOptions options, Where where) : options_(options), where_(where) {}

  /// Finds these gradients, and visits only ops that lead to one of them.
  void want(const std::vector<Tensor>& inputs);
  void run(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents);

  struct LeafGrad {
    Tensor leaf, grad;
  };
  std::vector<LeafGrad> leaves;  // that were reached, in the order they were
  std::vector<Tensor> results;   // of want()

  /// total += grad, recorded; the first contribution is stored, not added to zero.
  static void accumulate(Tensor& total, Tensor grad, Where where);

 private:
  struct Work {
    std::shared_ptr<Node> node;
    std::vector<Tensor> grads;  // one a result
  };
  struct Wanted {
    int output;
    std::size_t position;
  };

  void seed(const Tensor& output, const Tensor& cotangent);
  void send(const std::shared_ptr<Node>& node, int output, const Tensor& leaf, const Tensor& grad);
  void step(Node& node, std::vector<Tensor>& grads);
  void finish_leaves();
  std::vector<Tensor> gradients_of(Node& node, const std::vector<Tensor>& grads) const;

  // With want(): what has no path to a wanted tensor is left out.
  void find_paths(const std::vector<Tensor>& outputs);
  bool leads(const Node* node, const TensorBody* leaf) const;
  bool leads(const Edge& edge) const {
    return edge.wanted() && leads(edge.node.get(), edge.leaf.defined() ? &edge.leaf.body() : nullptr);
  }

  BackwardOptions options_;
  Where where_;
  bool everything_ = true;
  std::map<std::uint64_t, Work, std::greater<>> pending_;
  std::unordered_map<const TensorBody*, std::size_t> place_of_leaf_;
  std::unordered_map<const Node*, std::vector<Wanted>> wanted_nodes_;
  std::unordered_map<const TensorBody*, std::vector<std::size_t>> wanted_leaves_;
  std::unordered_set<const Node*> leading_;
};

}  // namespace tally::detail
