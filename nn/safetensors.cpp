#include <tally/nn/safetensors.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <tally/nn/safetensors_format.h>

namespace tally::nn {
namespace {

using safetensors::Checksum;

constexpr std::array<std::pair<DType, const char*>, 8> kNames{{{float32, "F32"},
                                                               {float64, "F64"},
                                                               {float16, "F16"},
                                                               {bfloat16, "BF16"},
                                                               {int64, "I64"},
                                                               {int32, "I32"},
                                                               {uint8, "U8"},
                                                               {boolean, "BOOL"}}};

const char* format_name(DType dtype) {
  for (const auto& [known, name] : kNames)
    if (known == dtype) return name;
  return "";
}

void save(const std::string& path, const NamedTensors& tensors, const Metadata& metadata, Checksum checksum,
          Where where) {
  std::vector<Tensor> on_host;  // hold the bytes that the payloads show
  std::vector<safetensors::Payload> payloads;
  for (const NamedTensor& one : tensors) {
    const Tensor host = one.tensor.detach().to(Device::cpu, where).contiguous(where);
    const auto* bytes = static_cast<const std::byte*>(host.raw());
    payloads.push_back({one.name,
                        format_name(host.dtype()),
                        {host.shape().begin(), host.shape().end()},
                        {bytes, static_cast<std::size_t>(host.numel()) * size_of(host.dtype())}});
    on_host.push_back(host);
  }
  safetensors::write_file(path, std::move(payloads), metadata, checksum, where);
}

Tensor tensor_of(const safetensors::File& file, const safetensors::TensorEntry& entry, const FileSite& site) {
  const auto found =
      std::find_if(kNames.begin(), kNames.end(), [&](const auto& name) { return name.second == entry.dtype; });
  if (found == kNames.end()) site.fail("tensor " + entry.name + " is " + entry.dtype + ", which Tally has not");
  if (entry.shape.size() > kMaxDims)
    site.fail("tensor " + entry.name + " has " + std::to_string(entry.shape.size()) + " dims; Tally has at most " +
              std::to_string(kMaxDims));
  const Tensor tensor = empty(Shape(entry.shape), {.dtype = found->first}, site.where);
  const std::span<const std::byte> bytes = file.payload(entry);
  if (found->first == boolean)
    for (std::byte byte : bytes)
      if (byte > std::byte{1}) site.fail("tensor " + entry.name + " is BOOL and holds a byte that is neither 0 nor 1");
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  return tensor;
}

Safetensors load(const std::string& path, Checksum required, Where where) {
  const safetensors::File file = safetensors::read_file(path, required, where);
  const FileSite site{"load_safetensors", path, where};
  Safetensors loaded{{}, file.metadata};
  for (const safetensors::TensorEntry& entry : file.entries)
    loaded.tensors.push_back({entry.name, tensor_of(file, entry, site)});
  return loaded;
}

}  // namespace

void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata, Where where) {
  save(path, tensors, metadata, Checksum::none, where);
}
Safetensors load_safetensors(const std::string& path, Where where) { return load(path, Checksum::none, where); }

void detail::save_checked(const std::string& path, const NamedTensors& tensors, const Metadata& metadata, Where where) {
  save(path, tensors, metadata, Checksum::crc32, where);
}
Safetensors detail::load_checked(const std::string& path, Where where) { return load(path, Checksum::crc32, where); }

}  // namespace tally::nn
