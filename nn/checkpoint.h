// Where a training run stands, in one safetensors file with a checksum: parameters and buffers ("model."), the
// optimizer's state ("optimizer."), the program's own tensors ("extra.") and, as metadata, the numbers below.
#pragma once

#include <tally/core/random.h>
#include <tally/nn/optimizer.h>
#include <tally/nn/safetensors.h>

namespace tally::nn {

/// Beside model and optimizer, what it takes to go on to the same bits.
struct TrainingState {
  std::int64_t epoch = 0;  // epochs done
  std::int64_t step = 0;   // steps done: the schedule's place
  std::int64_t batch = 0;  // batches done of the epoch under way: the place in its shuffle
  Generator generator{0};  // as the epoch under way found it, before it shuffled
  Metadata notes = {};     // the program's own: what it needs to go on, or to refuse to
  NamedTensors extra = {};
};

/// The old checkpoint stays until the new one is whole. Throws IoError.
void save_checkpoint(const std::string& path, ModuleRef model, const Optimizer& optimizer, const TrainingState& state,
                     Where where = Where::here());

/// Throws IoError for a file that is damaged or no checkpoint of this format and order (ops/reduction.h), ValueError
/// for one of another model or optimizer, with the names; both are then as they were.
TrainingState load_checkpoint(const std::string& path, ModuleRef model, Optimizer& optimizer,
                              Where where = Where::here());

/// The state alone, to see what a checkpoint is of before there is a model.
TrainingState peek_checkpoint(const std::string& path, Where where = Where::here());

}  // namespace tally::nn
