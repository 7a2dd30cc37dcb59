#include <tally/nn/data/byte_stream.h>

#include <zlib.h>

#include <algorithm>

#include <new>
#include <utility>

#include <tally/core/error.h>

namespace tally {

namespace {

constexpr std::size_t kLargestChunk = std::size_t{1} << 30;  // zlib counts in 32 bits
constexpr std::uint64_t kLargestRatio = 1032;                // deflate spends at least two bits on 258 bytes
constexpr int kGzipOnly = 15 + 16;                           // zlib's window bits: the largest window, gzip's frame

bool starts_as_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B};
}

}  // namespace

struct ByteStream::Inflater {
  Inflater() {
    if (inflateInit2(&zlib, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&zlib); }

  z_stream zlib{};
  bool in_member = true;
  std::uint64_t inflated = 0;
};

ByteStream::ByteStream(std::span<const std::byte> bytes, FileSite site) : rest_(bytes), site_(std::move(site)) {
  if (starts_as_gzip(rest_)) inflater_ = std::make_unique<Inflater>();
}

ByteStream::~ByteStream() = default;

std::uint64_t ByteStream::bound() const { return rest_.size() * (gzip() ? kLargestRatio : 1) + (gzip() ? 1 << 16 : 0); }

bool ByteStream::cut_short() const { return gzip() && inflater_->in_member && rest_.empty(); }

std::size_t ByteStream::read(std::span<std::byte> out) {
  if (!gzip()) {
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.begin(), count, out.begin());
    rest_ = rest_.subspan(count);
    return count;
  }
  std::size_t filled = 0;
  while (filled < out.size()) {
    if (!inflater_->in_member) {
      if (rest_.empty()) break;
      if (!starts_as_gzip(rest_))
        site_.fail(std::to_string(rest_.size()) + " bytes of something else follow the gzip data");
      inflateReset(&inflater_->zlib);
      inflater_->in_member = true;
    }
    const std::size_t before = rest_.size();
    const std::size_t got = inflate_some(out.subspan(filled));
    filled += got;
    if (got == 0 && rest_.size() == before && inflater_->in_member) break;  // no input left to go on with
  }
  return filled;
}

std::size_t ByteStream::inflate_some(std::span<std::byte> out) {
  z_stream& zlib = inflater_->zlib;
  const std::size_t in = std::min(rest_.size(), kLargestChunk), room = std::min(out.size(), kLargestChunk);
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));  // zlib reads only, its type says less
  zlib.avail_in = static_cast<uInt>(in);
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(room);
  const int status = inflate(&zlib, Z_NO_FLUSH);
  const std::size_t got = room - zlib.avail_out;
  rest_ = rest_.subspan(in - zlib.avail_in);
  inflater_->inflated += got;
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status == Z_STREAM_END) inflater_->in_member = false;
  if (status == Z_DATA_ERROR || status == Z_NEED_DICT)
    site_.fail("gzip data are damaged after " + std::to_string(inflater_->inflated) +
               " inflated bytes: " + (zlib.msg != nullptr ? zlib.msg : "a dictionary is asked for"));
  return got;
}

}  // namespace tally
