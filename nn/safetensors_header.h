// The JSON header of a safetensors file: its text, its dtypes and the words for errors about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tally/nn/safetensors_format.h>

namespace tally::safetensors {

inline constexpr const char* kMetadataKey = "__metadata__";

/// Place of a dtype in the reference implementation's order of writing, largest first.
std::size_t dtype_rank(std::string_view dtype);

/// False where the product does not fit.
bool byte_size(const std::vector<std::int64_t>& shape, std::uint64_t element, std::uint64_t& bytes);

/// The header as one line of JSON, unpadded. Throws ValueError for text that is not UTF-8.
std::string render_header(const Metadata& metadata, const std::vector<TensorEntry>& entries, Where where);

// Text of a file for an error's one line: nothing unprintable, nothing endless.
std::string printable(std::string_view text);
std::string in_quotes(std::string_view text);
std::string text_of(const std::vector<std::int64_t>& shape);

}  // namespace tally::safetensors
