// The graph behind a tensor as a picture, in Graphviz's language: `dot -Tsvg graph.dot -o graph.svg`.
#pragma once

#include <string>

#include <tally/core/tensor.h>

namespace tally {

/// One box an op, with the caller's line, the bytes it keeps for backward and, where a BackwardTimer ran, the time of
/// its backward; one ellipse a leaf; arrows in the
/// direction of the computation, labelled with dtype and shape. A tensor without history gives its leaf alone.
std::string to_dot(const Tensor& tensor);

}  // namespace tally
