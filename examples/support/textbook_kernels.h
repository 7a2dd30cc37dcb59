// The device's half of textbook.h.
#pragma once

#include <tally/core/device.h>
#include <tally/core/tensor.h>

namespace tally::examples {

void naive_sum(Cuda, const Tensor& x, const Tensor& y);
/// Adds to y.
void block_sum(Cuda, const Tensor& x, const Tensor& y);

}  // namespace tally::examples
