#include <tally/nn/safetensors_header.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include <tally/core/error.h>

namespace tally::safetensors {

namespace {

using nlohmann::json;

struct DType {
  std::string_view name;
  std::uint64_t size;
};

// In the order in which the reference implementation writes them.
constexpr std::array kDTypes{
    DType{"U64", 8},     DType{"I64", 8},     DType{"F64", 8}, DType{"C64", 8}, DType{"F32", 4}, DType{"U32", 4},
    DType{"I32", 4},     DType{"BF16", 2},    DType{"F16", 2}, DType{"U16", 2}, DType{"I16", 2}, DType{"F8_E8M0", 1},
    DType{"F8_E4M3", 1}, DType{"F8_E5M2", 1}, DType{"I8", 1},  DType{"U8", 1},  DType{"BOOL", 1}};

auto find_dtype(std::string_view name) {
  return std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DType& dtype) { return dtype.name == name; });
}

// nlohmann's parser keeps the last of two equal keys and nests without end; the format allows neither.
json parse_strictly(std::string_view text, const FileSite& site) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if ((event == Event::object_start || event == Event::array_start) && depth > 2)
      site.fail("the header nests more than three deep");
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(value.get<std::string>()).second)
      site.fail("the header has the key " + in_quotes(value.get<std::string>()) + " twice");
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& error) {
    site.fail("the header is not JSON: " + printable(error.what()));
  }
}

// One tensor of the header, or its words about what is wrong with it.
class EntryParser {
 public:
  EntryParser(const std::string& name, const json& fields, std::uint64_t data_size, const FileSite& site)
      : fields_(fields), data_size_(data_size), site_(site) {
    entry_.name = name;
  }

  TensorEntry parse() {
    if (!fields_.is_object()) fail("is no object");
    for (const auto& [key, value] : fields_.items())
      if (key != "dtype" && key != "shape" && key != "data_offsets") fail("has the unknown field " + in_quotes(key));
    const json& dtype = field("dtype");
    if (!dtype.is_string()) fail("has a dtype that is no string");
    entry_.dtype = dtype.get<std::string>();
    const std::vector<std::uint64_t> shape = numbers("shape"), offsets = numbers("data_offsets");
    for (const std::uint64_t size : shape) {
      if (size > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) fail("has the size " + std::to_string(size));
      entry_.shape.push_back(static_cast<std::int64_t>(size));
    }
    if (offsets.size() != 2)
      fail("has " + std::to_string(offsets.size()) + " data_offsets, expected a begin and an end");
    std::tie(entry_.begin, entry_.end) = std::pair(offsets[0], offsets[1]);
    check_range();
    return std::move(entry_);
  }

 private:
  [[noreturn]] void fail(const std::string& text) const { site_.fail("tensor " + in_quotes(entry_.name) + " " + text); }

  const json& field(const char* key) const {
    const auto found = fields_.find(key);
    if (found == fields_.end()) fail(std::string("has no ") + key);
    return *found;
  }

  std::vector<std::uint64_t> numbers(const char* key) const {
    const json& list = field(key);
    if (!list.is_array()) fail(std::string("has a ") + key + " that is no list");
    std::vector<std::uint64_t> values;
    for (const json& value : list) {
      if (!value.is_number_unsigned())
        fail(std::string("has a ") + key + " that holds something else than whole numbers");
      values.push_back(value.get<std::uint64_t>());
    }
    return values;
  }

  void check_range() const {
    const std::uint64_t element = element_size(entry_.dtype);
    if (element == 0) fail("has the unknown dtype " + in_quotes(entry_.dtype));
    const std::string range = "[" + std::to_string(entry_.begin) + ", " + std::to_string(entry_.end) + "]";
    if (entry_.begin > entry_.end) fail("ends before it begins: data_offsets " + range);
    if (entry_.end > data_size_)
      fail("ends behind the data: data_offsets " + range + ", data of " + std::to_string(data_size_) + " bytes");
    std::uint64_t bytes = 0;
    if (!byte_size(entry_.shape, element, bytes))
      fail("has the shape " + text_of(entry_.shape) + ", whose size overflows");
    if (entry_.end - entry_.begin != bytes)
      fail("takes " + std::to_string(bytes) + " bytes as " + entry_.dtype + " " + text_of(entry_.shape) +
           ", but data_offsets " + range + " hold " + std::to_string(entry_.end - entry_.begin));
  }

  TensorEntry entry_;
  const json& fields_;
  std::uint64_t data_size_;
  const FileSite& site_;
};

// Sorted by their data, each tensor begins where the one before ends.
void check_tiling(const std::vector<TensorEntry>& sorted, std::uint64_t data_size, const FileSite& site) {
  std::uint64_t at = 0;
  for (const TensorEntry& entry : sorted) {
    if (entry.begin != at)
      site.fail(
          "tensor " + in_quotes(entry.name) + " begins at byte " + std::to_string(entry.begin) +
          (entry.begin < at ? ", inside the tensor before it, which ends at " : ", after a hole that starts at ") +
          std::to_string(at));
    at = entry.end;
  }
  if (at != data_size)
    site.fail(std::to_string(data_size - at) + " bytes follow the last tensor" +
              (sorted.empty() ? "" : " " + in_quotes(sorted.back().name)) + ", expected none");
}

Metadata parse_metadata(const json& object, const FileSite& site) {
  Metadata metadata;
  if (!object.is_object()) site.fail(std::string(kMetadataKey) + " is no object");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) site.fail(std::string(kMetadataKey) + " " + in_quotes(key) + " is no string");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

std::string render(const Metadata& metadata, const std::vector<TensorEntry>& entries) {
  std::string text = "{";
  const auto comma = [&] { return text.size() > 1 ? "," : ""; };
  if (!metadata.empty()) text += json(kMetadataKey).dump() + ":" + json(metadata).dump();
  for (const TensorEntry& entry : entries)
    text += comma() + json(entry.name).dump() + ":{\"dtype\":" + json(entry.dtype).dump() +
            ",\"shape\":" + json(entry.shape).dump() + ",\"data_offsets\":[" + std::to_string(entry.begin) + "," +
            std::to_string(entry.end) + "]}";
  return text + "}";
}

}  // namespace

std::uint64_t element_size(std::string_view dtype) {
  const auto found = find_dtype(dtype);
  return found == kDTypes.end() ? 0 : found->size;
}

std::size_t dtype_rank(std::string_view dtype) { return static_cast<std::size_t>(find_dtype(dtype) - kDTypes.begin()); }

bool byte_size(const std::vector<std::int64_t>& shape, std::uint64_t element, std::uint64_t& bytes) {
  bytes = element;
  bool fits = true;
  for (const std::int64_t size : shape)
    fits = !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes) && fits;
  return fits;
}

// Text from the file for an error's one line: nothing unprintable, nothing endless.
std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 160;
  std::string out(text.substr(0, kLongest));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text.size() > kLongest ? out + "..." : out;
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string in_quotes(std::string_view name) { return "\"" + printable(name) + "\""; }

std::string render_header(const Metadata& metadata, const std::vector<TensorEntry>& entries, Where where) {
  try {
    return render(metadata, entries);
  } catch (const json::exception& error) {
    throw ValueError("save_safetensors", "a name or a metadata text is not UTF-8: " + printable(error.what()), where);
  }
}

Header parse_header(std::string_view text, std::uint64_t data_size, const FileSite& site) {
  if (text.empty() || text[0] != '{') site.fail("the header does not start with {");
  if (text.find('\0') != std::string_view::npos)
    site.fail("the header holds a zero byte");  // the parser would stop there
  const json root = parse_strictly(text, site);
  Header header;
  for (const auto& [key, value] : root.items()) {
    if (key == kMetadataKey)
      header.metadata = parse_metadata(value, site);
    else
      header.entries.push_back(EntryParser(key, value, data_size, site).parse());
  }
  std::sort(header.entries.begin(), header.entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_tiling(header.entries, data_size, site);
  return header;
}

}  // namespace tally::safetensors
