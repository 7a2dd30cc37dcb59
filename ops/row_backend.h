// What softmax, log_softmax and layer_norm ask of a device: all rows in one kernel or one pass, where they lie as it
// takes them. For others, and the gradients on the CPU, they are composed of other ops, with the same bits.
#pragma once

#include <optional>
#include <variant>

#include <tally/ops/reduce_plan.h>
#include <tally/ops/row_ops.h>

namespace tally {

using RowOp = std::variant<rows::Softmax, rows::LogSoftmax, rows::SoftmaxBackward, rows::LogSoftmaxBackward,
                           rows::LayerNorm, rows::LayerNormBackward>;

/// Rows as they lie in memory: `n` neighbours each, in a result that is dense.
struct RowShape {
  std::int64_t rows = 0, n = 0;
};
/// None where the reduced dims are not the last ones, or one of the tensors is no even row of dense rows.
std::optional<RowShape> rows_of(const std::vector<Tensor>& inputs, const Shape& kept_shape);
/// From one of them to the next in memory, in elements.
std::int64_t row_step(const Tensor& x, const RowShape& rows);

/// out = op of `inputs`, all of one shape and dtype. `weight` and `bias` are dense, n of them in the type of the
/// arithmetic; `accumulators` (bytes) are written if defined, or read by an op that is given them.
struct RowCall {
  std::vector<Tensor> inputs;
  Tensor out;
  RowShape shape;
  Tensor weight = {}, bias = {}, accumulators = {};
};
/// False, and nothing done, where the device does not take such rows.
bool map_rows(Cuda, const RowOp& op, const RowCall& call);
bool map_rows(Cpu, const RowOp& op, const RowCall& call);

}  // namespace tally
