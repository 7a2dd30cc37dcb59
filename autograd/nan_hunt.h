// Where does a NaN come from? In the scope of a NanHunt, the first op that makes one throws:
//
//   NanHunt hunt;
//   Tensor loss = mean(log(x - 1));
//   // log: made a NaN at [2] of its result, float32 [3] on cpu; no input has one
//   //     input 0: float32 [3] on cpu
//   //   at model.cpp:17
//
// An op that gets a NaN is not to blame, in backward neither: there the gradients that came and what the op had saved
// are looked at, and the message names the line of the op's forward. Watched is whatever enters the graph (record),
// also under no_grad and where nothing requires a gradient; changes in place are not.
//
// Of each thread, as no_grad is. Slow: every op's tensors are read on the host, and a device is waited for.
#pragma once

#include <vector>

#include <tally/autograd/graph_mode.h>
#include <tally/core/tensor.h>

namespace tally {

/// ValueError, for a scope, from the first op that makes a NaN of none.
struct NanHunt : detail::Switch {
  NanHunt() : Switch(&detail::GraphMode::hunt_nans, true) {}
};

struct Node;

namespace detail {

/// Throws where `values` have a NaN and `inputs`, of which some may be undefined, have none.
void hunt_forward(const char* op, const std::vector<const Tensor*>& inputs, const std::vector<const Tensor*>& values,
                  Where where);
/// The same for the gradients that the node's backward made of those of its results.
void hunt_backward(const Node& node, const std::vector<Tensor>& upstream, const std::vector<Tensor>& gradients);

}  // namespace detail
}  // namespace tally
