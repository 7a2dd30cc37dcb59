// The engine: walks the graph from results to leaves. Descending node number is a topological order, so it is one loop.
//
// Threads: a thread may build and walk its own graph freely; two threads may walk graphs that share leaves only if they
// use grad(), which writes nothing shared. backward() on shared leaves from two threads at once is the caller's to
// lock.
//
// Errors: what a backward closure throws comes out as the class it is, with the op and the line of its forward under
// the message; an exception class of the user's own, which has no room for them, comes out unchanged. A wrong number,
// shape, dtype or device of gradients is an AutogradError that names the same.
//
// Cycles: backward with create_graph leaves in x.grad() a gradient whose history holds x, so the two keep each other
// alive until x.zero_grad(). grad() with create_graph gives the same gradient to the caller and makes no cycle.
#pragma once

#include <vector>

#include <tally/core/tensor.h>

namespace tally {

/// How the graph is walked.
struct BackwardOptions {
  bool retain_graph = false;  // keep what was saved, so that the graph can be walked again
  bool create_graph = false;  // record the walk itself, for second derivatives; implies retain_graph
};

/// Adds the gradient of the sum of outputs·cotangents to grad() of every leaf that requires grad. An undefined
/// cotangent is one, for an output of one element. All gradients are found before the first is written.
void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents = {},
              BackwardOptions options = {}, Where where = Where::here());

/// The gradients with respect to `inputs`, leaves or not, written nowhere. Undefined where no output depends on an
/// input. Only ops on a path to one of the inputs are walked, and released: the rest of the graph stays as it is.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& cotangents = {}, BackwardOptions options = {},
                         Where where = Where::here());

}  // namespace tally
