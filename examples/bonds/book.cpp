#include <tally/examples/bonds/book.h>

#include <algorithm>
#include <cmath>

#include <tally/core/error.h>

namespace tally::examples {

extern const unsigned char bonds_csv[], yields_csv[];  // written by examples/data/embed.cmake
extern const std::size_t bonds_csv_size, yields_csv_size;

namespace {

constexpr std::size_t kBondColumns = 6;

Table embedded(const unsigned char* bytes, std::size_t size, const char* source) {
  return parse_table(std::string(reinterpret_cast<const char*>(bytes), size), source);
}

}  // namespace

std::vector<Payment> payments(const Bond& bond) {
  std::vector<Payment> all;
  const double coupon = bond.face * bond.coupon / bond.frequency;
  for (int k = 0; bond.years - static_cast<double>(k) / bond.frequency > 1e-9; ++k)
    all.push_back({coupon + (k == 0 ? bond.face : 0), bond.years - static_cast<double>(k) / bond.frequency});
  std::reverse(all.begin(), all.end());
  return all;
}

std::vector<Bond> to_book(const Table& table) {
  if (table.columns != std::vector<std::string>{"name", "face", "coupon", "frequency", "years", "yield"})
    throw ValueError("book", table.source + ": the columns are name,face,coupon,frequency,years,yield", {});
  std::vector<Bond> book;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    double numbers[kBondColumns] = {};
    for (std::size_t column = 1; column < kBondColumns; ++column) numbers[column] = table.number(row, column);
    const auto [unused, face, coupon, frequency, years, yield] = numbers;
    static_cast<void>(unused);
    if (coupon < 0) table.fail(row, "a coupon below 0");
    if (frequency != 1 && frequency != 2 && frequency != 4 && frequency != 12)
      table.fail(row, "a frequency that is not 1, 2, 4 or 12 a year");
    if (!(years > 0 && years <= 100)) table.fail(row, "a maturity that is not within 100 years");
    if (!(yield / 100 > -frequency)) table.fail(row, "a yield at which nothing can be discounted");
    book.push_back({table.rows[row][0], face, coupon / 100, static_cast<int>(frequency), years, yield / 100});
  }
  return book;
}

CashFlows to_cash_flows(const std::vector<Bond>& book, Device device) {
  std::size_t longest = 0;
  for (const Bond& bond : book) longest = std::max(longest, payments(bond).size());
  const auto bonds = static_cast<std::int64_t>(book.size()), columns = static_cast<std::int64_t>(longest);
  std::vector<double> amounts, periods, frequency, yields;
  for (const Bond& bond : book) {
    for (const Payment& payment : payments(bond)) {
      amounts.push_back(payment.amount);
      periods.push_back(payment.years * bond.frequency);
    }
    frequency.push_back(bond.frequency);
    yields.push_back(bond.yield);
    amounts.resize(frequency.size() * longest);
    periods.resize(frequency.size() * longest);
  }
  return {tensor(amounts, {bonds, columns}, device), tensor(periods, {bonds, columns}, device),
          tensor(frequency, {bonds, 1}, device), tensor(yields, {bonds, 1}, device)};
}

YieldHistory to_history(const Table& table) {
  YieldHistory history;
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    const std::string& name = table.columns[column];
    char* end = nullptr;
    const double years = std::strtod(name.c_str(), &end);
    if (!(years > 0) || std::string(end) != "Y")
      throw ValueError("yields", table.source + ": column \"" + name + "\" is no maturity such as 10Y", {});
    if (!history.maturities.empty() && !(years > history.maturities.back()))
      throw ValueError("yields", table.source + ": the maturities do not rise", {});
    history.maturities.push_back(years);
  }
  if (history.maturities.size() < 2 || table.rows.size() < 3)
    throw ValueError("yields", table.source + ": takes two maturities and three days at least", {});
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    history.yields.emplace_back();
    for (std::size_t column = 1; column < table.columns.size(); ++column)
      history.yields.back().push_back(table.number(row, column) / 100);
  }
  return history;
}

Table embedded_bonds() { return embedded(bonds_csv, bonds_csv_size, "the embedded book"); }
Table embedded_yields() { return embedded(yields_csv, yields_csv_size, "the embedded yields"); }

}  // namespace tally::examples
