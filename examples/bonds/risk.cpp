#include <tally/examples/bonds/risk.h>

#include <algorithm>
#include <cmath>

#include <tally/tally.h>

namespace tally::examples {

Tensor present_value(const CashFlows& flows, const Tensor& yields) {
  return sum(flows.amounts * pow(1 + yields / flows.frequency, -flows.periods));
}

Tensor sensitivities(const CashFlows& flows) {
  const Tensor yields = flows.yields.detach().clone().requires_grad_();
  present_value(flows, yields).backward();
  return reshape(yields.grad(), {-1});
}

double closed_form_sensitivity(const Bond& bond) {
  double total = 0;
  for (const Payment& payment : payments(bond))
    total -= payment.amount * payment.years *
             std::pow(1 + bond.yield / bond.frequency, -(payment.years * bond.frequency + 1));
  return total;
}

Tensor yield_changes(const YieldHistory& history, const std::vector<Bond>& book, Device device) {
  const std::vector<double>& maturities = history.maturities;
  const auto at = [&](const std::vector<double>& yields, double years) {
    const double inside = std::clamp(years, maturities.front(), maturities.back());
    const auto above = std::upper_bound(maturities.begin() + 1, maturities.end() - 1, inside) - maturities.begin();
    const auto i = static_cast<std::size_t>(above);
    const double share = (inside - maturities[i - 1]) / (maturities[i] - maturities[i - 1]);
    return yields[i - 1] + share * (yields[i] - yields[i - 1]);
  };
  std::vector<double> changes;
  for (std::size_t day = 1; day < history.yields.size(); ++day)
    for (const Bond& bond : book)
      changes.push_back(at(history.yields[day], bond.years) - at(history.yields[day - 1], bond.years));
  const auto days = static_cast<std::int64_t>(history.yields.size()) - 1;
  return tensor(changes, {days, static_cast<std::int64_t>(book.size())}, device);
}

Tensor value_at_risk(const Tensor& changes, const Tensor& sensitivities, const Tensor& holdings, double z,
                     double days) {
  const Tensor profit = sum(changes * (sensitivities * holdings), 1);
  return z * std::sqrt(days) * tally::std(profit, {}, sample);
}

double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return low;
}

}  // namespace tally::examples
