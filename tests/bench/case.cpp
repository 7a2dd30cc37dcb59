#include <tally/tests/bench/case.h>

#include <algorithm>
#include <istream>
#include <random>
#include <sstream>
#include <stdexcept>

namespace tally::bench {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::int64_t number(const std::string& text) {
  std::size_t used = 0;
  std::int64_t value = 0;
  try {
    value = std::stoll(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size()) throw std::invalid_argument("'" + text + "' is not a number");
  return value;
}

}  // namespace

Shape parse_shape(const std::string& text) {
  Shape shape;
  for (const std::string& part : split(text, 'x')) {
    const std::int64_t size = number(part);
    if (size < 0) throw std::invalid_argument("'" + text + "' is not a shape");
    shape.push_back(size);
  }
  if (shape.size() == 0) throw std::invalid_argument("a shape reads 8192x8192, not '" + text + "'");
  return shape;
}

std::vector<std::int64_t> parse_dims(const std::string& text, int rank) {
  std::vector<std::int64_t> dims;
  if (text == "all") return dims;
  for (const std::string& part : split(text, ',')) {
    dims.push_back(number(part));
    if (dims.back() < -rank || dims.back() >= rank)
      throw std::invalid_argument("dim " + part + " is not one of " + std::to_string(rank));
  }
  return dims;
}

DType parse_dtype(const std::string& text) {
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean})
    if (text == name_of(dtype)) return dtype;
  throw std::invalid_argument("'" + text + "' is not a dtype");
}

std::vector<Case> parse_line(const std::string& line) {
  std::istringstream in(line.substr(0, line.find('#')));
  std::string shape, dims, dtype, ops;
  if (!(in >> shape)) return {};
  if (!(in >> dims >> dtype >> ops))
    throw std::invalid_argument("a case reads '8192x8192 1 float32 sum,amax', not '" + line + "'");
  Case one;
  one.shape = parse_shape(shape);
  one.dims = parse_dims(dims, one.shape.size());
  one.dtype = parse_dtype(dtype);
  for (std::string word; in >> word;) {
    if (word == "backward")
      one.backward = true;
    else if (word.rfind("offset=", 0) == 0)
      one.offset = number(word.substr(7));
    else
      throw std::invalid_argument("'" + word + "' in '" + line + "'");
  }
  std::vector<Case> cases;
  for (const std::string& op : split(ops, ',')) {
    one.op = op;
    cases.push_back(one);
  }
  return cases;
}

std::vector<Case> parse_grid(std::istream& in) {
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);)
    for (const Case& one : parse_line(line)) cases.push_back(one);
  return cases;
}

std::string to_line(const Case& one) {
  std::string line;
  for (int d = 0; d < one.shape.size(); ++d) line += (d ? "x" : "") + std::to_string(one.shape[d]);
  line += one.dims.empty() ? " all" : " ";
  for (std::size_t i = 0; i < one.dims.size(); ++i) line += (i ? "," : "") + std::to_string(one.dims[i]);
  line += std::string(" ") + name_of(one.dtype) + " " + one.op;
  if (one.backward) line += " backward";
  if (one.offset) line += " offset=" + std::to_string(one.offset);
  return line;
}

std::vector<Case> random_cases(int count, std::uint64_t seed, std::int64_t largest) {
  // The engine is the standard's, its distributions are each library's own: only the engine is used.
  std::mt19937_64 engine(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)));
  };
  // Sizes even in their logarithm, as in use.
  const auto size = [&](std::int64_t low, std::int64_t high) {
    int doublings = 0;
    while ((low << (doublings + 1)) <= high) ++doublings;
    const std::int64_t base = low << below(doublings + 1);
    return std::min(high, base + below(base));
  };
  const std::vector<std::int64_t> odd = {1, 2, 3, 5, 7, 10, 13, 31, 49, 97, 127, 257, 1009, 3001, 8191, 50257};
  const std::vector<std::string> ops = {"sum",  "mean", "amax", "amin",      "max_idx", "argmax",
                                        "norm", "var",  "std",  "logsumexp", "prod",    "any"};
  const auto pick = [&](const auto& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  };
  std::vector<Case> cases;
  while (static_cast<int>(cases.size()) < count) {
    Case one;
    const std::int64_t n = size(largest / 64, largest), columns = pick(odd);
    switch (below(5)) {
      case 0:  // one list
        one.shape = {n};
        break;
      case 1:  // rows
        one.shape = {std::max<std::int64_t>(1, n / columns), columns};
        one.dims = {1};
        break;
      case 2:  // columns
        one.shape = {std::max<std::int64_t>(1, n / columns), columns};
        one.dims = {0};
        break;
      case 3: {  // a middle axis
        const std::int64_t middle = size(3, 600), inner = pick(odd);
        one.shape = {std::max<std::int64_t>(1, n / (middle * inner)), middle, inner};
        one.dims = {1};
        break;
      }
      default: {  // images: 7x7 and larger ones, by channel
        const std::int64_t side = below(2) ? 7 : size(5, 60), channels = size(3, 300);
        one.shape = {std::max<std::int64_t>(1, n / (channels * side * side)), channels, side, side};
        one.dims = {0, 2, 3};
      }
    }
    if (one.shape.numel() > largest) continue;
    one.op = pick(ops);
    if (one.dims.size() > 1 && (one.op == "max_idx" || one.op == "argmax" || one.op == "prod"))
      one.op = "amax";  // the peers take one dim or all
    one.dtype = below(4) ? float32 : below(2) ? bfloat16 : float16;
    one.offset = below(3) ? 0 : 1 + below(7);
    cases.push_back(one);
  }
  return cases;
}

}  // namespace tally::bench
