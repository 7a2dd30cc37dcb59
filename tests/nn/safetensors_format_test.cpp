#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include <tally/core/error.h>
#include <tally/nn/safetensors_format.h>

#include "data/scratch.h"

namespace tally::safetensors {
namespace {

using test::error_text;
using test::Scratch;
using testing::AllOf;
using testing::HasSubstr;

std::string length(std::uint64_t value) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

std::string with_header(const std::string& json, const std::string& data) { return length(json.size()) + json + data; }

std::string complaint(const std::string& bytes) {
  const Scratch scratch;
  std::string text = error_text<IoError>([&] { read_file(scratch.put("m", bytes), Checksum::none, {}); });
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}

// What is said of one tensor "w" with these fields and 64 bytes of data.
std::string complaint_of(const std::string& fields) {
  std::string text = complaint(with_header("{\"w\":{" + fields + "}}", std::string(64, 'x')));
  EXPECT_THAT(text, HasSubstr("tensor \"w\""));
  return text;
}

template <class T> std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(Safetensors, RoundTrip) {
  const Scratch scratch;
  const std::vector<float> weights{1.5f, -2, 0, 3e38f, 1, 2};
  const std::vector<std::int64_t> steps{-7};
  const std::vector<std::uint8_t> flags{1, 0, 1};
  const Metadata metadata{{"epoch", "3"}, {"näme", "quote \" and \\ and\nline"}};
  write_file(scratch.file("m"),
             {{"flags", "BOOL", {3}, bytes_of(flags)},
              {"0.weight", "F32", {2, 3}, bytes_of(weights)},
              {"steps", "I64", {}, bytes_of(steps)},
              {"none", "F32", {0, 5}, {}}},
             metadata);
  const File file = read_file(scratch.file("m"));
  EXPECT_EQ(file.metadata, metadata);
  ASSERT_EQ(file.entries.size(), 4u);
  const TensorEntry* entry = file.find("0.weight");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->dtype, "F32");
  EXPECT_EQ(entry->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(entry->begin % 4, 0u);
  ASSERT_EQ(file.payload(*entry).size(), 24u);
  EXPECT_EQ(std::memcmp(file.payload(*entry).data(), weights.data(), 24), 0);
  EXPECT_EQ(file.find("steps")->shape, std::vector<std::int64_t>{});
  EXPECT_EQ(file.find("none")->shape, (std::vector<std::int64_t>{0, 5}));
  EXPECT_EQ(file.find("other"), nullptr);
}

// Byte for byte what the reference implementation (the Python package, 0.8.0) saves for the same tensors.
TEST(Safetensors, GoldenFile) {
  const std::string golden = with_header(
      "{\"__metadata__\":{\"format\":\"pt\"},\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
      "\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[12,20]},"
      "\"m\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[20,22]}}     ",
      std::string("\x07\0\0\0\0\0\0\0\0\0\xC0\x3F\0\0\x80\x3F\0\0\0\xC0\1\0", 22));
  const Scratch scratch;
  const std::vector<std::int64_t> n{7};
  const std::vector<float> b{1.5f}, w{1, -2};
  const std::vector<std::uint8_t> m{1, 0};
  write_file(scratch.file("m"),
             {{"w", "F32", {1, 2}, bytes_of(w)},
              {"b", "F32", {1}, bytes_of(b)},
              {"m", "BOOL", {2}, bytes_of(m)},
              {"n", "I64", {}, bytes_of(n)}},
             {{"format", "pt"}});
  EXPECT_EQ(scratch.get("m"), golden);
}

TEST(Safetensors, EmptyFile) {
  const Scratch scratch;
  write_file(scratch.file("m"), {});
  EXPECT_EQ(scratch.get("m"), length(8) + "{}      ");
  EXPECT_TRUE(read_file(scratch.file("m")).entries.empty());
}

// Three bytes and then a float: its payload lies at an odd address.
TEST(Safetensors, MisalignedPayload) {
  const Scratch scratch;
  const std::string json =
      R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[3,7]},"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  const File file = read_file(scratch.put("m", with_header(json, std::string("abc\0\0\xC0\x3F", 7))));
  float value = 0;
  ASSERT_EQ(file.payload(*file.find("b")).size(), sizeof value);
  std::memcpy(&value, file.payload(*file.find("b")).data(), sizeof value);
  EXPECT_EQ(value, 1.5f);
}

TEST(Safetensors, HeaderLength) {
  EXPECT_THAT(complaint(""), HasSubstr("cut short: 0 bytes, expected 8"));
  EXPECT_THAT(complaint("1234567"), HasSubstr("cut short: 7 bytes"));
  EXPECT_THAT(complaint(length(0)), HasSubstr("does not start with {"));
  EXPECT_THAT(complaint(length(~std::uint64_t{0} - 4) + "{}"), HasSubstr("18446744073709551611, but 2 bytes follow"));
  EXPECT_THAT(complaint(length(3) + "{}"), HasSubstr("is given as 3, but 2 bytes follow it"));
  EXPECT_THAT(complaint(length(std::uint64_t{1} << 31) + "{}"), HasSubstr("2147483648, but 2"));
}

TEST(Safetensors, HeaderCap) {
  const FileSite site{"test", "m", {}};
  const std::string at_cap = length(kLargestHeader), above = length(kLargestHeader + 1);
  EXPECT_EQ(header_size(std::as_bytes(std::span(at_cap)), std::uint64_t{1} << 40, site), kLargestHeader);
  EXPECT_THAT(error_text<IoError>([&] { header_size(std::as_bytes(std::span(above)), std::uint64_t{1} << 40, site); }),
              HasSubstr("100000001, more than the 100000000 allowed"));
}

TEST(Safetensors, HeaderText) {
  EXPECT_THAT(complaint(with_header(" {}", "")), HasSubstr("does not start with {"));
  EXPECT_THAT(complaint(with_header("[]", "")), HasSubstr("does not start with {"));
  EXPECT_THAT(complaint(with_header("{}{}", "")), HasSubstr("not JSON"));
  EXPECT_THAT(complaint(with_header(std::string("{}\0 ", 4), "")), HasSubstr("zero byte"));
  EXPECT_THAT(complaint(with_header("{", "")), HasSubstr("not JSON"));
  EXPECT_THAT(complaint(with_header("{\"\xFF\":1}", "")), HasSubstr("not JSON"));
  EXPECT_THAT(complaint(with_header("{\"a\":[[[[1]]]]}", "")), HasSubstr("nests more than three deep"));
  EXPECT_THAT(complaint(with_header("{\"a\":" + std::string(1 << 20, '['), "")), HasSubstr("nests"));
}

TEST(Safetensors, Duplicates) {
  const std::string tensor = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_THAT(complaint(with_header("{\"w\":" + tensor + ",\"w\":" + tensor + "}", "x")),
              HasSubstr("the key \"w\" twice"));
  EXPECT_THAT(complaint(with_header(R"({"w":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "x")),
              HasSubstr("the key \"dtype\" twice"));
  EXPECT_THAT(complaint(with_header(R"({"__metadata__":{"a":"1","\u0061":"2"}})", "")),
              HasSubstr("the key \"a\" twice"));
}

TEST(Safetensors, MetadataIsText) {
  EXPECT_THAT(complaint(with_header(R"({"__metadata__":[]})", "")), HasSubstr("__metadata__ is no object"));
  EXPECT_THAT(complaint(with_header(R"({"__metadata__":{"a":1}})", "")), HasSubstr("\"a\" is no string"));
}

TEST(Safetensors, ShapeTypeAndRangeAgree) {
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[4,4],"data_offsets":[0,16])"),
              HasSubstr("takes 64 bytes as F32 [4, 4], but data_offsets [0, 16] hold 16"));
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[4,4],"data_offsets":[16,0])"), HasSubstr("ends before it begins"));
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[4,5],"data_offsets":[0,80])"),
              HasSubstr("ends behind the data: data_offsets [0, 80], data of 64 bytes"));
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[8589934592,8589934592],"data_offsets":[0,64])"),
              HasSubstr("whose size overflows"));
  // 2^62 floats take 2^64 bytes, which wraps to 0.
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"),
              HasSubstr("whose size overflows"));
  EXPECT_THAT(complaint_of(R"("dtype":"F31","shape":[16],"data_offsets":[0,64])"), HasSubstr("unknown dtype \"F31\""));
  EXPECT_THAT(complaint_of(R"("dtype":"f32","shape":[16],"data_offsets":[0,64])"), HasSubstr("unknown dtype \"f32\""));
}

TEST(Safetensors, FieldsHaveTheirTypes) {
  EXPECT_THAT(complaint_of(R"("shape":[16],"data_offsets":[0,64])"), HasSubstr("has no dtype"));
  EXPECT_THAT(complaint_of(R"("dtype":"F32","data_offsets":[0,64])"), HasSubstr("has no shape"));
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[16])"), HasSubstr("has no data_offsets"));
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[16],"data_offsets":[0])"), HasSubstr("has 1 data_offsets"));
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[16],"data_offsets":[0,64,64])"), HasSubstr("has 3 data_offsets"));
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[16],"data_offsets":64)"),
              HasSubstr("data_offsets that is no list"));
  EXPECT_THAT(complaint_of(R"("dtype":7,"shape":[16],"data_offsets":[0,64])"), HasSubstr("no string"));
  EXPECT_THAT(complaint_of(R"("dtype":"F32","shape":[16],"data_offsets":[0,64],"strides":[1])"),
              HasSubstr("unknown field \"strides\""));
  for (const char* size : {"-16", "-0", "16.0", "1.6e1", "\"16\"", "null", "true", "18446744073709551616"})
    EXPECT_THAT(complaint_of(R"("dtype":"F32","data_offsets":[0,64],"shape":[)" + std::string(size) + "]"),
                HasSubstr("something else than whole numbers"));
  EXPECT_THAT(complaint_of(R"("dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,64])"),
              HasSubstr("has the size 18446744073709551615"));
  EXPECT_THAT(complaint(with_header(R"({"w":1})", "")), HasSubstr("tensor \"w\" is no object"));
}

std::string bytes_at(const std::string& name, int begin, int end) {
  return "\"" + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) + R"(],"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

TEST(Safetensors, RangesTileTheData) {
  const std::string data(24, 'x');
  const auto of = [&](const std::string& a, const std::string& b) {
    return with_header("{" + a + "," + b + "}", data);
  };
  EXPECT_THAT(complaint(of(bytes_at("a", 0, 16), bytes_at("b", 8, 24))),
              HasSubstr("tensor \"b\" begins at byte 8, inside the tensor before it, which ends at 16"));
  EXPECT_THAT(complaint(of(bytes_at("a", 0, 8), bytes_at("b", 16, 24))),
              HasSubstr("tensor \"b\" begins at byte 16, after a hole that starts at 8"));
  EXPECT_THAT(complaint(of(bytes_at("a", 8, 16), bytes_at("b", 16, 24))), HasSubstr("tensor \"a\" begins at byte 8"));
  EXPECT_THAT(complaint(of(bytes_at("a", 0, 8), bytes_at("b", 8, 16))),
              HasSubstr("8 bytes follow the last tensor \"b\""));
  EXPECT_THAT(complaint(with_header("{}", "xy")), HasSubstr("2 bytes follow the last tensor"));
  const Scratch scratch;  // any order in the JSON, empty tensors anywhere
  const File file = read_file(scratch.put(
      "m",
      with_header("{" + bytes_at("z", 16, 24) + "," + bytes_at("a", 16, 16) + "," + bytes_at("b", 0, 16) + "}", data)));
  ASSERT_EQ(file.entries.size(), 3u);
  EXPECT_EQ(file.entries[0].name, "b");
  EXPECT_EQ(file.entries[2].name, "z");
}

TEST(Safetensors, NamesInErrorsArePrintable) {
  EXPECT_THAT(complaint(with_header("{\"a\\nb" + std::string(500, 'c') + "\":1}", "")), HasSubstr("\"a?bccc"));
}

TEST(Safetensors, WriterChecksItsInput) {
  const Scratch scratch;
  const std::vector<float> two{1, 2};
  const auto write = [&](std::vector<Payload> tensors, const Metadata& metadata = {}) {
    return [&scratch, tensors, metadata] { write_file(scratch.file("m"), tensors, metadata); };
  };
  EXPECT_THROW(write({{"w", "F32", {3}, bytes_of(two)}})(), ShapeError);
  EXPECT_THROW(write({{"w", "F32", {-1, -2}, bytes_of(two)}})(), ShapeError);
  EXPECT_THROW(write({{"w", "float", {2}, bytes_of(two)}})(), DTypeError);
  EXPECT_THROW(write({{"w", "F32", {2}, bytes_of(two)}, {"w", "U8", {8}, bytes_of(two)}})(), ValueError);
  EXPECT_THROW(write({{"__metadata__", "F32", {2}, bytes_of(two)}})(), ValueError);
  EXPECT_THROW(write({{"\xFF", "F32", {2}, bytes_of(two)}})(), ValueError);
  EXPECT_THROW(write({}, {{"a", "\xC3"}})(), ValueError);
  EXPECT_EQ(scratch.files(), 0);
}

std::string checked_file(const Scratch& scratch) {
  const std::vector<float> weights{1.5f, -2};
  const std::vector<std::uint8_t> flags{1};
  // Empty tensors share their place in the data, so their order in the header is not their order when read.
  write_file(scratch.file("checked"),
             {{"w", "F32", {2}, bytes_of(weights)},
              {"f", "BOOL", {1}, bytes_of(flags)},
              {"z", "F32", {0}, {}},
              {"a", "I32", {0}, {}}},
             {{"epoch", "3"}}, Checksum::crc32);
  return scratch.get("checked");
}

TEST(Safetensors, Checksum) {
  const Scratch scratch;
  std::string bytes = checked_file(scratch);
  EXPECT_EQ(read_file(scratch.put("m", bytes), Checksum::crc32).metadata, (Metadata{{"epoch", "3"}}));
  bytes.back() = '\0';
  EXPECT_THAT(complaint(bytes), HasSubstr("is damaged: its CRC-32 is"));
  write_file(scratch.file("plain"), {});
  EXPECT_THAT(error_text<IoError>([&] { read_file(scratch.file("plain"), Checksum::crc32); }),
              HasSubstr("carries no checksum"));
}

// A file with a checksum is read as it was or refused, whatever happens to it.
TEST(Safetensors, SurvivesDamage) {
  const Scratch scratch;
  const std::string whole = checked_file(scratch);
  const File intact = read_file(scratch.file("checked"), Checksum::crc32);
  const auto attempt = [&](const std::string& bytes, Checksum required) {
    try {
      const File file = read_file(scratch.put("m", bytes), required);
      if (required == Checksum::none) return true;
      EXPECT_EQ(file.metadata, intact.metadata);
      EXPECT_EQ(file.bytes, intact.bytes);
      EXPECT_EQ(file.find("w")->shape, intact.find("w")->shape);
      return true;
    } catch (const IoError&) {
      return false;
    }
  };
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(attempt(whole.substr(0, size), Checksum::crc32)) << size;
  int read = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      read += attempt(damaged, Checksum::crc32);
      attempt(damaged, Checksum::none);
    }
  EXPECT_EQ(read, 0);
}

// A writer killed at any moment leaves the file whole, as it was or as it was to be.
TEST(Safetensors, SurvivesAKilledWriter) {
  const Scratch scratch;
  const std::vector<float> weights(1 << 16, 1.5f);
  const auto write = [&] {
    write_file(scratch.file("m"), {{"w", "F32", {1 << 16}, bytes_of(weights)}}, {}, Checksum::crc32);
  };
  write();
  for (int attempt = 0; attempt < 10; ++attempt) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        for (;;) write();
      } catch (...) {
      }
      ::_exit(1);
    }
    ::usleep(2000 + 1700 * static_cast<useconds_t>(attempt));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(read_file(scratch.file("m"), Checksum::crc32).bytes.size(), 4u << 16);
  }
}

TEST(Safetensors, AMissingFileIsNamedWithTheReason) {
  EXPECT_THAT(error_text<IoError>([] { read_file("/nowhere/m.safetensors"); }),
              AllOf(HasSubstr("/nowhere/m.safetensors"), HasSubstr("No such file")));
}

}  // namespace
}  // namespace tally::safetensors
