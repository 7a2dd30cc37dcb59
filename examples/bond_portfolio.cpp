// Values a book of bonds as one `sum`, finds each yield's sensitivity by backward, and the book's value at risk from
// the `std` of what past yield changes would have cost; --help lists the options. Exit status as in run_program.
#include <cmath>
#include <cstdio>
#include <string>

#include <tally/tally.h>

#include <tally/examples/bonds/risk.h>
#include <tally/examples/support/options.h>
#include <tally/examples/support/program.h>

namespace tally::examples {
namespace {

struct PortfolioOptions {
  std::string book, yields, device = "cpu";
  double confidence = 0.99, days = 1;
};

void report(const PortfolioOptions& options) {
  const Device device = device_of(options.device);
  const std::vector<Bond> book = to_book(options.book.empty() ? embedded_bonds() : read_table(options.book));
  const YieldHistory history = to_history(options.yields.empty() ? embedded_yields() : read_table(options.yields));

  const CashFlows flows = to_cash_flows(book, device);
  const double value = present_value(flows, flows.yields).item<double>();
  const Tensor slopes = sensitivities(flows);

  // The gradient of the book's risk with respect to each holding is that holding's share of it.
  const Tensor changes = yield_changes(history, book, device);
  const Tensor holdings = ones({slopes.numel()}, {.dtype = float64, .device = device, .requires_grad = true});
  const double z = normal_quantile(options.confidence);
  const Tensor risk = value_at_risk(changes, slopes, holdings, z, options.days);
  risk.backward();
  const Tensor alone = z * std::sqrt(options.days) * tally::std(changes * slopes, 0, sample);

  const std::vector<double> slope = slopes.to_vector<double>(), share = holdings.grad().to_vector<double>();
  const std::vector<double> single = alone.to_vector<double>();
  std::printf("%-22s %12s %7s %6s %7s %11s %11s %11s\n", "bond", "face", "coupon", "years", "yield", "per bp",
              "risk alone", "in the book");
  double apart = 0, shares = 0, singles = 0, total = 0;
  for (std::size_t i = 0; i < book.size(); ++i) {
    const Bond& bond = book[i];
    std::printf("%-22s %12.0f %6.2f%% %6.2f %6.2f%% %11.2f %11.2f %11.2f\n", bond.name.c_str(), bond.face,
                100 * bond.coupon, bond.years, 100 * bond.yield, slope[i] * 1e-4, single[i], share[i]);
    const double exact = closed_form_sensitivity(bond);
    apart = std::max(apart, std::abs(slope[i] - exact) / std::max(std::abs(exact), 1e-300));
    shares += share[i];
    singles += single[i];
    total += slope[i];
  }
  std::printf("%-22s %12s %7s %6s %7s %11.2f %11.2f %11.2f\n\n", "sum", "", "", "", "", total * 1e-4, singles, shares);
  std::printf("present value %.2f\n", value);
  std::printf("sensitivities by backward and by formula differ by %.0e at most\n", apart);
  std::printf("value at risk %.2f: lost at most with %g %% confidence within %g day%s, by %zu past days\n",
              risk.item<double>(), 100 * options.confidence, options.days, options.days == 1 ? "" : "s",
              history.yields.size() - 1);
}

}  // namespace
}  // namespace tally::examples

int main(int argc, char** argv) {
  using namespace tally::examples;
  return run_program("bond_portfolio", [&] {
    PortfolioOptions options;
    CLI::App app("Values a book of bonds, its sensitivities to yields and its value at risk.", "bond_portfolio");
    app.add_option("--book", options.book, "CSV: name,face,coupon,frequency,years,yield (default: embedded)")
        ->type_name("FILE");
    app.add_option("--yields", options.yields, "CSV: a date, then yields of 2Y, 5Y, ... (default: embedded)")
        ->type_name("FILE");
    app.add_option("--confidence", options.confidence, "Of the value at risk, between 0.5 and 1 (default: 0.99)")
        ->check(number("a number between 0.5 and 1", [](double p) { return p > 0.5 && p < 1; }))
        ->type_name("P");
    app.add_option("--days", options.days, "Its horizon (default: 1)")->check(kPositive)->type_name("N");
    add_device(app, options.device);
    if (parse(app, argc, argv)) report(options);
  });
}
