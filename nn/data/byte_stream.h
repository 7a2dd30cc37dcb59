// Bytes in memory read front to back, inflated on the way where they are gzip data, whatever the file is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <tally/nn/file.h>

namespace tally {

/// Bytes of a file or of memory, one after the other.
class ByteStream {
 public:
  /// The bytes must outlive the stream; `site` names them in errors.
  ByteStream(std::span<const std::byte> bytes, FileSite site);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// Fills `out` and returns how many bytes there were: fewer than asked for only where the data end. Throws IoError on
  /// damaged gzip data (each member's checksum is compared) and on anything but a further member behind a member.
  std::size_t read(std::span<std::byte> out);

  /// Upper bound of the bytes still to come, known without reading them: what a header may claim before it is believed.
  std::uint64_t bound() const;
  /// True where the data stopped inside a gzip member.
  bool cut_short() const;
  bool gzip() const { return inflater_ != nullptr; }
  const FileSite& site() const { return site_; }

 private:
  struct Inflater;
  std::size_t inflate_some(std::span<std::byte> out);

  std::span<const std::byte> rest_;
  FileSite site_;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace tally
