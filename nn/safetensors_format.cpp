#include <tally/nn/safetensors_format.h>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include <tally/core/error.h>
#include <tally/nn/safetensors_header.h>

namespace tally::safetensors {

namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and bytes are copied as they are");

constexpr const char* kChecksum = "tally.crc32";

// Over everything the file says and holds, but not over how its JSON is spaced and ordered.
std::string crc32_of(const Metadata& metadata, std::vector<TensorEntry> entries,
                     const std::vector<std::span<const std::byte>>& data, Where where) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const std::string header = render_header(metadata, entries, where);
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
  for (const auto& bytes : data)
    if (!bytes.empty()) crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08lx", crc);
  return text.data();
}

void check_crc32(File& file, Checksum required, const FileSite& site) {
  const auto found = file.metadata.find(kChecksum);
  if (found == file.metadata.end()) {
    if (required == Checksum::crc32) site.fail("carries no checksum, expected one in its metadata");
    return;
  }
  const std::string expected = found->second;
  file.metadata.erase(found);
  const std::string crc = crc32_of(file.metadata, file.entries, {file.bytes}, site.where);
  if (crc != expected) site.fail("is damaged: its CRC-32 is " + crc + ", expected " + in_quotes(expected));
}

void check_payload(const Payload& tensor, Where where) {
  const std::string op = "save_safetensors";
  const std::uint64_t element = element_size(tensor.dtype);
  std::uint64_t bytes = 0;
  if (element == 0)
    throw DTypeError(op, "tensor " + in_quotes(tensor.name) + " has the unknown dtype " + in_quotes(tensor.dtype),
                     where);
  const bool negative =
      std::any_of(tensor.shape.begin(), tensor.shape.end(), [](std::int64_t size) { return size < 0; });
  if (negative || !byte_size(tensor.shape, element, bytes) || bytes != tensor.bytes.size())
    throw ShapeError(op,
                     "tensor " + in_quotes(tensor.name) + " of " + tensor.dtype + " " + text_of(tensor.shape) +
                         " comes with " + std::to_string(tensor.bytes.size()) + " bytes",
                     where);
}

std::vector<TensorEntry> lay_out(std::vector<Payload>& tensors, Where where) {
  const auto place = [](const Payload& tensor) {
    return std::pair(dtype_rank(tensor.dtype), std::string_view(tensor.name));
  };
  std::sort(tensors.begin(), tensors.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  std::set<std::string_view> names{kMetadataKey};
  std::vector<TensorEntry> entries;
  std::uint64_t at = 0;
  for (const Payload& tensor : tensors) {
    check_payload(tensor, where);
    if (!names.insert(tensor.name).second)
      throw ValueError("save_safetensors", "the name " + in_quotes(tensor.name) + " is reserved or given twice", where);
    entries.push_back({tensor.name, tensor.dtype, tensor.shape, at, at + tensor.bytes.size()});
    at += tensor.bytes.size();
  }
  return entries;
}

}  // namespace

std::uint64_t header_size(std::span<const std::byte> first, std::uint64_t file_size, const FileSite& site) {
  if (first.size() < 8 || file_size < 8)
    site.fail("cut short: " + std::to_string(file_size) + " bytes, expected 8 for the header's length");
  std::uint64_t size = 0;
  std::memcpy(&size, first.data(), sizeof size);
  if (size > file_size - 8)
    site.fail("the header's length is given as " + std::to_string(size) + ", but " + std::to_string(file_size - 8) +
              " bytes follow it");
  if (size > kLargestHeader)
    site.fail("the header's length is given as " + std::to_string(size) + ", more than the " +
              std::to_string(kLargestHeader) + " allowed");
  return size;
}

const TensorEntry* File::find(std::string_view name) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const TensorEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

File read_file(const std::string& path, Checksum required, Where where) {
  const FileSite site{"load_safetensors", path, where};
  InputFile input(site);
  std::array<std::byte, 8> first{};
  if (input.size() >= first.size()) input.read(first);
  std::string text(header_size(first, input.size(), site), '\0');
  input.read(std::as_writable_bytes(std::span(text)));
  const std::uint64_t data_size = input.size() - first.size() - text.size();
  File file{parse_header(text, data_size, site), {}};
  file.bytes.resize(data_size);
  input.read(file.bytes);
  check_crc32(file, required, site);
  return file;
}

void write_file(const std::string& path, std::vector<Payload> tensors, const Metadata& metadata, Checksum checksum,
                Where where) {
  const std::vector<TensorEntry> entries = lay_out(tensors, where);
  Metadata written = metadata;
  written.erase(kChecksum);
  if (checksum == Checksum::crc32) {
    std::vector<std::span<const std::byte>> data;
    for (const Payload& tensor : tensors) data.push_back(tensor.bytes);
    written[kChecksum] = crc32_of(written, entries, data, where);
  }
  std::string header = render_header(written, entries, where);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const FileSite site{"save_safetensors", path, where};
  if (header.size() > kLargestHeader)
    site.fail("cannot be written: its header would take " + std::to_string(header.size()) + " bytes");
  const std::uint64_t size = header.size();
  AtomicFile file(site);
  file.write(std::as_bytes(std::span(&size, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const Payload& tensor : tensors) file.write(tensor.bytes);
  file.commit();
}

}  // namespace tally::safetensors
