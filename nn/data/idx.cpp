#include <tally/nn/data/idx.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include <tally/core/error.h>

namespace tally {

namespace {

constexpr std::uint32_t kImagesMagic = 2051, kLabelsMagic = 2049;

struct Block {
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> values;
};

std::uint32_t big_endian(std::span<const std::byte, 4> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

std::string times(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

// Why a first word that is not the magic number may be there.
std::string guess(std::span<const std::byte, 4> found) {
  const std::uint32_t word = big_endian(found);
  if (found[0] == std::byte{'<'}) return "; it looks like an HTML page, not the download";
  if (word == kImagesMagic) return "; these are images, not labels";
  if (word == kLabelsMagic) return "; these are labels, not images";
  if (__builtin_bswap32(word) == kImagesMagic || __builtin_bswap32(word) == kLabelsMagic)
    return "; it looks little-endian";
  if (word >> 16 == 0x1F8B) return "; it is gzip data inside gzip data";
  return "";
}

[[noreturn]] void fail_magic(const FileSite& site, std::span<const std::byte, 4> found, std::uint32_t expected) {
  std::array<char, 16> hex{};
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(found[i]); };
  std::snprintf(hex.data(), hex.size(), "%02X %02X %02X %02X", at(0), at(1), at(2), at(3));
  site.fail("starts with the bytes " + std::string(hex.data()) + " (big-endian " + std::to_string(big_endian(found)) +
            "), expected " + std::to_string(expected) +
            (expected == kImagesMagic ? " for IDX images" : " for IDX labels") + guess(found));
}

[[noreturn]] void fail_short(const ByteStream& stream, std::uint64_t found, std::uint64_t expected,
                             const std::string& meaning) {
  stream.site().fail("cut short: " + std::to_string(found) + (stream.gzip() ? " inflated" : "") + " bytes, expected " +
                     std::to_string(expected) + " (" + meaning + ")");
}

std::uint32_t read_word(ByteStream& stream, std::uint64_t header_bytes, std::uint64_t before) {
  std::array<std::byte, 4> word{};
  const std::size_t got = stream.read(word);
  if (got < word.size()) fail_short(stream, before + got, header_bytes, "the header alone");
  return big_endian(word);
}

void check_magic(ByteStream& stream, std::uint64_t header_bytes, std::uint32_t expected) {
  std::array<std::byte, 4> found{};
  const std::size_t got = stream.read(found);
  if (got < found.size()) fail_short(stream, got, header_bytes, "the header alone");
  if (big_endian(found) != expected) fail_magic(stream.site(), found, expected);
}

// The header claims a size; it is believed only if the file can hold it.
std::uint64_t claimed_bytes(const ByteStream& stream, const std::vector<std::int64_t>& shape,
                            std::uint64_t header_bytes) {
  std::uint64_t bytes = 1;
  bool fits = true;
  for (const std::int64_t size : shape)
    fits = !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes) && fits;
  if (fits && !stream.gzip() && bytes > stream.bound())
    fail_short(stream, header_bytes + stream.bound(), header_bytes + bytes,
               std::to_string(header_bytes) + " of header + " + times(shape));
  if (!fits || bytes > stream.bound())
    stream.site().fail("the header asks for " + times(shape) + " bytes, more than the file can hold (at most " +
                       std::to_string(stream.bound()) + ")");
  return bytes;
}

Block read_block(ByteStream& stream, std::uint32_t magic) {
  const std::size_t dims = magic & 0xFF;
  const std::uint64_t header_bytes = 4 * (1 + dims);
  check_magic(stream, header_bytes, magic);
  Block block;
  for (std::size_t d = 0; d < dims; ++d) block.shape.push_back(read_word(stream, header_bytes, 4 * (1 + d)));
  block.values.resize(claimed_bytes(stream, block.shape, header_bytes));
  const std::size_t got = stream.read(std::as_writable_bytes(std::span(block.values)));
  if (got < block.values.size())
    fail_short(stream, header_bytes + got, header_bytes + block.values.size(),
               std::to_string(header_bytes) + " of header + " + times(block.shape));
  return block;
}

void expect_end(ByteStream& stream) {
  std::byte one{};
  const std::uint64_t left = stream.bound();
  if (stream.read({&one, 1}) != 0)
    stream.site().fail((stream.gzip() ? "more" : std::to_string(left)) + std::string(" bytes") +
                       " behind the last value that the header announces, expected none");
  if (stream.cut_short()) stream.site().fail("gzip data cut short: the checksum at their end is missing");
}

ImageSet join(Block images, Block labels, const FileSite& images_site, const FileSite& labels_site) {
  if (images.values.empty()) images_site.fail("holds " + times(images.shape) + " pixels, expected at least one image");
  if (images.shape[0] != labels.shape[0])
    throw ShapeError(labels_site.op,
                     labels_site.path + ": " + std::to_string(labels.shape[0]) + " labels, expected " +
                         std::to_string(images.shape[0]) + ", one for each image of " + images_site.path,
                     labels_site.where);
  return {images.shape[0], images.shape[1], images.shape[2], std::move(images.values), std::move(labels.values)};
}

Block read_file(const FileSite& site, std::uint32_t magic) {
  const std::vector<std::byte> bytes = read_bytes(site);
  ByteStream stream(bytes, site);
  Block block = read_block(stream, magic);
  expect_end(stream);
  return block;
}

ImageSet read_pair(const FileSite& images, const FileSite& labels) {
  Block image_block = read_file(images, kImagesMagic);
  return join(std::move(image_block), read_file(labels, kLabelsMagic), images, labels);
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

// The first of the four names under which the file is there.
FileSite find(const FileSite& directory, const std::string& stem, const std::string& kind) {
  std::string looked_for;
  for (const char* joint : {"-", "."})
    for (const char* suffix : {"", ".gz"}) {
      const std::string name = stem + joint + kind + suffix;
      FileSite site{directory.op, directory.path + "/" + name, directory.where};
      if (exists(site.path)) return site;
      looked_for += (looked_for.empty() ? "" : ", ") + name;
    }
  directory.fail("holds none of " + looked_for);
}

void check_directory(const FileSite& directory) {
  struct stat status {};
  if (::stat(directory.path.c_str(), &status) != 0) directory.fail("no such directory");
  if (!S_ISDIR(status.st_mode)) directory.fail("is not a directory");
}

}  // namespace

ImageSet read_idx(const std::string& images_path, const std::string& labels_path, Where where) {
  return read_pair({"read_idx", images_path, where}, {"read_idx", labels_path, where});
}

ImageSet read_idx(ByteStream& stream) {
  Block images = read_block(stream, kImagesMagic);
  Block labels = read_block(stream, kLabelsMagic);
  expect_end(stream);
  return join(std::move(images), std::move(labels), stream.site(), stream.site());
}

void check_labels(const ImageSet& set, std::int64_t classes, const FileSite& site) {
  const auto bad =
      std::find_if(set.labels.begin(), set.labels.end(), [&](std::uint8_t label) { return label >= classes; });
  if (bad == set.labels.end()) return;
  site.fail("label " + std::to_string(*bad) + " at place " + std::to_string(bad - set.labels.begin()) +
            " is out of range, expected 0 to " + std::to_string(classes - 1) + " for " + std::to_string(classes) +
            " classes");
}

ImageData load_idx(const std::string& directory, std::int64_t classes, Where where) {
  const FileSite site{"load_idx", directory, where};
  check_directory(site);
  const FileSite train_images = find(site, "train-images", "idx3-ubyte");
  const FileSite train_labels = find(site, "train-labels", "idx1-ubyte");
  const FileSite test_images = find(site, "t10k-images", "idx3-ubyte");
  const FileSite test_labels = find(site, "t10k-labels", "idx1-ubyte");
  ImageData data{read_pair(train_images, train_labels), read_pair(test_images, test_labels), classes};
  if (data.train.rows != data.test.rows || data.train.cols != data.test.cols)
    throw ShapeError(site.op,
                     test_images.path + ": images of " + times({data.test.rows, data.test.cols}) + ", expected " +
                         times({data.train.rows, data.train.cols}) + " as in " + train_images.path,
                     where);
  if (classes == 0) data.classes = distinct_labels(data.train);
  check_labels(data.train, data.classes, train_labels);
  check_labels(data.test, data.classes, test_labels);
  return data;
}

}  // namespace tally
