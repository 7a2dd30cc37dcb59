// The table of ops/README.md, cell by cell against the library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/ops/index.h>
#include <tally/ops/reductions.h>
#include <tally/ops/scan_ops.h>
#include <tally/tests/ops/family.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>
#include <tally/tests/support/numbers.h>

namespace tally {
namespace {

using test::FamilyOp;
using ::testing::ElementsAre;
const double kNan = std::nan("");

struct Row {
  std::string op, dtypes, empty, nan, ties, gradient, second_order, order;
};

std::string read(const std::string& path) {
  std::ifstream file(TALLY_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string trimmed(std::string cell) {
  std::erase(cell, '`');
  const std::size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
  return first == std::string::npos ? "" : cell.substr(first, last - first + 1);
}

/// The lines of the table that name an op.
const std::vector<Row>& table() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    std::istringstream lines(read("ops/README.md"));
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("| `", 0) != 0) continue;
      std::vector<std::string> cells;
      std::istringstream parts(line.substr(1));
      for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(trimmed(cell));
      EXPECT_EQ(cells.size(), 8u) << line;
      if (cells.size() == 8)
        all.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7]});
    }
    return all;
  }();
  return rows;
}

const FamilyOp& op_of(const Row& row) {
  for (const FamilyOp& op : test::family())
    if (op.name == row.op) return op;
  throw std::runtime_error("no op " + row.op + " in tests/ops/family.h");
}

[[noreturn]] void unknown(const Row& row, const std::string& cell) {
  throw std::runtime_error(row.op + ": the table's \"" + cell + "\" has no meaning");
}

class Table : public test::OnDevice {
 protected:
  Tensor list(const std::vector<double>& values, DType dtype = float64) const {
    return tensor(values).to(dtype).to(device());
  }
};
TALLY_TEST_ON_DEVICES(Table);

// --- Nothing is missing --------------------------------------------------------------------------------------------

/// The op itself, of rows such as "norm, p = 2".
std::string name_in(const Row& row) { return row.op.substr(0, row.op.find(',')); }

template <class List, std::size_t... I> std::set<std::string> names_of(std::index_sequence<I...>) {
  return {std::variant_alternative_t<I, List>::name...};
}

TEST(TheTable, HasEveryOp) {
  std::set<std::string> rows, names;
  for (const Row& row : table()) {
    EXPECT_TRUE(rows.insert(row.op).second) << row.op << " twice";
    names.insert(name_in(row));
  }
  for (const FamilyOp& op : test::family()) EXPECT_EQ(rows.count(op.name), 1u) << op.name;
  EXPECT_EQ(rows.size(), test::family().size());

  for (const std::string& name : names_of<Reduction>(std::make_index_sequence<std::variant_size_v<Reduction>>()))
    EXPECT_EQ(names.count(name), 1u) << name;
  for (const std::string& name : names_of<Scan>(std::make_index_sequence<std::variant_size_v<Scan>>()))
    EXPECT_EQ(names.count(name), 1u) << name;

  // Every function that the headers declare; sum_to is broadcasting's own.
  const std::regex declaration("\n(Tensor|ValuesAndIndices|VarAndMean|MinAndMax) (\\w+)\\(const Tensor& ");
  for (const char* header : {"reduce", "compose", "softmax", "scan", "select", "sort"}) {
    const std::string text = read(std::string("ops/") + header + ".h");
    int found = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at, ++found) {
      const std::string name = (*at)[2];
      EXPECT_TRUE(names.count(name) == 1 || name == "sum_to") << name << " of ops/" << header << ".h";
    }
    EXPECT_GE(found, 2) << header;
  }
}

// --- Cells ---------------------------------------------------------------------------------------------------------

TEST_P(Table, DtypesAndResults) {
  for (const Row& row : table()) {
    std::smatch parts;
    if (!std::regex_match(row.dtypes, parts, std::regex("(all|float) → (.*)"))) unknown(row, row.dtypes);
    for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean}) {
      const Tensor x = test::numbers({2, 6}, dtype, test::Range::around_one).to(device());
      if (parts[1] == "float" && !is_floating(dtype)) {
        EXPECT_THROW(op_of(row).run(x), DTypeError) << row.op << " " << name_of(dtype);
        continue;
      }
      const DType sums = is_floating(dtype) ? dtype : int64;
      const std::map<std::string, std::vector<DType>> meanings = {
          {"T", {dtype}},     {"T or int64", {sums}}, {"T, T", {dtype, dtype}}, {"T, int64", {dtype, int64}},
          {"int64", {int64}}, {"bool", {boolean}}};
      if (!meanings.count(parts[2])) unknown(row, row.dtypes);
      std::vector<DType> results;
      for (const Tensor& y : op_of(row).run(x)) results.push_back(y.dtype());
      EXPECT_EQ(results, meanings.at(parts[2])) << row.op << " " << name_of(dtype);
    }
  }
}

TEST_P(Table, EmptyLists) {
  const std::map<std::string, double> values = {{"0", 0},    {"1", 1},    {"NaN", kNan}, {"-inf", -INFINITY},
                                                {"true", 1}, {"false", 0}};
  for (const Row& row : table())
    for (const DType dtype : {float32, float64, float16, bfloat16, int64, boolean}) {
      if (!is_floating(dtype) && row.dtypes[0] != 'a') continue;
      const FamilyOp& op = op_of(row);
      const Tensor none = zeros({2, 0}, on(dtype));
      if (row.empty == "ShapeError") {
        EXPECT_THROW(op.run(none), ShapeError) << row.op;
      } else if (row.empty == "ValueError") {
        EXPECT_THROW(op.run(none), ValueError) << row.op;
      } else {
        const Tensor y = op.run(none)[0];
        if (row.empty == "empty") {
          EXPECT_THAT(y, HasShape({2, 0})) << row.op;
          continue;
        }
        if (!values.count(row.empty)) unknown(row, row.empty);
        ASSERT_THAT(y, HasShape({2})) << row.op;
        for (const double value : y.to_vector<double>())
          EXPECT_TRUE(value == values.at(row.empty) || (std::isnan(value) && row.empty == "NaN"))
              << row.op << ": " << value;
      }
    }
}

TEST_P(Table, NaN) {
  for (const Row& row : table())
    for (const DType dtype : {float32, float64, float16, bfloat16}) {
      const FamilyOp& op = op_of(row);
      const std::vector<Tensor> results = op.run(list({1, kNan, 2, kNan}, dtype));
      const std::vector<double> first = results[0].to_vector<double>();
      const auto nan = [&](std::size_t i) { return std::isnan(first[i]); };
      SCOPED_TRACE(row.op + ": " + row.nan);
      if (row.nan == "NaN") {
        for (const Tensor& y : results)
          for (const double value : y.to_vector<double>()) EXPECT_TRUE(std::isnan(value));
      } else if (row.nan == "first NaN") {
        EXPECT_TRUE(results.size() == 1 || nan(0));
        EXPECT_EQ(results.back().item<std::int64_t>(), 1);
      } else if (row.nan == "not zero") {
        EXPECT_EQ(first[0], results[0].dtype() == boolean ? 1 : 4);
        EXPECT_EQ(op.run(list({0, kNan}, dtype))[0].item<double>(), name_in(row) == "all" ? 0 : 1);
      } else if (row.nan == "left out") {
        EXPECT_EQ(first[0], op.run(list({1, 2}, dtype))[0].item<double>());
      } else if (row.nan == "largest") {
        // Ascending: 1, 2, NaN, NaN; the two largest: NaN, NaN.
        const bool two = name_in(row) == "topk";
        const std::vector<std::int64_t> places =
            two ? std::vector<std::int64_t>{1, 3} : std::vector<std::int64_t>{0, 2, 1, 3};
        EXPECT_EQ(results.back().to_vector<std::int64_t>(), places);
      } else if (row.nan == "from there on") {
        EXPECT_TRUE(!nan(0) && nan(1) && nan(2) && nan(3));
      } else {
        unknown(row, row.nan);
      }
    }
}

TEST_P(Table, Ties) {
  // The largest at 0 and 2, the smallest, and the lower middle, at 1 and 3.
  for (const Row& row : table()) {
    const FamilyOp& op = op_of(row);
    const Tensor x = list({4, 1, 4, 1});
    x.requires_grad_();
    const std::vector<Tensor> results = op.run(x);
    const bool one_a_list = results[0].dim() == 0;
    std::vector<double> gradient;
    if (results[0].requires_grad())
      gradient = grad({results[0]}, {x}, {ones(results[0].shape(), on(float64))})[0].to_vector<double>();
    const bool indexed = results.back().dtype() == int64 && row.ties != "–";
    SCOPED_TRACE(row.op + ": " + row.ties);
    const bool largest = row.op.find("max") != std::string::npos || row.op == "norm, p = inf";
    if (row.ties == "first") {
      const std::size_t place = largest ? 0 : 1;
      EXPECT_TRUE(!indexed || results.back().item<std::int64_t>() == static_cast<std::int64_t>(place));
      for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_EQ(gradient[i], i == place);
    } else if (row.ties == "shared") {
      const auto shares = [&](const Tensor& y, bool largest) {
        const auto g = grad({y}, {x}, {}, {.retain_graph = true})[0].to_vector<double>();
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(g[i], (i % 2 == 0) == largest ? 0.5 : 0);
      };
      if (results.size() == 2) {
        shares(op.run(x)[0], false);
        shares(op.run(x)[1], true);
      } else {
        shares(op.run(x)[0], largest);
      }
    } else if (row.ties == "in order") {
      if (indexed) {
        const bool two = name_in(row) == "topk";
        const std::vector<std::int64_t> places =
            two ? std::vector<std::int64_t>{0, 2} : std::vector<std::int64_t>{1, 3, 0, 2};
        EXPECT_EQ(results.back().to_vector<std::int64_t>(), places);
      } else {  // the middle of 1 (at 1), 1 (at 3), 4 (at 0), 4 (at 2)
        EXPECT_THAT(gradient, ElementsAre(0.5, 0, 0, 0.5));
      }
    } else if (row.ties == "–") {
      if (one_a_list && !gradient.empty()) {
        EXPECT_EQ(gradient[0], gradient[2]);
        EXPECT_EQ(gradient[1], gradient[3]);
      }
    } else {
      unknown(row, row.ties);
    }
  }
}

/// Of all floating results, weighted.
Tensor gradient_of(const FamilyOp& op, const Tensor& leaf, bool create_graph) {
  std::vector<Tensor> outputs, cotangents;
  for (const Tensor& y : op.run(leaf))
    if (y.requires_grad()) {
      outputs.push_back(y * 1);  // what the op hands on is not the cotangent itself, of which grad() would make a copy
      cotangents.push_back(test::cotangent(y, leaf));
    }
  if (outputs.empty()) return {};
  return grad(outputs, {leaf}, cotangents, {.create_graph = create_graph})[0];
}

bool all_zero(const Tensor& x) { return !x.defined() || !any(x).item<bool>(); }

TEST(TheTable, Gradients) {
  const Tensor x = tensor({{0.7, -1.9, 2.6, 1.3}, {-0.4, 3.1, 0.9, -2.2}});
  const Tensor leaf = x.detach().requires_grad_();
  for (const Row& row : table()) {
    const FamilyOp& op = op_of(row);
    SCOPED_TRACE(row.op + ": " + row.gradient + ", " + row.second_order);
    const auto floating = [&](const Tensor& x) {
      std::vector<Tensor> results;
      for (const Tensor& y : op.run(x))
        if (is_floating(y.dtype())) results.push_back(y);
      return results;
    };
    const Tensor first = gradient_of(op, leaf, false);
    if (row.gradient == "none") {
      EXPECT_FALSE(first.defined());
      EXPECT_EQ(row.second_order, "none");
      continue;
    }
    ASSERT_TRUE(first.defined());
    EXPECT_THAT(floating, PassesGradCheck(x));
    const bool spread = first.strides()[1] == 0;
    if (row.gradient == "view")
      EXPECT_TRUE(spread);
    else if (row.gradient == "0")
      EXPECT_TRUE(all_zero(first));
    else if (row.gradient == "yes")
      EXPECT_FALSE(spread || all_zero(first));
    else
      unknown(row, row.gradient);

    EXPECT_THAT(floating, PassesGradGradCheck(x));
    const Tensor again = gradient_of(op, leaf, true);
    Tensor second;
    if (again.requires_grad()) second = grad({sum(again * again)}, {leaf}, {})[0];
    if (row.second_order == "0")
      EXPECT_TRUE(all_zero(second));
    else if (row.second_order == "yes")
      EXPECT_FALSE(all_zero(second));
    else
      unknown(row, row.second_order);
  }
}

/// The values that the op chose or made, without places.
Tensor value_of(const FamilyOp& op, const Tensor& x) {
  const Tensor y = op.run(x)[0];
  if (op.name.rfind("arg", 0) != 0) return y;
  return y.dim() == x.dim() ? gather(x, -1, y) : gather(x, -1, unsqueeze(y, -1));
}

TEST_P(Table, Order) {
  const std::int64_t n = 1500;
  for (const Row& row : table()) {
    const FamilyOp& op = op_of(row);
    const std::int64_t length = std::min(n, op.longest);
    const Tensor x = test::numbers({3, length}, float32, test::Range::around_one).to(device());
    SCOPED_TRACE(row.op + ": " + row.order);
    const std::vector<Tensor> expected = op.run(x);
    for (const test::Layout& layout : test::layouts(x)) {
      const std::vector<Tensor> results = op.run(layout.tensor);
      for (std::size_t i = 0; i < results.size(); ++i) EXPECT_THAT(results[i], BitEqual(expected[i])) << layout.name;
    }
    const std::vector<Tensor> here = op.run(x.to(cpu));
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_THAT(expected[i].to(cpu), BitEqual(here[i]));
    const int before = num_threads();
    set_num_threads(before == 3 ? 1 : 3);
    const std::vector<Tensor> threaded = op.run(x);
    set_num_threads(before);
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_THAT(threaded[i], BitEqual(expected[i]));

    if (row.order == "scan") {
      for (const std::int64_t part : {1, 8, 9, 1024, 1100})
        EXPECT_THAT(op.run(narrow(x, 1, 0, part))[0], BitEqual(narrow(expected[0], 1, 0, part).contiguous()));
      continue;
    }
    // Many lists, since a rounding may fall the same way twice; the second ones have logarithms that are small.
    const Shape many{30, std::min<std::int64_t>(length, 300)};
    std::vector<std::int64_t> backwards;
    for (std::int64_t i = many[1]; i-- > 0;) backwards.push_back(i);
    const Tensor places = tensor(backwards).to(device());
    bool same = true;
    for (const Tensor& numbers : {test::numbers(many, float32, test::Range::around_one),
                                  (test::numbers(many, float32, test::Range::both_signs) - 4) * 16}) {
      const Tensor lists = numbers.to(device());
      Tensor reversed = value_of(op, index_select(lists, 1, places));
      // Where each element has its result, it is looked for at its new place.
      if (row.order == "tree" && reversed.dim() == 2) reversed = index_select(reversed, 1, places);
      same &= ::testing::Value(reversed, BitEqual(value_of(op, lists)));
    }
    if (row.order == "exact")
      EXPECT_TRUE(same);
    else if (row.order == "tree")
      EXPECT_FALSE(same) << "no rounding depends on the order";
    else
      unknown(row, row.order);
  }
}

}  // namespace
}  // namespace tally
