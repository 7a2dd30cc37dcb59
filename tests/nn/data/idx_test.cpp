#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <tally/core/error.h>
#include <tally/nn/data/idx.h>

#include "gzip.h"
#include "scratch.h"

namespace tally {
namespace {

using test::error_text;
using test::gzip;
using test::Scratch;
using testing::AllOf;
using testing::HasSubstr;

std::string word(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

// Three images of 2x2 with the pixels 1 to 12, labels 1, 0, 1.
const std::string kImages = word(2051) + word(3) + word(2) + word(2) + "\1\2\3\4\5\6\7\10\11\12\13\14";
const std::string kLabels = word(2049) + word(3) + std::string("\1\0\1", 3);

void put_all(const Scratch& scratch) {
  scratch.put("train-images-idx3-ubyte", kImages);
  scratch.put("train-labels-idx1-ubyte", kLabels);
  scratch.put("t10k-images-idx3-ubyte", kImages);
  scratch.put("t10k-labels-idx1-ubyte", kLabels);
}

void expect_whole(const ImageSet& set) {
  EXPECT_EQ(set.count, 3);
  EXPECT_EQ(set.rows, 2);
  EXPECT_EQ(set.cols, 2);
  EXPECT_EQ(set.pixels, (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(set.labels, (std::vector<std::uint8_t>{1, 0, 1}));
}

// What load_idx says when one file of a whole set holds `bytes` instead.
template <class Error = IoError>
std::string complaint(const std::string& name, const std::string& bytes, std::int64_t classes = 0) {
  const Scratch scratch;
  put_all(scratch);
  scratch.put(name, bytes);
  std::string text = error_text<Error>([&] { load_idx(scratch.path(), classes, {}); });
  EXPECT_THAT(text, HasSubstr(name));
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}

TEST(Idx, ReadsAWholeSet) {
  const Scratch scratch;
  put_all(scratch);
  const ImageData data = load_idx(scratch.path());
  expect_whole(data.train);
  expect_whole(data.test);
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(load_idx(scratch.path(), 5).classes, 5);
}

TEST(Idx, ReadsEverySpelling) {
  for (const std::string joint : {"-", "."})
    for (const bool zipped_name : {false, true})
      for (const bool zipped : {false, true}) {
        const Scratch scratch;
        const auto put = [&](const std::string& stem, const std::string& kind, const std::string& bytes) {
          scratch.put(stem + joint + kind + (zipped_name ? ".gz" : ""), zipped ? gzip(bytes) : bytes);
        };
        put("train-images", "idx3-ubyte", kImages);
        put("train-labels", "idx1-ubyte", kLabels);
        put("t10k-images", "idx3-ubyte", kImages);
        put("t10k-labels", "idx1-ubyte", kLabels);
        const ImageData data = load_idx(scratch.path());
        expect_whole(data.train);
        expect_whole(data.test);
      }
}

TEST(Idx, ReadsGzipMembersInARow) {
  const Scratch scratch;
  const std::string images = scratch.put("i", gzip(kImages.substr(0, 21)) + gzip(kImages.substr(21)));
  expect_whole(read_idx(images, scratch.put("l", kLabels)));
}

TEST(Idx, NamesADirectoryThatIsNotThere) {
  const Scratch scratch;
  EXPECT_THAT(error_text<IoError>([&] { load_idx(scratch.file("none")); }), HasSubstr("none: no such directory"));
  const std::string file = scratch.put("file", "");
  EXPECT_THAT(error_text<IoError>([&] { load_idx(file); }), HasSubstr("is not a directory"));
}

TEST(Idx, ListsTheNamesOfAMissingFile) {
  const Scratch scratch;
  put_all(scratch);
  std::filesystem::remove(scratch.file("t10k-labels-idx1-ubyte"));
  EXPECT_THAT(error_text<IoError>([&] { load_idx(scratch.path()); }),
              HasSubstr("holds none of t10k-labels-idx1-ubyte, t10k-labels-idx1-ubyte.gz, t10k-labels.idx1-ubyte, "
                        "t10k-labels.idx1-ubyte.gz"));
}

TEST(Idx, NamesAFileCutShort) {
  const std::string name = "train-images-idx3-ubyte";
  EXPECT_THAT(complaint(name, ""), HasSubstr("cut short: 0 bytes, expected 16 (the header alone)"));
  EXPECT_THAT(complaint(name, kImages.substr(0, 10)), HasSubstr("cut short: 10 bytes, expected 16 (the header alone)"));
  EXPECT_THAT(complaint(name, kImages.substr(0, 27)),
              HasSubstr("cut short: 27 bytes, expected 28 (16 of header + 3 x 2 x 2)"));
  EXPECT_THAT(complaint(name, gzip(kImages.substr(0, 27))), HasSubstr("cut short: 27 inflated bytes, expected 28"));
  EXPECT_THAT(complaint("t10k-labels-idx1-ubyte", kLabels.substr(0, 10)),
              HasSubstr("cut short: 10 bytes, expected 11 (8 of header + 3)"));
}

TEST(Idx, NamesGzipDataCutShort) {
  const std::string zipped = gzip(kImages);
  EXPECT_THAT(complaint("train-images-idx3-ubyte", zipped.substr(0, 20)), HasSubstr("inflated bytes, expected"));
  EXPECT_THAT(complaint("train-images-idx3-ubyte", zipped.substr(0, zipped.size() - 1)),
              HasSubstr("the checksum at their end is missing"));
}

TEST(Idx, NamesDamagedGzipData) {
  std::string zipped = gzip(kImages);
  zipped[zipped.size() - 8] ^= 1;  // the checksum
  EXPECT_THAT(complaint("train-images-idx3-ubyte", zipped),
              HasSubstr("damaged after 28 inflated bytes: incorrect data"));
}

TEST(Idx, ShowsAWrongMagicNumber) {
  const std::string images = "train-images-idx3-ubyte", labels = "train-labels-idx1-ubyte";
  EXPECT_THAT(complaint(images, "<!DOCTYPE html>"),
              HasSubstr("starts with the bytes 3C 21 44 4F (big-endian 1008813135), expected 2051 for IDX images; it "
                        "looks like an HTML page"));
  EXPECT_THAT(complaint(images, kLabels), HasSubstr("these are labels, not images"));
  EXPECT_THAT(complaint(labels, kImages), AllOf(HasSubstr("expected 2049 for IDX labels"), HasSubstr("are images")));
  EXPECT_THAT(complaint(images, std::string("\3\10\0\0", 4) + kImages.substr(4)), HasSubstr("little-endian"));
  EXPECT_THAT(complaint(images, gzip(gzip(kImages))), HasSubstr("gzip data inside gzip data"));
}

TEST(Idx, NamesLabelsThatDoNotMatch) {
  EXPECT_THAT(complaint<ShapeError>("train-labels-idx1-ubyte", word(2049) + word(2) + std::string("\1\0", 2)),
              HasSubstr("2 labels, expected 3"));
}

TEST(Idx, NamesImagesOfAnotherSize) {
  const std::string wide = word(2051) + word(3) + word(1) + word(4) + kImages.substr(16);
  EXPECT_THAT(complaint<ShapeError>("t10k-images-idx3-ubyte", wide), HasSubstr("images of 1 x 4, expected 2 x 2"));
}

TEST(Idx, NamesALabelOutOfRange) {
  EXPECT_THAT(complaint("train-labels-idx1-ubyte", word(2049) + word(3) + std::string("\0\1\xC8", 3), 2),
              HasSubstr("label 200 at place 2 is out of range, expected 0 to 1 for 2 classes"));
  EXPECT_THAT(complaint("train-labels-idx1-ubyte", word(2049) + word(3) + std::string("\0\1\xC8", 3)),
              HasSubstr("label 200 at place 2"));
  EXPECT_THAT(complaint("t10k-labels-idx1-ubyte", word(2049) + word(3) + std::string("\0\1\2", 3)),
              HasSubstr("label 2 at place 2"));
}

TEST(Idx, NamesBytesBehindTheEnd) {
  const std::string name = "train-images-idx3-ubyte";
  EXPECT_THAT(complaint(name, kImages + "xy"), HasSubstr("2 bytes behind the last value"));
  EXPECT_THAT(complaint(name, gzip(kImages + "xy")), HasSubstr("more bytes behind the last value"));
  EXPECT_THAT(complaint(name, gzip(kImages) + "xy"), HasSubstr("2 bytes of something else follow the gzip data"));
}

TEST(Idx, BelievesNoHeaderThatTheFileCannotHold) {
  const std::string name = "train-images-idx3-ubyte", pixels = kImages.substr(16);
  const std::string huge = word(2051) + word(0xFFFFFFFF) + word(0xFFFFFFFF) + word(0xFFFFFFFF) + pixels;
  EXPECT_THAT(complaint(name, huge), HasSubstr("4294967295 x 4294967295 x 4294967295 bytes, more than the file"));
  const std::string wraps = word(2051) + word(1u << 31) + word(1u << 31) + word(4) + pixels;  // 2^64 wraps to 0
  EXPECT_THAT(complaint(name, wraps), HasSubstr("more than the file can hold"));
  const std::string large = word(2051) + word(1u << 20) + word(1u << 12) + word(1u << 12) + pixels;
  EXPECT_THAT(complaint(name, large), HasSubstr("cut short: 28 bytes, expected 17592186044432"));
  EXPECT_THAT(complaint(name, gzip(large)), HasSubstr("more than the file can hold"));
}

TEST(Idx, RefusesNothingToTrainOn) {
  EXPECT_THAT(complaint("train-images-idx3-ubyte", word(2051) + word(0) + word(2) + word(2)),
              HasSubstr("0 x 2 x 2 pixels, expected at least one image"));
  EXPECT_THAT(complaint("train-images-idx3-ubyte", word(2051) + word(3) + word(0) + word(2)),
              HasSubstr("expected at least one image"));
}

// Every truncation and every one-byte change of both kinds of file is either read or refused with an error of ours;
// what gzip's checksum covers is read as it was or not at all.
TEST(Idx, SurvivesDamage) {
  const Scratch scratch;
  const std::string labels = scratch.put("labels", kLabels);
  int refused = 0;
  const auto attempt = [&](const std::string& bytes) {
    try {
      const ImageSet set = read_idx(scratch.put("images", bytes), labels);
      EXPECT_EQ(set.pixels.size(), static_cast<std::size_t>(set.count * set.rows * set.cols));
      EXPECT_EQ(set.labels.size(), static_cast<std::size_t>(set.count));
      if (bytes[0] == '\x1F') expect_whole(set);
      return true;
    } catch (const IoError&) {
    } catch (const ShapeError&) {
    }
    ++refused;
    return false;
  };
  const std::string zipped = gzip(kImages);
  for (const std::string& whole : {kImages, zipped}) {
    EXPECT_TRUE(attempt(whole));
    for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(attempt(whole.substr(0, size))) << size;
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        attempt(damaged);
      }
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace tally
