// Elements picked by an int64 tensor of positions, in [0, size). The gradient of an element is the sum over all places
// that picked it, in the order of ops/reduction.h over the places in source order: the same bits on every device.
//
// Errors: IndexError for a position out of range, with its value and place (on CUDA at the next read), DTypeError
// unless the positions are int64, ShapeError, DeviceError.
#pragma once

#include <tally/core/tensor.h>

namespace tally {

/// The slices of `x` at positions `index` of `dim`; the dims of `index` stand in the place of `dim`. A row lookup, as
/// of embeddings, is index_select(weight, 0, index).
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index, Where where = Where::here());

/// One element of `x` for each element of `index`: at the same place, but for position index[...] of `dim`. `index` has
/// the dims of `x` and is nowhere larger, `dim` aside. A 0-d tensor counts as a vector of one.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index, Where where = Where::here());

/// [..., classes] with 1 at each label and 0 elsewhere. No gradient.
Tensor one_hot(const Tensor& labels, std::int64_t classes, DType dtype = int64, Where where = Where::here());

}  // namespace tally
