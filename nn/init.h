// Initial values of parameters, in place, from uniforms: equal on CPU and CUDA for an equal generator.
// `fan_in` is the number of inputs of one output, the second size of a weight [out, in, ...] times what follows it;
// `fan_out` the first times what follows the second. ShapeError for a tensor of fewer than two dims.
#pragma once

#include <tally/core/random.h>
#include <tally/core/tensor.h>

namespace tally {

/// Uniform between `low` and `high`, of any shape. ValueError unless low <= high.
const Tensor& uniform_(const Tensor& tensor, double low, double high, Generator& generator = default_generator(),
                       Where where = Where::here());

/// Uniform in +-sqrt(6 / ((1 + a^2) fan_in)): variances pass a leaky ReLU of slope `a`, 0 a ReLU.
/// He, Zhang, Ren, Sun: Delving Deep into Rectifiers, ICCV 2015.
const Tensor& kaiming_uniform_(const Tensor& tensor, double a = 0, Generator& generator = default_generator(),
                               Where where = Where::here());

/// Uniform in +-gain sqrt(6 / (fan_in + fan_out)).
/// Glorot, Bengio: Understanding the difficulty of training deep feedforward neural networks, AISTATS 2010.
const Tensor& xavier_uniform_(const Tensor& tensor, double gain = 1, Generator& generator = default_generator(),
                              Where where = Where::here());

}  // namespace tally
