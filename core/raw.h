// What the core and the engine need of arithmetic, without gradient or shape rule: fill, copy, add.
// All take any strides; operands have the shape of `target`; nothing counts a version.
#pragma once

#include <tally/core/tensor.h>

namespace tally::raw {

void fill(const Tensor& target, Number value);

/// Copies and converts: any dtypes, any devices. Floats round once, to nearest even; to integers they truncate.
void copy(const Tensor& target, const Tensor& source);

/// target = a + b, all of one dtype and device.
void add(const Tensor& target, const Tensor& a, const Tensor& b);

}  // namespace tally::raw
