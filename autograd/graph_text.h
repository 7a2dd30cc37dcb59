// How drawings of the graph write its parts down.
#pragma once

#include <string>

#include <tally/autograd/node.h>

namespace tally::detail {

/// "float32 [2, 3]".
std::string kind_of(DType dtype, const Shape& shape);
/// "model.cpp:17", without the folders.
std::string file_of(Where where);
/// "keeps 36 bytes" or "released".
std::string keeping_of(const Node& node);
/// "12.5 us" of backward; empty where it was not measured.
std::string time_of(const Node& node);

}  // namespace tally::detail
