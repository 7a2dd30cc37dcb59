// What a book of bonds is worth and what it can lose, as reductions with their gradients.
#pragma once

#include <vector>

#include <tally/examples/bonds/book.h>

namespace tally::examples {

/// Present value of the book, 0-d: one sum over all payments of amount · (1 + yield / frequency)^-periods.
Tensor present_value(const CashFlows& flows, const Tensor& yields);

/// d present value / d yield of each bond, [bonds], by backward.
Tensor sensitivities(const CashFlows& flows);

/// The same by the textbook's formula, in plain double: -sum amount · (periods / frequency) · (1 + yield /
/// frequency)^-(periods + 1), which is minus the dollar duration. Fabozzi: Bond Markets, Analysis and Strategies.
double closed_form_sensitivity(const Bond& bond);

/// The change of each bond's yield, [days - 1, bonds], float64: the history's, linear between its maturities and flat
/// beyond them.
Tensor yield_changes(const YieldHistory& history, const std::vector<Bond>& book, Device device);

/// Value at risk by variance and covariance: z · sqrt(days) · std of the book's profit and loss, a day's being the sum
/// of change · sensitivity over the bonds. Divisor days - 1, no drift. 0-d; also a function of `holdings` [bonds], 1
/// for the book as it is. J.P. Morgan, Reuters: RiskMetrics, technical document, 1996.
Tensor value_at_risk(const Tensor& changes, const Tensor& sensitivities, const Tensor& holdings, double z, double days);

/// The number below which a standard normal stays with probability p, 0 < p < 1.
double normal_quantile(double p);

}  // namespace tally::examples
