// A node of the graph: one recorded op, with the edges its gradients leave by and the tensors backward keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tally/autograd/few.h>
#include <tally/core/tensor.h>

namespace tally {

/// Where the gradient of one input goes, and what it must look like.
struct Edge {
  std::shared_ptr<Node> node;  // the op that made the input; null for a leaf
  int output = 0;              // which of its results
  Tensor leaf;                 // the input, if it is a leaf that requires grad
  Shape shape;
  DType dtype = float32;
  Device device = cpu;
  /// Whether any gradient goes there.
  bool wanted() const { return node != nullptr || leaf.defined(); }
};

/// A tensor kept for backward, with the version it had. A result of the op itself is kept without its node, which would
/// be a cycle, and gets it back when it is handed out.
struct SavedTensor {
  Tensor tensor;
  std::uint64_t version = 0;
  int output = -1;  // which result of the op, or -1 for any other tensor
};

/// A recorded op; the closure given to record() is its backward.
struct Node : std::enable_shared_from_this<Node> {
  Node(const char* name, Where where);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Gradients of the inputs from those of the results; all upstream gradients are defined.
  virtual std::vector<Tensor> backward(const std::vector<Tensor>& grads) = 0;
  virtual std::vector<SavedTensor> saved() const = 0;
  /// Lets go of the saved tensors; a second backward then throws.
  virtual void release() = 0;

  const char* name;
  Where where;           // the caller's line
  std::uint64_t number;  // nodes are numbered as they are made: a consumer's is higher than its inputs'
  bool released = false;
  double seconds = -1;           // that backward took, where a BackwardTimer ran (autograd/timer.h)
  std::shared_ptr<Hooks> hooks;  // on the gradients of the results (autograd/hook.h)
  detail::Few<Edge, 2> inputs;
  struct Result {
    Shape shape;
    DType dtype;
    Device device;
  };
  detail::Few<Result, 1> results;
};

/// Drops a reference to a node. A long chain of nodes unlinks in a loop, not by recursion.
void drop(std::shared_ptr<Node> node) noexcept;

/// Nodes alive in the process.
std::int64_t live_nodes();

}  // namespace tally
