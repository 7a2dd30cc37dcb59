#include <tally/nn/summary.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tally::nn {
namespace {

using Row = std::array<std::string, 5>;  // name, shape, dtype, elements, remark
constexpr std::size_t kElements = 3, kRemark = 4;

std::string table(const std::vector<Row>& rows) {
  std::array<std::size_t, kRemark> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kRemark; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kRemark; ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i == kElements ? space + row[i] : row[i] + space);
    }
    text += line + (row[kRemark].empty() ? "" : "  " + row[kRemark]) + "\n";
  }
  return text;
}

std::string count(std::int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

std::string summary(ModuleRef module) {
  std::vector<Row> rows;
  std::map<const TensorBody*, std::string> names;
  std::int64_t parameters = 0, frozen = 0, buffers = 0, bytes = 0;
  std::set<Device> devices;
  Visitor visitor([&](Kind kind, const std::string& name, Tensor& tensor) {
    const std::int64_t n = tensor.numel();
    std::string remark = kind == Kind::buffer ? "buffer" : tensor.requires_grad() ? "" : "frozen";
    const auto [first, is_new] = names.emplace(&tensor.body(), name);
    if (is_new) {
      (kind == Kind::buffer ? buffers : parameters) += n;
      if (remark == "frozen") frozen += n;
      bytes += n * static_cast<std::int64_t>(size_of(tensor.dtype()));
      devices.insert(tensor.device());
    } else {
      remark += std::string(remark.empty() ? "" : ", ") + "the same as " + first->second;
    }
    rows.push_back({name, to_string(tensor.shape()), name_of(tensor.dtype()), std::to_string(n), remark});
  });
  module.visit(visitor);

  std::string total = count(parameters, "parameter");
  if (frozen > 0) total += " (" + std::to_string(frozen) + " frozen)";
  if (buffers > 0) total += ", " + count(buffers, "element") + " in buffers";
  total += "; " + count(bytes, "byte");
  for (const Device device : devices)
    total += (device == *devices.begin() ? " on " : " and ") + std::string(name_of(device));
  return table(rows) + total + "\n";
}

}  // namespace tally::nn
