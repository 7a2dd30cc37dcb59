// The graph behind a tensor as text, for a terminal.
#pragma once

#include <string>

#include <tally/core/tensor.h>

namespace tally {

/// One line an op, from the result down to the leaves: its name and number, what it gives, the caller's line, the bytes
/// it keeps for backward and, where a BackwardTimer ran, the time of its backward.
///
///   sum #3: float32 [], train.cpp:9, keeps 0 bytes
///   mul #2: float32 [2, 3], train.cpp:8, keeps 48 bytes
///     0: exp #1: float32 [2, 3], train.cpp:7, keeps 24 bytes
///        leaf 1: float32 [2, 3]
///     1: leaf 1, see above
///
/// An op's one input stands under it, several are indented and numbered. What has several consumers is written out
/// once. Numbers count the ops from the leaves up.
std::string to_tree(const Tensor& tensor);

}  // namespace tally
