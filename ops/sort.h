// Order along a dim. NaN counts as the largest, -0 equals +0, and equal elements keep their order, first index first.
//
// Errors: IndexError for a dim out of range, DeviceError.
#pragma once

#include <tally/core/tensor.h>
#include <tally/ops/reduce.h>

namespace tally {

/// Smallest first, or largest.
enum class Order : unsigned char { ascending, descending };

/// int64 positions along `dim` that put `x` in order. No gradient.
Tensor argsort(const Tensor& x, std::int64_t dim = -1, Order order = Order::ascending, Where where = Where::here());

/// The elements in order, with their positions. The gradient goes back to where each came from.
ValuesAndIndices sort(const Tensor& x, std::int64_t dim = -1, Order order = Order::ascending,
                      Where where = Where::here());

}  // namespace tally
