// The safetensors file format at the level of bytes: 8 bytes little-endian length, that many bytes of JSON, then the
// tensors' bytes. https://github.com/huggingface/safetensors, section "Format".
//
// A file's claims are compared with each other and with its size before anything is allocated on their word. Every
// tensor must have a known dtype, a byte range of exactly its shape's size, and the ranges must tile the data: no
// overlap, no hole, none missing at the end. A key given twice, an unknown field, or a number that is negative or has a
// fraction is an error. Sub-byte dtypes are not supported. Errors are IoError, with the tensor's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/core/where.h>
#include <tally/nn/file.h>

namespace tally::safetensors {

inline constexpr std::uint64_t kLargestHeader = 100'000'000;  // bytes, the reference implementation's cap too

using Metadata = std::map<std::string, std::string>;

struct TensorEntry {
  std::string name;
  std::string dtype;  // "F32", "I64", ...
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes from the start of the data
};

struct Header {
  Metadata metadata;
  std::vector<TensorEntry> entries;  // in the order of their data
};

/// Bytes of one element of a dtype, 0 for a dtype the format does not know.
std::uint64_t element_size(std::string_view dtype);

/// Length of the JSON, from the file's first bytes (8 of them, fewer only where the file has fewer).
std::uint64_t header_size(std::span<const std::byte> first, std::uint64_t file_size, const FileSite& site);

/// The header of a file whose data, behind the JSON, take `data_size` bytes.
Header parse_header(std::string_view json, std::uint64_t data_size, const FileSite& site);

struct File : Header {
  std::vector<std::byte> bytes;

  /// A tensor's bytes, at any alignment: copy them, never cast their address.
  std::span<const std::byte> payload(const TensorEntry& entry) const {
    return std::span(bytes).subspan(entry.begin, entry.end - entry.begin);
  }
  /// nullptr where there is no tensor of that name.
  const TensorEntry* find(std::string_view name) const;
};

/// crc32 adds the metadata "tally.crc32", the CRC-32 of the header without it and of the data, so that a damaged file
/// is refused. It is for checkpoints: another program that copies the metadata to other weights makes it wrong.
enum class Checksum { none, crc32 };

/// A checksum that the file carries is compared, and is not among the metadata returned; `required` = crc32 also
/// refuses a file without one.
File read_file(const std::string& path, Checksum required = Checksum::none, Where where = Where::here());

struct Payload {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // little-endian, row-major
};

/// Writes atomically (nn/file.h). The tensors stand in the reference implementation's order, larger dtypes first and
/// then by name, the JSON is padded with spaces to a multiple of 8: so each tensor is aligned to its element, and the
/// file depends on the values alone. Throws DTypeError for an unknown dtype, ShapeError where shape and bytes differ,
/// and ValueError for a name that is not UTF-8 text, is given twice or is reserved ("__metadata__").
void write_file(const std::string& path, std::vector<Payload> tensors, const Metadata& metadata = {},
                Checksum checksum = Checksum::none, Where where = Where::here());

}  // namespace tally::safetensors
