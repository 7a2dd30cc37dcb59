// Named tensors in a safetensors file: state dicts that PyTorch and others read and write as well. Loading believes
// nothing that the file claims before it is checked (safetensors_format.h); writing leaves either the old file or the
// whole new one.
#pragma once

#include <map>
#include <string>

#include <tally/nn/module.h>

namespace tally::nn {

/// Free text by name.
using Metadata = std::map<std::string, std::string>;

/// What a file holds.
struct Safetensors {
  NamedTensors tensors;  // on the CPU
  Metadata metadata;
};

/// Throws IoError, and ValueError for a name that is given twice.
void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata = {},
                      Where where = Where::here());

/// Throws IoError for a file that is damaged or holds a dtype that Tally has not.
Safetensors load_safetensors(const std::string& path, Where where = Where::here());

namespace detail {

// The same with a checksum over everything, which loading requires.
void save_checked(const std::string& path, const NamedTensors& tensors, const Metadata& metadata, Where where);
Safetensors load_checked(const std::string& path, Where where);

}  // namespace detail
}  // namespace tally::nn
