// The two reductions that textbooks on CUDA begin with, kept to be measured against: float32, dense, all elements.
#pragma once

#include <tally/core/tensor.h>

namespace tally::examples {

/// One thread (of the CPU or of the device) adds up everything.
Tensor naive_sum(const Tensor& x);

/// Each block adds its threads' sums through shared memory by halving strides; an atomicAdd gathers the blocks' sums.
/// On the device; its bits depend on the order in which blocks finish.
Tensor block_sum(const Tensor& x);

}  // namespace tally::examples
