#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <tally/autograd/gtest.h>
#include <tally/examples/bonds/risk.h>
#include <tally/tally.h>

#include "../support/devices.h"

namespace tally::examples {
namespace {

class Bonds : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Bonds);

// A bond on a coupon date is an annuity and a zero: C·(1 - v^n)/r + F·v^n with r = yield / frequency, v = 1/(1 + r).
double annuity(const Bond& bond) {
  const double r = bond.yield / bond.frequency, n = bond.years * bond.frequency, v = 1 / (1 + r);
  return bond.face * bond.coupon / bond.frequency * (1 - std::pow(v, n)) / r + bond.face * std::pow(v, n);
}
double annuity_slope(const Bond& bond) {
  const double r = bond.yield / bond.frequency, n = bond.years * bond.frequency, v = 1 / (1 + r);
  const double of_coupons = (n * std::pow(v, n + 1) * r - (1 - std::pow(v, n))) / (r * r);
  const double slope = bond.face * bond.coupon / bond.frequency * of_coupons - n * bond.face * std::pow(v, n + 1);
  return slope / bond.frequency;
}

const std::vector<Bond> kBook = {{"one", 1000, 0.05, 1, 1, 0.04},
                                 {"ten", 2500, 0.0425, 2, 10, 0.0391},
                                 {"thirty", 100, 0.06, 4, 30, 0.075},
                                 {"zero", 5000, 0, 1, 7, 0.02},
                                 {"short", -800, 0.03, 12, 4, 0.05}};

TEST_P(Bonds, AreWorthTheAnnuityFormula) {
  double expected = 0;
  for (const Bond& bond : kBook) expected += annuity(bond);
  const CashFlows flows = to_cash_flows(kBook, device());
  EXPECT_NEAR(present_value(flows, flows.yields).item<double>(), expected, 1e-12 * std::abs(expected));
}

TEST_P(Bonds, AtTheirCouponAreWorthTheirFace) {
  const CashFlows flows = to_cash_flows({{"par", 1000, 0.0475, 2, 12, 0.0475}}, device());
  EXPECT_NEAR(present_value(flows, flows.yields).item<double>(), 1000, 1e-10);
}

TEST_P(Bonds, HaveTheSlopesOfTheAnnuityFormula) {
  const std::vector<double> slopes = sensitivities(to_cash_flows(kBook, device())).to_vector<double>();
  ASSERT_EQ(slopes.size(), kBook.size());
  for (std::size_t i = 0; i < kBook.size(); ++i) {
    const double exact = annuity_slope(kBook[i]);
    EXPECT_NEAR(slopes[i], exact, 1e-11 * std::abs(exact)) << kBook[i].name;
    EXPECT_NEAR(closed_form_sensitivity(kBook[i]), exact, 1e-11 * std::abs(exact)) << kBook[i].name;
  }
}

TEST(Bond, PaysFromTheNextCouponOn) {
  const std::vector<Payment> all = payments({"between", 100, 0.04, 2, 1.2, 0.03});
  ASSERT_EQ(all.size(), 3u);  // in 0.2, 0.7 and 1.2 years
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(all[k].years, 0.2 + 0.5 * k, 1e-12);
  EXPECT_EQ(all[0].amount, 2);
  EXPECT_EQ(all[2].amount, 102);
  EXPECT_EQ(payments({"whole", 100, 0.04, 2, 1.5, 0.03}).size(), 3u);  // today's coupon is paid
}

YieldHistory history_of(std::vector<std::vector<double>> yields) { return {{2, 10}, std::move(yields)}; }

TEST_P(Bonds, TakeTheirYieldChangesFromTheCurve) {
  const YieldHistory history = history_of({{0.03, 0.05}, {0.04, 0.05}, {0.04, 0.03}});
  // Before the first maturity, a quarter of the way between the two, beyond the last.
  const std::vector<Bond> book = {{"a", 1, 0, 1, 1, 0.03}, {"b", 1, 0, 1, 4, 0.03}, {"c", 1, 0, 1, 30, 0.03}};
  EXPECT_THAT(yield_changes(history, book, device()),
              AllClose(tensor(std::vector{0.01, 0.0075, 0.0, 0.0, -0.005, -0.02}, {2, 3}), 1e-12, 1e-15));
}

TEST_P(Bonds, RiskIsTheSpreadOfWhatChangesCost) {
  // +1 -1 +1 -1 basis points: squares of 4 over a divisor of 3.
  const Tensor changes = tensor(std::vector{1e-4, -1e-4, 1e-4, -1e-4}, {4, 1}, device());
  const Tensor slope = tensor(std::vector{-50000.0}, {1}, device()), one = ones({1}, on(float64));
  EXPECT_NEAR(value_at_risk(changes, slope, one, 2, 1).item<double>(), 2 * 5 * std::sqrt(4.0 / 3), 1e-12);
  EXPECT_NEAR(value_at_risk(changes, slope, one, 2, 9).item<double>(), 6 * 5 * std::sqrt(4.0 / 3), 1e-12);
  // Two positions that lose what the other wins.
  const Tensor both = tensor(std::vector{1e-4, 1e-4, -2e-4, -2e-4}, {2, 2}, device());
  const Tensor hedged = tensor(std::vector{-5e4, 5e4}, {2}, device());
  EXPECT_EQ(value_at_risk(both, hedged, ones({2}, on(float64)), 2, 1).item<double>(), 0);
}

TEST_P(Bonds, RiskSplitsIntoTheHoldingsShares) {
  const std::vector<Bond> book = to_book(embedded_bonds());
  const Tensor changes = yield_changes(to_history(embedded_yields()), book, device());
  const Tensor slopes = sensitivities(to_cash_flows(book, device()));
  const auto risk = [&](const Tensor& holdings) { return value_at_risk(changes, slopes, holdings, 2.33, 1); };
  const Tensor holdings = ones({slopes.numel()}, {.dtype = float64, .device = device(), .requires_grad = true});
  const Tensor total = risk(holdings);
  total.backward();
  // Risk grows as the holdings do, so by Euler's theorem the shares add up to it.
  EXPECT_NEAR(sum(holdings.grad()).item<double>(), total.item<double>(), 1e-11 * total.item<double>());
  EXPECT_THAT(risk, PassesGradCheck(holdings));
}

TEST(Bond, NormalQuantilesAreTheTables) {
  EXPECT_NEAR(normal_quantile(0.99), 2.3263478740408408, 1e-14);
  EXPECT_NEAR(normal_quantile(0.975), 1.9599639845400545, 1e-14);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-14);
  EXPECT_NEAR(normal_quantile(0.01), -2.3263478740408408, 1e-14);
}

TEST(Bond, BadTablesGetOneClearLine) {
  const std::string head = "name,face,coupon,frequency,years,yield\n";
  const auto message = [](const std::string& text, bool yields = false) {
    try {
      const Table table = parse_table(text, "book.csv");
      yields ? (void)to_history(table) : (void)to_book(table);
    } catch (const ValueError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  using testing::HasSubstr;
  EXPECT_EQ(message(head + "a, 100, 4, 2, 5, 4\r\n"), "accepted");
  EXPECT_THAT(message(head), HasSubstr("book.csv has no rows"));
  EXPECT_THAT(message(""), HasSubstr("book.csv has no rows"));
  EXPECT_THAT(message("name,face\na,1\n"), HasSubstr("the columns are"));
  EXPECT_THAT(message(head + "a,100,4,2,5\n"), HasSubstr("book.csv, row 1: 5 fields under 6 columns"));
  EXPECT_THAT(message(head + "a,100,4,2,5,4\nb,many,4,2,5,4\n"), HasSubstr("row 2: face is \"many\", not a number"));
  EXPECT_THAT(message(head + "a,100,4,2,5,inf\n"), HasSubstr("not a number"));
  EXPECT_THAT(message(head + "a,100,4,3,5,4\n"), HasSubstr("frequency"));
  EXPECT_THAT(message(head + "a,100,4,2,0,4\n"), HasSubstr("maturity"));
  EXPECT_THAT(message(head + "a,100,4,2,5,-200\n"), HasSubstr("yield"));
  EXPECT_THAT(message(head + "a,100,-4,2,5,4\n"), HasSubstr("coupon"));
  EXPECT_THAT(message("date,2Y,10Y\nx,1,2\nx,1,2\nx,1,2\n", true), HasSubstr("accepted"));
  EXPECT_THAT(message("date,2Y,10Y\nx,1,2\nx,1,2\n", true), HasSubstr("three days"));
  EXPECT_THAT(message("date,10Y,2Y\nx,1,2\nx,1,2\nx,1,2\n", true), HasSubstr("rise"));
  EXPECT_THAT(message("date,10M,2Y\nx,1,2\nx,1,2\nx,1,2\n", true), HasSubstr("10M"));
  EXPECT_THROW(read_table("/nonexistent/book.csv"), IoError);
}

}  // namespace
}  // namespace tally::examples
