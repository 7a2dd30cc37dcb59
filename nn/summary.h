// A module as a table for reading.
#pragma once

#include <string>

#include <tally/nn/module.h>

namespace tally::nn {

/// One line a parameter or buffer, in the order of the visit: name, shape, dtype and number of elements, and whether it
/// is a buffer, frozen (a parameter without requires_grad), or a tensor that stands further up under another name. Then
/// the totals, where each tensor counts once, and the bytes they take.
///
///     0.weight               [256, 64]  float32   16384
///     1.running_mean         [256]      float32     256  buffer
///     ...
///     51594 parameters, 770 elements in buffers; 209456 bytes on cpu
std::string summary(ModuleRef module);

}  // namespace tally::nn
