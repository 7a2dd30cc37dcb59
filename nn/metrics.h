// What a classifier is measured by. On the tensors' device; nothing waits for it. ShapeError for shapes other than
// those below.
#pragma once

#include <tally/core/tensor.h>

namespace tally {

/// The class with the largest logit of each row of [N, C]: int64 [N].
Tensor predicted_classes(const Tensor& logits, Where where = Where::here());

/// Share of the rows whose largest logit is the target's: float32, 0-d. NaN for no rows.
Tensor accuracy(const Tensor& logits, const Tensor& target, Where where = Where::here());

/// int64 [classes, classes]; both tensors are [N]: how often each true class (row) was predicted as each class
/// (column). Both tensors hold int64 classes; IndexError for one out of range (on CUDA at the next read).
Tensor confusion_matrix(const Tensor& target, const Tensor& predicted, std::int64_t classes,
                        Where where = Where::here());

}  // namespace tally
