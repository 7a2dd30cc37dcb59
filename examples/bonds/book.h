// A book of bonds, and its cash flows as tensors.
#pragma once

#include <string>
#include <vector>

#include <tally/core/tensor.h>
#include <tally/examples/support/csv.h>

namespace tally::examples {

struct Bond {
  std::string name;
  double face;    // what is paid back at maturity, in money; negative where the position is short
  double coupon;  // a year, as a share of face
  int frequency;  // coupons a year, and how often the yield compounds
  double years;   // to maturity
  double yield;   // a year, as a share
};

struct Payment {
  double amount, years;
};
/// Coupons, counted back from maturity, and the face at maturity: all that is still to come, first one first.
std::vector<Payment> payments(const Bond& bond);

/// Columns name, face, coupon, frequency, years, yield; coupon and yield in percent. ValueError for a row that is no
/// bond.
std::vector<Bond> to_book(const Table& table);

/// All float64. A bond with fewer payments than the longest has amounts of 0 at the end of its row.
struct CashFlows {
  Tensor amounts;    // [bonds, payments]
  Tensor periods;    // [bonds, payments], until each payment; years times frequency
  Tensor frequency;  // [bonds, 1]
  Tensor yields;     // [bonds, 1]
};
CashFlows to_cash_flows(const std::vector<Bond>& book, Device device);

/// Yields of several maturities, day by day.
struct YieldHistory {
  std::vector<double> maturities;           // in years, rising
  std::vector<std::vector<double>> yields;  // a row a day, as shares
};
/// A date, then a column for each maturity ("2Y"), in percent. ValueError unless there are two maturities and three
/// days.
YieldHistory to_history(const Table& table);

/// What the programs carry with them (examples/data/README.md).
Table embedded_bonds();
Table embedded_yields();

}  // namespace tally::examples
