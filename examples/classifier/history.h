// The history of a run as tensors, so that a checkpoint carries it: one row a step or epoch, a column a measure.
#pragma once

#include <tally/examples/support/metrics.h>
#include <tally/nn/module.h>

namespace tally::examples {

nn::NamedTensors to_tensors(const History& history);
/// Throws ValueError for tensors that are not such.
History to_history(const nn::NamedTensors& tensors);

}  // namespace tally::examples
