// The CUDA side of core/random.h, on cuRAND's device generator.
#pragma once

#include <tally/core/tensor.h>

namespace tally::gpu {

/// Dense floating `target`: uniforms, or normals, from counter `start` on.
void fill_random(const Tensor& target, std::uint64_t seed, std::uint64_t start, bool normal);

}  // namespace tally::gpu
