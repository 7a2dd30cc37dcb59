// Which call of Tally stands for which op of the cases. Where a default or a meaning differs from PyTorch's, the entry
// says it outright; where Tally has decided otherwise, it throws Skip with the reason.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "arguments.h"

namespace tally::conformance {

using Tensors = std::vector<Tensor>;
using Call = std::function<Tensors(Arguments&)>;
using Table = std::map<std::string, Call>;

Table elementwise_ops();
Table view_ops();
Table reductions();
Table nn_ops();

/// All of them.
const Table& ops();

}  // namespace tally::conformance
